// What Streamlit calls with the small message: keeps it for the view that may come later, hands it to the one that is there.
import { enter } from "./rooms.js";

export default ({ data }) => {
  const room = enter(data);
  room.state = data;
  room.view?.update(data);
  return () => {
    room.state = undefined;
    room.tidy();
  };
};
