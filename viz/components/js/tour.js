// Show the part of the page that a tour's step explains.
import { mark } from "./screens.js";

let framed, told;   // told: the step that took the focus

/**
 * Mark the part for page.css, which frames it, and scroll it into view; the last step removes the mark.
 * @param {{data: [string | null]}} given  the key of the part
 */
export const step = ({ data: [part] }) => {
  /** @type {HTMLElement} */
  const wanted = document.querySelector(`.st-key-${part}`);
  mark("toured", wanted ? [wanted] : []);
  if (wanted && framed !== wanted) {
    wanted.scrollIntoView({ block: "center", behavior: "smooth" });
    /** @type {HTMLElement} */
    const next = document.querySelector(".st-key-tour [kind=primary]");
    if (told !== part) next?.focus();
    told = part;
  }
  framed = wanted;
};
