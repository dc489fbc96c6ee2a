import { equal } from "../check.js";
import { paste } from "./paste.js";

export function picturePastedAfterAChangeOfThemeIsTakenOnce() {
  const parentElement = document.body.appendChild(document.createElement("div")), clipboardData = new DataTransfer();
  const input = document.body.appendChild(document.createElement("p")).appendChild(document.createElement("input"));
  let taken = 0;
  input.type = "file";
  input.parentElement.className = "st-key-own";
  input.onchange = () => { taken += 1; };
  clipboardData.items.add(new File(["x"], "x.png", { type: "image/png" }));
  const again = () => paste({ data: { key: "own" }, parentElement });
  again();
  const end = again();
  document.dispatchEvent(new ClipboardEvent("paste", { clipboardData }));
  equal(taken, 1);
  parentElement.remove();
  end();
  document.dispatchEvent(new ClipboardEvent("paste", { clipboardData }));
  equal(taken, 1);
}
