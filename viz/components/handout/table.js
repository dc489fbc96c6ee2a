// A table whose heads sort it: the first click the largest first, the second the other way round. What is no number stands last.

const valueOf = (row, at) => row.cells[at].textContent;

function order(one, other, numbers) {
  if (!numbers) return one.localeCompare(other);
  const [a, b] = [one, other].map(parseFloat);
  return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(b) - Number.isNaN(a) : b - a;
}

export function table(figure) {
  const heads = [...figure.querySelectorAll("th")], body = figure.querySelector("tbody");
  heads.forEach((head, at) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending", numbers = head.classList.contains("number");
    const rows = [...body.rows].sort((one, other) => (up ? -1 : 1) * order(valueOf(one, at), valueOf(other, at), numbers));
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.replaceChildren(...rows);
  }));
}
