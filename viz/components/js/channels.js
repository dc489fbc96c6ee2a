// Streamlit hands a component its messages in elements of their own (mounted.py); they meet in a room with the name that both headers carry.
import { header } from "./header.js";

export function enter(bytes) {
  const rooms = (globalThis.clearheadRooms ??= new Map()), { room: name } = header(bytes);
  if (!rooms.has(name)) rooms.set(name, {});
  const room = rooms.get(name);
  room.tidy = () => room.body || room.state || rooms.delete(name);
  return room;
}
