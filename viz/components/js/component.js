// A component by the name of its folder, as component.py asks for it: its module and its style are here before it is
// drawn. Its large message comes here, the small one to state.js.
import { channelOf } from "./channels.js";
import { mountOnce } from "./lifecycle.js";
import { styles } from "./styles.js";

const begin = (mount, parent, { data }) => {
  const channel = channelOf(data), one = {};
  channel.body = one;
  let view, trigger;
  const update = (call) => {
    trigger = call.setTriggerValue;
    if (view) return view.update(call.data);
    view = channel.view = mount(parent, call.data, (event) => trigger("event", event));
    if (channel.state) view.update(channel.state);
  };
  const end = () => {
    view.destroy();
    if (channel.body === one) channel.body = channel.view = undefined;
    channel.tidy();
  };
  return { update, end };
};

export async function component(name) {
  const files = [import(`../${name}/${name}.js`), styles("js/shared.css", `${name}/${name}.css`)];
  const [{ mount }, css] = await Promise.all(files);
  return mountOnce((parent, call) => begin(mount, parent, call), css);
}
