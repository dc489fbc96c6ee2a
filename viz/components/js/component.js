// Load a component's module and style by folder name, for component.py, before it is drawn. The component receives the
// large message, and state.js the small one.
import { channelOf } from "./channels.js";
import { mountOnce } from "./lifecycle.js";
import { styles } from "./styles.js";

/**
 * The `mount` export of a component's module: draw the large message in an element.
 * @callback Mount
 * @param {HTMLElement | ShadowRoot} element
 * @param {Uint8Array} bytes  packed by messages.py
 * @param {(event: *) => void} send  sends an event to the page
 * @returns {{update: (bytes: Uint8Array) => void, destroy: () => void}} update: receives each later message
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
 * @param {string} name  the component's folder
 * @returns {Promise<(call: object) => () => void>} the function that Streamlit calls
 */
export async function component(name) {
  const files = [import(`../${name}/${name}.js`), styles("js/shared.css", `${name}/${name}.css`)];
  const [{ mount }, css] = await Promise.all(files);
  return mountOnce((parent, call) => begin(mount, parent, call), css);
}
