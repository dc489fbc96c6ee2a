// Where a component's code is left (component.py) and picked up: the promise of {mount, css} by the component's name.
export const registeredCode = (name) => ((globalThis.clearheadCode ??= {})[name] ??= Promise.withResolvers());
