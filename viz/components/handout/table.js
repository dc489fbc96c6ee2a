// Sort a table when its headers are clicked: first descending for numbers and ascending for words, then the other way.
// Cells without a number are last.
const WAYS = ["descending", "ascending"];

function compared(one, other, numbers, sort) {
  const way = sort === "ascending" ? 1 : -1, [a, b] = [one, other].map(parseFloat);
  if (!numbers) return way * one.localeCompare(other);
  return isNaN(a) || isNaN(b) ? Number(isNaN(a)) - Number(isNaN(b)) : way * (a - b);
}

/** @param {HTMLElement} figure */
export function table(figure) {
  const heads = [...figure.querySelectorAll("th")], body = figure.querySelector("tbody");
  heads.forEach((head, at) => {
    head.onclick = () => {
      const numbers = head.matches(".number"), [first, second] = numbers ? WAYS : WAYS.toReversed();
      const sort = head.ariaSort === first ? second : first;
      const order = (...pair) => compared(...pair.map(({ cells }) => cells[at].textContent), numbers, sort);
      const rows = [...body.rows].sort(order);
      for (const each of heads) each.ariaSort = null;
      head.ariaSort = sort;
      body.replaceChildren(...rows);
    };
  });
}
