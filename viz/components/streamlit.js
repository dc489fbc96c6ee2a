// What Streamlit calls with the large message: again and again for the same element, with one clean-up at the end.
import { enter } from "./rooms.js";

export function streamlit(mount) {
  const live = new WeakMap();
  return ({ data, parentElement, setTriggerValue }) => {
    let one = live.get(parentElement);
    if (one) {
      one.trigger = setTriggerValue;
      one.view.update(data);
      return one.end;
    }
    const room = enter(data);
    one = { trigger: setTriggerValue };
    room.view = one.view = mount(parentElement, data, (event) => one.trigger("event", event));
    one.end = () => {
      live.delete(parentElement);
      one.view.destroy();
      if (room.view === one.view) room.view = undefined;
      room.tidy();
    };
    live.set(parentElement, one);
    if (room.state) one.view.update(room.state);
    return one.end;
  };
}
