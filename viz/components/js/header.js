// Read the header of a message packed by messages.py, without its arrays.

/**
 * @param {Uint8Array} bytes
 * @returns {object}
 */
export function header(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
}
