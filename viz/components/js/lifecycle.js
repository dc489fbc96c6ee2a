// What Streamlit calls: again and again for the same element, with one clean-up at the end. begin(parent, call) makes
// what stands there, once; its update(call) is called every time, its end() when it goes.
export const mountOnce = (begin) => {
  const live = new WeakMap();
  return (call) => {
    const at = call.parentElement, one = live.get(at) ?? begin(at, call);
    live.set(at, one);
    one.update(call);
    return () => {
      live.delete(at);
      one.end();
    };
  };
};
