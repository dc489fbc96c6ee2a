// Texts that are too long for an address, in this tab's own storage: a reload finds them there again.
const NAME = "clearhead text ";

function store(name, text) {
  try {
    sessionStorage.setItem(NAME + name, text);
  } catch {   // full: the texts of before make room; shut off: there is no storage
    for (const other of ours()) sessionStorage.removeItem(other);
    try {
      sessionStorage.setItem(NAME + name, text);
    } catch {}
  }
}

function ours() {
  try {
    return Object.keys(sessionStorage).filter((name) => name.startsWith(NAME));
  } catch {
    return [];
  }
}

const read = (name) => (ours().includes(NAME + name) ? sessionStorage.getItem(NAME + name) : null);

export const texts = ({ data: { held, wanted }, setTriggerValue }) => {
  for (const [name, text] of Object.entries(held)) store(name, text);
  if (wanted.length) setTriggerValue("event", Object.fromEntries(wanted.map((name) => [name, read(name)])));
};
