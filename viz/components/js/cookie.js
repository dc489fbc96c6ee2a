// Store a value for a year. A handout's name is the same in all tabs: if another tab has stored one, it is sent instead.

/** @param {import("./lifecycle.js").Call} call  Streamlit's argument, which contains the data */
export const cookie = ({ data: [name, value], setStateValue }) => {
  const adopted = () => {
    const known = document.cookie.match(`${name}=([0-9a-f]{32})`)?.[1];
    if (!known || known === value) return false;
    setStateValue("event", known);
    return true;
  };
  if (adopted()) return;
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=strict`;
  setTimeout(adopted, 1000);   // two new tabs may have stored theirs at once; the later one counts
};
