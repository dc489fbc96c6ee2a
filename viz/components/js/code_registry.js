// Where a component's code is laid (mounted.py) and picked up: the promise of {mount, css} by the component's name.
export const shelf = (name) => ((globalThis.clearheadShelf ??= {})[name] ??= Promise.withResolvers());
