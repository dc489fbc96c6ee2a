// Sort a table when its headers are clicked: first descending, then ascending. Cells without a number are last.

function compared(one, other, numbers, way) {
  const [a, b] = [one, other].map(parseFloat);
  if (!numbers) return way * one.localeCompare(other);
  return isNaN(a) || isNaN(b) ? isNaN(a) - isNaN(b) : way * (b - a);
}

/** @param {HTMLElement} figure */
export function table(figure) {
  const heads = [...figure.querySelectorAll("th")], body = figure.querySelector("tbody");
  heads.forEach((head, at) => {
    head.onclick = () => {
      const up = head.ariaSort === "descending", numbers = head.matches(".number");
      const order = (...pair) => compared(...pair.map(({ cells }) => cells[at].textContent), numbers, up ? -1 : 1);
      const rows = [...body.rows].sort(order);
      for (const each of heads) each.ariaSort = null;
      head.ariaSort = up ? "ascending" : "descending";
      body.replaceChildren(...rows);
    };
  });
}
