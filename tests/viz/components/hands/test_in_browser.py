"""A show of hands in a real browser: tapped in by buttons and keys, kept by the tab, cleared, and drawn as bars."""

PLAY = """async ({ hands }) => {
    const draw = await hands(), text = { more: "more {answer}", fewer: "fewer {answer}", clear: "clear" };
    const rows = [0, 1, undefined].map((place) => {
        const parentElement = document.createElement("div");
        document.body.append(parentElement);
        return { parentElement, data: { question: "q", place, answers: 2, told: false, text } };
    });
    const all = (changes = {}) => rows.forEach(({ parentElement, data }) =>
        draw({ parentElement, data: [{ ...data, ...changes }] }));
    const seen = () => rows.slice(0, 2).map(({ parentElement }) => parentElement.querySelector(".count").textContent);
    const press = (row, name, times = 1) => {
        for (let i = 0; i < times; i += 1) rows[row].parentElement.querySelector(name).click();
    };
    const key = (hand, by) => document.dispatchEvent(new CustomEvent("clearhead-hand", { detail: { hand, by } }));
    const found = {};
    all();
    press(0, ".fewer");
    press(0, ".more", 3);
    key(1, 1);
    key(1, 1);
    key(1, -1);
    key(7, 1);
    found.tapped = seen();
    found.stored = sessionStorage.getItem("clearhead hands q");
    all({ told: true });
    found.told = seen();
    found.bars = rows.slice(0, 2).map(({ parentElement }) =>
        +parentElement.querySelector(".bar").style.getPropertyValue("--share"));
    key(0, 1);
    found.late = seen();
    all();
    press(2, ".clear");
    found.cleared = seen();
    sessionStorage.setItem("clearhead hands q", '["x", -4]');
    all();
    found.hostile = seen();
    return found;
}"""


def test_hands_are_counted_kept_shown_and_cleared(run_module):
    found = run_module("hands/hands.js", PLAY)
    assert found["tapped"] == ["3", "1"] and found["stored"] == "[3,1]"
    assert found["told"] == found["late"] == ["3 · 75 %", "1 · 25 %"] and found["bars"] == [1, 1 / 3]
    assert found["cleared"] == found["hostile"] == ["0", "0"]
