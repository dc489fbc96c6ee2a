// The large message of a component.
import { kept } from "./lifecycle.js";
import { enter } from "./channels.js";
import { shelf } from "./code_registry.js";

const begin = (component) => (parent, { data }) => {
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
  one.update = (call) => {
    one.trigger = call.setTriggerValue;
    one.data = call.data;
    one.view?.update(call.data);
  };
  one.end = () => {
    one.ended = true;
    one.style?.remove();
    one.view?.destroy();
    if (room.body === one) room.body = room.view = undefined;
    room.tidy();
  };
  return one;
};

export const body = (component) => kept(begin(component));
