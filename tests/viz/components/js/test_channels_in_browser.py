"""Body, state and code of a component reach the browser in any order, also when a page runs again before the code is
there."""
import json

from viz.components.bundle import script
from viz.components.messages import pack

PLAY = """async ([bodyCode, stateCode, first, second]) => {
    const load = (text) => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
    const body = (await load(bodyCode + 'export default body("strip");\\n')).default;
    const state = (await load(stateCode)).default;
    const bytes = (list) => new Uint8Array(list), parentElement = document.createElement("div"), shown = [];
    const leave = body({data: bytes(first), parentElement, setTriggerValue: () => {}});
    const gone = state({data: bytes(first)});
    ORDER
    const view = {update: (data) => shown.push([...data]), destroy: () => shown.push("end")};
    globalThis.clearheadCode.strip.resolve({css: "", mount: () => view});
    await new Promise((done) => setTimeout(done, 20));
    const drawn = [...shown];
    leave();
    later();
    return [drawn, shown.at(-1), globalThis.clearheadChannels.size];
}"""


def test_a_state_that_changes_before_the_code_is_there_is_drawn_and_nothing_stays_behind(browser):
    first, second = (list(pack({"room": "strip", "number": number}, {})) for number in (1, 2))
    for order in ("gone(); const later = state({data: bytes(second)});",
                  "const later = state({data: bytes(second)}); gone();"):
        page = browser.new_page()
        drawn, last, rooms = page.evaluate(PLAY.replace("ORDER", order),
                                           [script("js/body.js"), script("js/state.js"), first, second])
        assert drawn == [second], (order, json.dumps(drawn)[:200])
        assert (last, rooms) == ("end", 0)
        page.close()
