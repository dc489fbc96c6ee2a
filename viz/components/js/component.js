// Load a component's module and style by folder name, for component.py, before it is drawn. Streamlit delivers its
// large and its small message in separate elements; each header contains the name of the channel that joins them.
import { mountOnce, styles } from "./lifecycle.js";
import { header } from "./messages.js";

/** @typedef {{update: (message: Uint8Array | object) => void, destroy: () => void}} View */
/**
 * The `mount` export of a component's module: draw the large message in an element.
 * @callback Mount
 * @param {HTMLElement | ShadowRoot} element
 * @param {Uint8Array | object} bytes  packed by messages.py, or in a page without a server the message itself
 * @param {(event: *) => void} send  sends an event to the page
 * @returns {View} update: receives each later message
 */

/** @type {Map<string, {view?: View, state?: {at: HTMLElement, data?: Uint8Array}}>} */
export const channels = new Map();

function channelOf(bytes) {
  const { room: name } = header(bytes);
  if (!channels.has(name)) channels.set(name, {});
  return channels.get(name);
}

// Remove a channel's view or state, unless that of a newer element has replaced it.
function leave(bytes, part, own) {
  const channel = channelOf(bytes);
  if (channel[part] === own) delete channel[part];
  if (!channel.view && !channel.state) channels.delete(header(bytes).room);
}

function begin(mount, parent, { data }) {
  let trigger, view;
  const update = (call) => {
    trigger = call.setTriggerValue;
    if (view) return view.update(call.data);
    const channel = channelOf(data);
    view = channel.view = mount(parent, data, (event) => trigger("event", event));
    if (channel.state) view.update(channel.state.data);
  };
  const end = () => {
    view.destroy();
    leave(data, "view", view);
  };
  return { update, end };
}

/**
 * @param {string} name  the component's folder
 * @returns {Promise<(call: import("./lifecycle.js").Call) => () => void>} the function that Streamlit calls with the large message
 */
export async function component(name) {
  const files = [import(`../${name}/${name}.js`), styles("js/shared.css", `${name}/${name}.css`)];
  const [{ mount }, css] = await Promise.all(files);
  return mountOnce((parent, call) => begin(mount, parent, call), css);
}

/**
 * Receive the small message, pass it to the existing view and store it for later ones.
 * @param {import("./lifecycle.js").Call} call  Streamlit's argument, which contains the data
 * @returns {() => void} the clean-up function
 */
export const state = ({ data, parentElement: at }) => {
  if (!at.isConnected) return () => {};   // as mountOnce
  const channel = channelOf(data);
  if (channel.state?.at !== at) channel.state = { at };   // one for all calls of an element
  const own = Object.assign(channel.state, { data });
  channel.view?.update(data);
  return () => at.isConnected || leave(data, "state", own);
};
