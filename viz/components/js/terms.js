// Underline the first occurrence of each glossary term in a page's text, using the CSS Custom Highlight API, which
// leaves Streamlit's elements unchanged. A tap opens the definition.
import { mountOnce, styles } from "./lifecycle.js";
import { clamp, div, mainOf, node, place } from "./shared.js";

const PROSE = "p, li";
const APART = "a, button, label, code, summary, span[style], :is(h1, h2, h3, h4, h5, h6), .katex, [role=radiogroup], "
  + "[role=dialog]";

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/**
 * Return the first occurrence of each term as [term, text node, start, end], in page order. Of two terms that start at
 * the same character, the longer one is used.
 * @param {Text[]} nodes
 * @param {Map<string, *>} terms  terms by each of their forms in prose, in lower case
 * @returns {[*, Text, number, number][]}
 */
export function occurrences(nodes, terms) {
  const forms = [...terms.keys()].sort((a, b) => b.length - a.length), seen = new Set(), found = [];
  const any = new RegExp(`(?<![\\p{L}\\p{N}_-])(${forms.map(escaped).join("|")})s?(?![\\p{L}\\p{N}_-])`, "giu");
  for (const text of nodes) {
    for (const match of text.data.matchAll(any)) {
      const term = terms.get(match[1].toLowerCase());
      if (!seen.has(term)) found.push([term, text, match.index, match.index + match[0].length]);
      seen.add(term);
    }
  }
  return found;
}

function prose(main) {
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) {
    const around = walker.currentNode.parentElement;
    if (around.closest(PROSE) && !around.closest(APART) && around.checkVisibility()) texts.push(walker.currentNode);
  }
  return texts;
}

function begin(parent, _, on) {
  const main = mainOf(), card = div(parent);
  let terms = new Map(), more, marked = [], waiting, tell;
  card.popover = "auto";

  function open([name, title, says, link], { left, bottom, top }) {
    card.replaceChildren();
    node("strong", card, "", title);
    node("p", card, "", says);
    const way = node("a", card, "", more);
    way.href = link;
    way.onclick = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      tell(name);
    };
    card.showPopover();
    const { offsetWidth: width, offsetHeight: height } = card;
    place(card, clamp(left, 8, innerWidth - width - 8),
      bottom + height + 14 > innerHeight ? Math.max(8, top - height - 6) : bottom + 6);
  }

  function mark() {
    marked = occurrences(prose(main), terms).map(([term, text, start, end]) => {
      const range = new Range();
      range.setStart(text, start);
      range.setEnd(text, end);
      return [term, range];
    });
    CSS.highlights.set("clearhead-term", new Highlight(...marked.map(([, range]) => range)));
  }

  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(mark, 250);
  };
  // Return the term under the pointer and its box.
  function at({ target, clientX: x, clientY: y }) {
    if (target.closest(APART) || !target.closest(PROSE)) return undefined;
    return marked.flatMap(([term, range]) => [...range.getClientRects()].map((box) => [term, box]))
      .find(([, { left, right, top, bottom }]) => x >= left && x <= right && y >= top && y <= bottom);
  }
  on(main, "click", (event) => {
    const hit = !String(getSelection()) && at(event);
    if (hit) open(...hit);
  });
  on(main, "pointermove", (event) => { main.style.cursor = at(event) ? "help" : ""; }, { passive: true });
  const changes = new MutationObserver(later);

  return {
    update(call) {
      const [words, known] = call.data;
      more = words;
      terms = new Map(known.flatMap((term) => term.at(-1).map((form) => [form.toLowerCase(), term])));
      tell = (name) => call.setTriggerValue("event", name);
      if (!CSS.highlights) return;   // Firefox before 140: the glossary is in the menu
      changes.observe(main, { childList: true, characterData: true, subtree: true });
      later();
    },
    end() {
      clearTimeout(waiting);
      changes.disconnect();
      main.style.cursor = "";
      CSS.highlights?.delete("clearhead-term");
    },
  };
}

/** @returns {Promise<(call: import("./lifecycle.js").Call) => () => void>} the function that Streamlit calls */
export const terms = async () => mountOnce(begin, await styles("js/terms.css"));
