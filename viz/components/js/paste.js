// Pass a picture pasted anywhere on the page to the file uploader, like a dropped one.
import { mountOnce } from "./lifecycle.js";

function begin(_, { data: { key } }, on) {
  on(document, "paste", (event) => {
    const picture = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    /** @type {HTMLInputElement} */
    const input = document.querySelector(`.st-key-${key} input[type=file]`);
    if (!picture || !input) return;
    const files = new DataTransfer();
    files.items.add(picture);
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    event.preventDefault();
  });
  return { update() {} };
}

/** @type {(call: import("./lifecycle.js").Call) => () => void} whose data is the key of the uploader */
export const paste = mountOnce(begin);
