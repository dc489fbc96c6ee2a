const FRAME = "2px solid light-dark(#c0400c, #f08a4b)";   // the accent colours in .streamlit/config.toml
let framed;

/**
 * Frame the part of the page that a tour's step explains and scroll it into view; remove the frame after the last step.
 * @param {{data: [string | null]}} given  the key of the part
 */
export const step = ({ data: [part] }) => {
  const wanted = part ? document.querySelector(`.st-key-${part}`) : null;
  if (framed && framed !== wanted) framed.style.outline = framed.style.outlineOffset = "";
  if (wanted) Object.assign(wanted.style, { outline: FRAME, outlineOffset: "6px", borderRadius: "4px" });
  if (wanted && framed !== wanted) wanted.scrollIntoView({ block: "center", behavior: "smooth" });
  framed = wanted;
};
