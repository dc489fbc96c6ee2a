import { equal } from "../check.js";
import { step } from "./tour.js";

export function eachStepTakesTheFocusOnce() {
  document.body.innerHTML = '<textarea></textarea><p class="st-key-strip"></p><p class="st-key-grid"></p>'
    + '<div class="st-key-tour"><button kind="primary">next</button></div>';
  const focused = (part) => {
    step({ data: [part] });
    return document.activeElement.tagName;
  };
  equal(focused("strip"), "BUTTON");
  document.querySelector("textarea").focus();
  const strip = document.querySelector(".st-key-strip");
  strip.replaceWith(strip.cloneNode());   // as a new text does
  equal(focused("strip"), "TEXTAREA");
  equal(focused("grid"), "BUTTON");
}
