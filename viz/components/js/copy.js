// A button that copies a text.
import { mountOnce } from "./lifecycle.js";
import { button, node } from "./shared.js";

// Copy a text; an address without https has no navigator.clipboard.
async function put(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = node("textarea", document.body);
  field.value = text;
  field.select();
  document.execCommand("copy");
  field.remove();
}

function begin(parent) {
  let data;
  const made = button(parent, "clearhead-copy", "", async () => {
    await put(data.text);
    made.textContent = data.done;
    setTimeout(() => { made.textContent = data.label; }, 2000);
  });
  function update(call) {
    [data] = call.data;
    made.textContent = data.label;
    made.title = data.about;
  }
  return { update };
}

/** @type {(call: import("./lifecycle.js").Call) => () => void} */
export const copy = mountOnce(begin);
