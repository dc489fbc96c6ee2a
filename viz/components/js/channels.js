// Join a component's messages, which Streamlit delivers in separate elements (component.py): each header contains the
// name of the channel.
import { header } from "./header.js";

/** @type {Map<string, object>} */
export const channels = new Map();

/**
 * @param {Uint8Array} bytes  a message
 * @returns {{body?: object, state?: Uint8Array, view?: object, tidy: () => void}} the channel named in its header
 */
export function channelOf(bytes) {
  const { room: name } = header(bytes);
  if (!channels.has(name)) channels.set(name, {});
  const channel = channels.get(name);
  channel.tidy = () => channel.body || channel.state || channels.delete(name);
  return channel;
}
