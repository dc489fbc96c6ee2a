// Sort a table when its headers are clicked: first descending, then ascending. Cells without a number are last.

const valueOf = (row, at) => row.cells[at].textContent;

function order(one, other, numbers, up) {
  const [a, b] = [one, other].map(parseFloat), way = up ? -1 : 1;
  if (!numbers) return way * one.localeCompare(other);
  return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : way * (b - a);
}

/** @param {HTMLElement} figure */
export function table(figure) {
  const heads = [...figure.querySelectorAll("th")], body = figure.querySelector("tbody");
  heads.forEach((head, at) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending", numbers = head.classList.contains("number");
    const rows = [...body.rows].sort((one, other) => order(valueOf(one, at), valueOf(other, at), numbers, up));
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.replaceChildren(...rows);
  }));
}
