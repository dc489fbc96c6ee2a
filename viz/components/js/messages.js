// Read messages packed by messages.py: a 4-byte header length, a JSON header, then arrays aligned to 4 bytes.
import { header } from "./header.js";

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, float32: Float32Array };

// Return the header with each section added under its name as {values, shape}. Streamlit passes views at any offset, so
// the message is copied once to align it.
function unpack(bytes) {
  const buffer = bytes.slice().buffer, start = 4 + new DataView(buffer).getUint32(0, true), message = header(bytes);
  for (const [name, type, offset, shape] of message.sections) {
    const count = shape.reduce((product, size) => product * size, 1);
    message[name] = { values: new TYPES[type](buffer, start + offset, count), shape };
  }
  return message;
}

/**
 * Return the result of a component's mount(). The first message and each later one are passed to `take`. Pages without
 * a server pass objects: fields to change in the last body, or in the state.
 * @param {Uint8Array} bytes  the first message
 * @param {(message: object) => void} take
 * @param {() => void} end
 * @returns {{update: (message: Uint8Array | object) => void, destroy: () => void}}
 */
export function receiver(bytes, take, end) {
  let body;
  const update = (message) => {
    const whole = message instanceof Uint8Array, read = whole ? unpack(message) : message;
    if (read.part === "body") body = whole ? read : { ...body, ...read };
    take(read.part === "body" ? body : read);
  };
  update(bytes);
  return { update, destroy: end };
}

/**
 * Decode a code of messages.range_codes; NaN if there is no number.
 * @param {number} code
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export const number = (code, low, high) => (code === 65535 ? NaN : low + (code * (high - low)) / 65534);
