// Pass a picture pasted anywhere on the page to the file uploader, like a dropped one.

/**
 * @param {import("./lifecycle.js").Call} call  Streamlit's argument, which contains the data: the key of the uploader
 * @returns {() => void} the clean-up function
 */
export const paste = ({ data: { key } }) => {
  const take = (event) => {
    const picture = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    /** @type {HTMLInputElement} */
    const input = document.querySelector(`.st-key-${key} input[type=file]`);
    if (!picture || !input) return;
    const files = new DataTransfer();
    files.items.add(picture);
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    event.preventDefault();
  };
  document.addEventListener("paste", take);
  return () => document.removeEventListener("paste", take);
};
