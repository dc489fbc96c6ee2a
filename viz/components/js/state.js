// Receive the small message from Streamlit, pass it to the existing view and store it for later ones.
import { channelOf } from "./channels.js";

/**
 * @param {object} call  Streamlit's argument, which contains the data
 * @returns {() => void} the clean-up function
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
