// Streamlit hands a component its messages in elements of their own (component.py); they meet in a channel, under the
// name that both headers carry.
import { header } from "./header.js";

/** @type {Map<string, object>} */
export const channels = new Map();

/**
 * @param {Uint8Array} bytes  a message
 * @returns {{body?: object, state?: Uint8Array, view?: object, tidy: () => void}} the channel that its header names
 */
export function channelOf(bytes) {
  const { room: name } = header(bytes);
  if (!channels.has(name)) channels.set(name, {});
  const channel = channels.get(name);
  channel.tidy = () => channel.body || channel.state || channels.delete(name);
  return channel;
}
