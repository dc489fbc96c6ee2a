// Pass a picture pasted anywhere on the page to the file uploader, like a dropped one.

/**
 * Return the pictures on the clipboard.
 * @param {DataTransfer | null} data
 * @returns {File[]}
 */
const picturesIn = (data) => [...(data?.files ?? [])].filter(({ type }) => type.startsWith("image/"));

// Return the input element of the uploader with this key, if the page has one.
const inputOf = (key) => document.querySelector(`.st-key-${key} input[type=file]`);

/**
 * @param {object} call  Streamlit's argument, which contains the data
 * @returns {() => void} the clean-up function
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
