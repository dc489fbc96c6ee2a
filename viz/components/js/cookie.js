// Store a value for a year. A shared one is the same in all tabs: if another tab has stored one, it is sent instead.
const SHARED = "=([0-9a-f]{32})(;|$)";

/** @param {object} call  Streamlit's argument, which contains the data */
export const cookie = ({ data: [name, value, shared], setStateValue }) => {
  const [, known] = shared && document.cookie.match(name + SHARED) || [];
  if (known && known !== value) setStateValue("event", known);
  else document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict`;
};
