import { equal } from "../check.js";
import { channels, component, state } from "./component.js";

// the component that conftest.py serves: it notes what is asked of it
const probe = () => import(new URL("../probe/probe.js", import.meta.url));

// A message as messages.py packs it, without arrays.
function message(part, fill) {
  const text = new TextEncoder().encode(JSON.stringify({ room: "strip", part, fill, sections: [] }));
  const bytes = new Uint8Array(4 + text.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  return bytes;
}
const BYTES = { body: message("body", "x"), state: message("state", "xxxxxxxx") }, SIZE = { body: BYTES.body.length,
  state: BYTES.state.length };

// What the component is asked as these messages come, and how it ends.
async function comes(...order) {
  const [draw, { seen }] = [await component("probe"), await probe()], ends = {};
  const parentElement = document.body.appendChild(document.createElement("div")), setTriggerValue = () => {};
  seen.length = 0;
  for (const part of order) {
    const one = (part === "body" ? draw : state)({ data: BYTES[part], parentElement, setTriggerValue });
    if (ends[part]) one();   // Streamlit cleans up after the overtaken one of two calls, which may be the later one
    ends[part] ??= one;
  }
  const found = [...seen], css = parentElement.querySelector("style").textContent;
  equal([css.endsWith(".probe { color: red; }"), css.includes(".ch")], [true, true], "its own and the shared styles");
  parentElement.remove();
  ends.body();
  ends.state();
  equal([seen.at(-1), channels.size], [["destroy"], 0], "nothing stays behind");
  return found;
}

export async function messagesMayComeInAnyOrder() {
  const [mount, update, again] = [["mount", SIZE.body], ["update", SIZE.state], ["update", SIZE.body]];
  equal(await comes("state", "body"), [mount, update]);
  equal(await comes("body", "state"), [mount, update]);
  equal(await comes("body", "state", "state"), [mount, update, update]);
  equal(await comes("state", "body", "body"), [mount, update, again]);
  equal(await comes("state", "state", "body"), [mount, update], "an overtaken call's end removes no message");
}

export async function lateCallOfARemovedElementChangesNothing() {
  const parentElement = document.createElement("div"), before = channels.size;
  state({ data: BYTES.state, parentElement, setTriggerValue: () => {} })();
  equal(channels.size, before);
}

export async function eventGoesToTheCurrentListener() {
  const told = [], draw = await component("probe");
  const parentElement = document.body.appendChild(document.createElement("div"));
  for (const name of ["first", "second"]) {
    draw({ data: BYTES.body, parentElement, setTriggerValue: (kind, value) => told.push([name, kind, value]) });
  }
  (await probe()).last.send(7);
  equal(told, [["second", "event", 7]]);
}

export async function missingComponentIsAnError() {
  equal(await component("none").catch(() => "missing"), "missing");
}
