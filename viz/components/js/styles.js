// Load style sheets from this module's parent folder and concatenate them.
const sheet = async (name) => {
  const answer = await fetch(new URL(`../${name}`, import.meta.url));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.url}`);
  return answer.text();
};

/**
 * @param {...string} names
 * @returns {Promise<string>}
 */
export const styles = async (...names) => (await Promise.all(names.map(sheet))).join("\n");
