"""Body and state of a component reach the browser in any order; its module and style are there before it is drawn."""
import pytest

from viz.components.messages import pack

ORDERS = {
    "the state first": (["state", "body"], [["mount", 1], ["update", 2]]),
    "the body first": (["body", "state"], [["mount", 1], ["update", 2]]),
    "a state that changes": (["body", "state", "state"], [["mount", 1], ["update", 2], ["update", 2]]),
    "the body again": (["state", "body", "body"], [["mount", 1], ["update", 2], ["update", 1]]),
}


@pytest.mark.parametrize("order, seen", ORDERS.values(), ids=ORDERS)
def test_what_comes_is_drawn_whatever_comes_first_and_nothing_stays_behind(run_module, order, seen):
    body, state = (list(pack({"room": "strip", "part": part, "fill": "x" * size}, {}))
                   for part, size in (("body", 8), ("state", 80)))
    found, style, rest = run_module("js/component.js", """async ({ component }, place, order, messages) => {
        const [draw, { state }, { channelOf }, { seen }] = await Promise.all([component("probe"),
            ...["js/state.js", "js/channels.js", "probe/probe.js"].map((name) => import(place + name))]);
        const bytes = (part) => new Uint8Array(messages[part]), ends = {};
        const parentElement = document.createElement("div"), setTriggerValue = () => {};
        for (const part of order) {
            const before = ends[part];
            ends[part] = (part === "body" ? draw : state)({ data: bytes(part), parentElement, setTriggerValue });
            if (part === "state") before?.();
        }
        const found = [...seen], style = parentElement.querySelector("style").textContent;
        const channel = channelOf(bytes("body"));
        ends.body();
        ends.state();
        return [found, style, [seen.at(-1), channel !== channelOf(bytes("body"))]];
    }""", run_module.place, order, {"body": body, "state": state})
    sizes = {1: len(body), 2: len(state)}
    assert found == [[name, sizes[size]] for name, size in seen]
    assert style.endswith(".probe { color: red; }") and ".ch" in style, "what all share, and its own"
    assert rest == [["destroy"], True]


def test_an_event_goes_to_who_listens_now(run_module):
    body = list(pack({"room": "strip", "part": "body"}, {}))
    told = run_module("js/component.js", """async ({ component }, place, body) => {
        const told = [], draw = await component("probe"), parentElement = document.createElement("div");
        for (const name of ["first", "second"]) {
            const setTriggerValue = (kind, value) => told.push([name, kind, value]);
            draw({ data: new Uint8Array(body), parentElement, setTriggerValue });
        }
        (await import(place + "probe/probe.js")).last.send(7);
        return told;
    }""", run_module.place, body)
    assert told == [["second", "event", 7]]


def test_a_component_that_is_not_there_is_an_error_and_not_an_empty_place(run_module):
    said = run_module("js/component.js", 'async ({ component }) => component("none").catch(() => "missing")')
    assert said == "missing"
