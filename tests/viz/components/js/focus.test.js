import { equal, pause } from "../check.js";
import { keepFocus } from "./focus.js";

// A page with a button in a container.
function page() {
  document.body.innerHTML = '<div data-testid="stMain"><div class="row"><button>one</button></div><p>text</p></div>';
  keepFocus();
  const pressed = document.querySelector("button");
  pressed.focus();
  return pressed;
}

export async function focusOfARemovedButtonIsKeptNearIt() {
  page().remove();
  await pause(0);
  equal(document.activeElement.className, "row");
}

export async function focusEndedByAClickStaysEnded() {
  const pressed = page();
  pressed.blur();   // as the browser does
  document.querySelector("p").click();
  pressed.remove();
  await pause(0);
  equal(document.activeElement.tagName, "BODY");
  equal(document.querySelector(".row").hasAttribute("tabindex"), false);
}
