// The large message of a component.
import { mountOnce } from "./lifecycle.js";
import { channelOf } from "./channels.js";
import { registeredCode } from "./code_registry.js";

const begin = (component) => (parent, { data }) => {
  const channel = channelOf(data), mounted = {};
  // its view comes when the code is there; until then a state that goes must not take the channel with it
  channel.body = mounted;
  registeredCode(component).promise.then(({ mount, css }) => {
    if (mounted.ended) return;
    mounted.style = document.createElement("style");
    mounted.style.textContent = css;
    parent.append(mounted.style);
    mounted.view = channel.view = mount(parent, mounted.data, (event) => mounted.trigger("event", event));
    if (channel.state) mounted.view.update(channel.state);
  });
  mounted.update = (call) => {
    mounted.trigger = call.setTriggerValue;
    mounted.data = call.data;
    mounted.view?.update(call.data);
  };
  mounted.end = () => {
    mounted.ended = true;
    mounted.style?.remove();
    mounted.view?.destroy();
    if (channel.body === mounted) channel.body = channel.view = undefined;
    channel.tidy();
  };
  return mounted;
};

export const body = (component) => mountOnce(begin(component));
