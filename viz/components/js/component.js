// Load a component by its folder's name, for component.py: its module and style are ready before it is drawn. It
// receives the large message; state.js receives the small one.
import { channelOf } from "./channels.js";
import { mountOnce } from "./lifecycle.js";
import { styles } from "./styles.js";

/**
 * What a component's module exports as `mount`: draws the message of what is large into an element.
 * @callback Mount
 * @param {HTMLElement | ShadowRoot} element
 * @param {Uint8Array} bytes  packed by messages.py
 * @param {(event: *) => void} send  hands what a reader did to the page
 * @returns {{update: (bytes: Uint8Array) => void, destroy: () => void}} update takes each later message, large or small
 */

const begin = (mount, parent, { data }) => {
  const channel = channelOf(data), one = {};
  channel.body = one;
  let view, trigger;
  const update = (call) => {
    trigger = call.setTriggerValue;
    if (view) return view.update(call.data);
    view = channel.view = mount(parent, call.data, (event) => trigger("event", event));
    if (channel.state) view.update(channel.state);
  };
  const end = () => {
    view.destroy();
    if (channel.body === one) channel.body = channel.view = undefined;
    channel.tidy();
  };
  return { update, end };
};

/**
 * @param {string} name  of the component's folder
 * @returns {Promise<(call: object) => () => void>} what Streamlit calls
 */
export async function component(name) {
  const files = [import(`../${name}/${name}.js`), styles("js/shared.css", `${name}/${name}.css`)];
  const [{ mount }, css] = await Promise.all(files);
  return mountOnce((parent, call) => begin(mount, parent, call), css);
}
