// What Streamlit calls with the small message: keeps it for the view that may come later, hands it to the one that is there.
import { enter } from "./channels.js";

export default ({ data }) => {
  const room = enter(data);
  room.state = data;
  room.view?.update(data);
  return () => {
    if (room.state === data) room.state = undefined;   // the next message may be here before this one is cleaned up
    room.tidy();
  };
};
