// What Streamlit calls with the large message: again and again for the same element, with one clean-up at the end.
import { enter } from "./rooms.js";
import { shelf } from "./shelf.js";

const live = new WeakMap();

function begin(component, parent, data) {
  const room = enter(data), one = {};
  room.body = one;   // its view comes when the code is there; until then a state that goes must not take the room with it
  shelf(component).promise.then(({ mount, css }) => {
    if (one.ended) return;
    one.style = document.createElement("style");
    one.style.textContent = css;
    parent.append(one.style);
    one.view = room.view = mount(parent, one.data, (event) => one.trigger("event", event));
    if (room.state) one.view.update(room.state);
  });
  one.end = () => {
    one.ended = true;
    live.delete(parent);
    one.style?.remove();
    one.view?.destroy();
    if (room.body === one) room.body = room.view = undefined;
    room.tidy();
  };
  return one;
}

export const body = (component) => ({ data, parentElement, setTriggerValue }) => {
  const one = live.get(parentElement) ?? begin(component, parentElement, data);
  live.set(parentElement, one);
  one.trigger = setTriggerValue;
  one.data = data;
  one.view?.update(data);
  return one.end;
};
