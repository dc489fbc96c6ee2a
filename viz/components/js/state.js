// What Streamlit calls with the small message: keeps it for the view that may come later, hands it to the one that is
// there.
import { channelOf } from "./channels.js";

/**
 * @param {object} call  of Streamlit's, with its data
 * @returns {() => void} the end of it
 */
export const state = ({ data }) => {
  const channel = channelOf(data);
  channel.state = data;
  channel.view?.update(data);
  return () => {
    // the next message may be here before this one is cleaned up
    if (channel.state === data) channel.state = undefined;
    channel.tidy();
  };
};
