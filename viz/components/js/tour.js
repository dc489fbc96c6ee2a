// A step of a tour: a frame round the part of the page that it is about, brought into view; none where the tour ended.
const FRAME = "2px solid light-dark(#c0400c, #f08a4b)";   // the accent of .streamlit/config.toml
let framed;

export const step = ({ data: [part] }) => {
  const wanted = part ? document.querySelector(`.st-key-${part}`) : null;
  if (framed && framed !== wanted) framed.style.outline = framed.style.outlineOffset = "";
  if (wanted) Object.assign(wanted.style, { outline: FRAME, outlineOffset: "6px", borderRadius: "4px" });
  if (wanted && framed !== wanted) wanted.scrollIntoView({ block: "center", behavior: "smooth" });
  framed = wanted;
};
