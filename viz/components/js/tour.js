const FRAME = "2px solid light-dark(#c0400c, #f08a4b)";   // the accent of .streamlit/config.toml
let framed;

/**
 * Frames the part of the page that a step of a tour is about and brings it into view; ends the frame after the last.
 * @param {{data: [string | null]}} given the key of the part
 */
export const step = ({ data: [part] }) => {
  const wanted = part ? document.querySelector(`.st-key-${part}`) : null;
  if (framed && framed !== wanted) framed.style.outline = framed.style.outlineOffset = "";
  if (wanted) Object.assign(wanted.style, { outline: FRAME, outlineOffset: "6px", borderRadius: "4px" });
  if (wanted && framed !== wanted) wanted.scrollIntoView({ block: "center", behavior: "smooth" });
  framed = wanted;
};
