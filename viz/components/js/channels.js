// Streamlit delivers a component's messages in separate elements (component.py); they are joined in a channel with the
// name in both headers.
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
