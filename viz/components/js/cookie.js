// Store the name of this browser's handout, so that a reload finds it.

/** @param {object} call  Streamlit's argument, which contains the data */
export const cookie = ({ data: [name, value] }) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict`;
};
