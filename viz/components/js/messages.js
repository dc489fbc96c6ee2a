// Read messages packed by messages.py: a 4-byte header length, a JSON header, then arrays aligned to 4 bytes.

/**
 * What Python packed: JSON whose fields each component's Python names, and its arrays.
 * @typedef {Record<string, any>} Message
 * @typedef {{values: Uint8Array | Uint16Array | Float32Array, shape: number[]}} Section
 */

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, float32: Float32Array };

const sizeOf = ({ buffer, byteOffset }) => 4 + new DataView(buffer, byteOffset).getUint32(0, true);

/**
 * Read a header without the arrays.
 * @param {Uint8Array} bytes
 * @returns {Message}
 */
export const header = (bytes) => JSON.parse(new TextDecoder().decode(bytes.subarray(4, sizeOf(bytes))));

/**
 * Return the header with each section added under its name as {values, shape}. Streamlit passes views at any offset, so
 * the message is copied once to align it.
 * @param {Uint8Array} bytes
 * @returns {Message}
 */
export function unpack(bytes) {
  const { buffer } = bytes.slice(), start = sizeOf(bytes), message = header(bytes);
  for (const [name, type, offset, shape] of message.sections) {
    const count = shape.reduce((product, size) => product * size, 1);
    message[name] = { values: new TYPES[type](buffer, start + offset, count), shape };
  }
  return message;
}

/**
 * Decode a code of messages.range_codes; NaN if there is no number.
 * @param {number} code
 * @param {number} low
 * @param {number} high
 * @returns {number}
 */
export const number = (code, low, high) => (code === 65535 ? NaN : low + (code * (high - low)) / 65534);
