// Receive the small message from Streamlit: keep it for a later view, and pass it to an existing one.
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
    // the next message may arrive before this one is cleaned up
    if (channel.state === data) channel.state = undefined;
    channel.tidy();
  };
};
