"""A chart for a room, in a real browser."""
from plotly.offline import get_plotlyjs

GONE = """async ({ chart }, library) => {
    const wrong = [];
    addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
    const mount = await chart(URL.createObjectURL(new Blob([library], { type: "text/javascript" })));
    const waits = () => !document.querySelector(".clearhead-chart[data-drawn]");
    const frame = () => new Promise(requestAnimationFrame);
    const draw = (y, displayModeBar) => mount({
        parentElement: document.body, setTriggerValue: () => {},
        data: { data: [{ y }], layout: { height: 300, margin: { t: 10, b: 10 } }, config: { displayModeBar },
                text: {} },
    });
    for (let steps = 0; steps < 24; steps++) {
        draw([1, 2], false);
        while (waits()) await frame();
        const end = draw([2, 1], steps % 2 === 0);   // another configuration: plotly builds the chart anew
        for (let step = 0; step < steps; step++) await null;
        end();
    }
    await frame();
    return [wrong, document.querySelectorAll(".clearhead-chart").length];
}"""


def test_chart_removed_while_drawn_raises_nothing(run_module):
    assert run_module("chart/chart.js", GONE, get_plotlyjs()) == [[], 0]


FOLDED = """async ({ chart }, library) => {
    const mount = await chart(URL.createObjectURL(new Blob([library], { type: "text/javascript" })));
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const details = [0, 1].map((each) => {
        const made = document.createElement("details"), place = document.createElement("div");
        made.style.marginTop = each ? "3000px" : "0";   // the second one far below what is seen
        made.append(place);
        document.body.append(made);
        mount({ parentElement: place, setTriggerValue: () => {},
                data: { data: [{ y: [1, 2] }], layout: { height: 300, margin: { t: 10, b: 10 } }, config: {},
                        text: {} } });
        return made;
    });
    const drawn = () => document.querySelectorAll(".clearhead-chart[data-drawn]").length;
    await pause(500);
    const folded = drawn();
    for (const each of details) each.open = true;
    for (let waited = 0; drawn() < 2 && waited < 5000; waited += 50) await pause(50);
    return [folded, drawn()];
}"""


def test_folded_chart_is_drawn_when_opened(run_module):
    assert run_module("chart/chart.js", FOLDED, get_plotlyjs()) == [0, 2]
