// Streamlit hands a component its messages in elements of their own (component.py); they meet in a channel, under the
// name that both headers carry.
import { header } from "./header.js";

export const channels = new Map();

export function channelOf(bytes) {
  const { room: name } = header(bytes);
  if (!channels.has(name)) channels.set(name, {});
  const channel = channels.get(name);
  channel.tidy = () => channel.body || channel.state || channels.delete(name);
  return channel;
}
