// What was answered in the lessons, in this browser's own storage: a reload, and the next visit, find it there again.
const NAME = "clearhead lessons";

function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(NAME));
    return typeof found === "object" && found ? found : {};
  } catch {   // shut off, or not ours
    return {};
  }
}

function store(all) {
  try {
    if (Object.keys(all).length) localStorage.setItem(NAME, JSON.stringify(all));
    else localStorage.removeItem(NAME);
  } catch {}   // full, or shut off: nothing is remembered
}

/** @param {object} call  of Streamlit's, with its data */
export const progress = ({ data: { lesson, answers, read, forget }, setTriggerValue }) => {
  if (forget) store({});
  if (lesson) {
    const all = stored();
    store({ ...all, [lesson]: { ...all[lesson], ...answers } });
  }
  if (read) setTriggerValue("event", stored());
};
