// Pass a picture pasted anywhere on the page to the file uploader, like a dropped one.

/**
 * What a clipboard holds of pictures.
 * @param {DataTransfer | null} data
 * @returns {File[]}
 */
export const picturesIn = (data) => [...(data?.files ?? [])].filter(({ type }) => type.startsWith("image/"));

// Return the input of the uploader with this key, if the page has one.
const inputOf = (key) => document.querySelector(`.st-key-${key} input[type=file]`);

/**
 * @param {object} call  of Streamlit's, with its data
 * @returns {() => void} the end of it
 */
export const paste = ({ data: { key } }) => {
  const take = (event) => {
    const [picture] = picturesIn(event.clipboardData), input = inputOf(key);
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
