import { equal } from "../check.js";
import { mountOnce } from "./lifecycle.js";

// A place to mount in, and what was said of it.
function setting() {
  const said = [], parentElement = document.body.appendChild(document.createElement("div"));
  const call = (data) => ({ data, parentElement });
  const begin = (name) => (_, { data }) => (said.push(`${name} begins with ${data}`),
    { update: (now) => said.push(`${name} ${now.data}`), end: () => said.push(`${name} ends`) });
  return { said, parentElement, call, begin };
}

export function componentIsMadeOnceAndEndsWithItsElement() {
  const { said, parentElement, call, begin } = setting(), draw = mountOnce(begin("one"), ".x { color: red; }");
  draw(call(1));
  const end = draw(call(2));
  equal(parentElement.innerHTML, "<div><style>.x { color: red; }</style></div>");
  parentElement.remove();
  end();
  document.body.append(parentElement);
  draw(call(3));
  equal(said, ["one begins with 1", "one 1", "one 2", "one ends", "one begins with 3", "one 3"]);
  equal(parentElement.children.length, 1);
}

export function cleanUpOfAnyOvertakenCallEndsNothing() {
  for (const overtaken of [0, 1]) {   // either call may be the overtaken one
    const { said, parentElement, call, begin } = setting(), draw = mountOnce(begin("one"));
    const ends = [draw(call(1)), draw(call(2))];
    ends[overtaken]();
    equal(said.at(-1), "one 2");
    parentElement.remove();
    ends[1 - overtaken]();
    equal(said.at(-1), "one ends");
  }
}

export function newFilesOfARestartedServerReplaceTheOld() {
  const { said, parentElement, call, begin } = setting();
  const old = mountOnce(begin("old"))(call(1)), anew = mountOnce(begin("new"))(call(2));
  old();
  equal(said, ["old begins with 1", "old 1", "old ends", "new begins with 2", "new 2"]);
  parentElement.remove();
  anew();
  equal([said.at(-1), parentElement.children.length], ["new ends", 0]);
}

export function removedElementStartsNothing() {
  const { said, parentElement, call, begin } = setting();
  parentElement.remove();
  mountOnce(begin("one"))(call(1))();
  equal(said, []);
}
