"""The page Compare in a real browser: a changed word, an edit, another model, another head; links restore each."""
from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests import headline
from tests.browser.watch import PATIENCE

DRAWN = ".st-key-compare-grid [data-heads]"


def at(seen, path: str, drawn: str = DRAWN):
    seen.page.goto(seen.address + path)
    expect(seen.main.locator(drawn)).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    expect(seen.main.locator(".ch.view[data-drawn]")).to_have_count(3, timeout=PATIENCE)
    return seen.main


def hovered(seen, key: str, row: int, column: int, n: int) -> str:
    """Return the tooltip's text over a cell of an n × n picture."""
    picture = seen.main.locator(f".st-key-{key}")
    picture.scroll_into_view_if_needed()
    box = picture.locator(".matrix > canvas").bounding_box()
    seen.page.mouse.move(box["x"] + (column + 0.5) * box["width"] / n, box["y"] + (row + 0.5) * box["height"] / n)
    return picture.locator(".tip").inner_text()


def test_sentences_edits_and_models_are_compared(seen):
    words = strings("compare")
    main = at(seen, "/compare?layer=3&head=1")
    expect(main.get_by_text(words["most"].split("**")[0])).to_be_visible()
    expect(main.get_by_text("Cosine of the two vectors")).to_be_visible()
    first, second, change = (hovered(seen, f"compare-{name}", 10, 2, 16) for name in ("first", "second", "difference"))
    numbers = [float(said.split("\n")[-1].replace("−", "-")) for said in (first, second, change)]
    main.get_by_role("button", name=words["save"]).click()
    main.page.get_by_role("combobox", name=strings("heads")["export_what"]).click()
    main.page.get_by_role("option", name="PDF").click()
    seen.rest()
    with seen.page.expect_download() as saved:
        main.page.get_by_role("button", name=strings("heads")["export_save"], exact=True).click()
    assert saved.value.suggested_filename == "clearhead-compare.pdf"
    assert saved.value.path().read_bytes().startswith(b"%PDF")
    seen.page.keyboard.press("Escape")
    assert numbers[:2] == [float(headline.ANIMAL), float(headline.ANIMAL_IN_WIDE)] and "change" in change
    assert abs(numbers[2] - (numbers[1] - numbers[0])) < 0.002
    box = main.get_by_role("textbox", name=words["other"])
    box.fill("The animal didn't cross the long street because it was too tired.")
    box.press("Enter")
    expect(main.get_by_text("On one side only: 1 of 17 rows")).to_be_visible(timeout=PATIENCE)
    expect(main.locator(".st-key-compare-first .legend")).to_contain_text("on one side only")
    main.get_by_text(words["ways"]["edit"], exact=True).click()
    # a silenced head itself looks where it looked: the head that changed most is open
    expect(main.get_by_text("no longer adds its vector")).to_be_visible(timeout=PATIENCE)
    expect(main.get_by_text(words["most"].split("**")[0])).to_be_visible(timeout=PATIENCE)
    pinned = seen.rest().params()
    assert pinned["versus"] == ["edit"] and int(pinned["layer"][0]) > 3
    assert pinned["edit_layer"] == ["3"] and pinned["edit_head"] == ["1"]
    at(seen, "/compare?versus=model&against=translator&layer=3&head=1&layer_b=1&head_b=2")
    seen.page.goto(seen.address + "/heads?layer=3&head=1")
    grid = seen.main.locator(".st-key-grid [data-pitch]")
    left, pitch = (float(grid.get_attribute(name, timeout=PATIENCE)) for name in ("data-left", "data-pitch"))
    spot = {"x": left + 2.4 * pitch, "y": 16 + 1.4 * pitch}
    canvas = seen.rest().main.locator(".st-key-grid canvas").first
    for overlay in (["1.2"], None):   # into the figure, and out of it again
        canvas.click(position=spot, modifiers=["Shift"], force=True)
        expect(grid.locator(".together")).to_have_count(1 if overlay else 0, timeout=PATIENCE)
        assert seen.rest().params().get("overlay") == overlay
    canvas.click(position=spot, force=True)
    expect(grid.and_(seen.main.locator("[data-open='1.2']"))).to_be_visible(timeout=PATIENCE)
    seen.rest().page.keyboard.press("s")
    expect(seen.main.locator(DRAWN)).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text("1·2 no longer adds its vector")).to_be_visible(timeout=PATIENCE)
    opened = seen.rest().params()
    assert opened["edit_layer"] == ["1"] and opened["edit_head"] == ["2"] and int(opened["layer"][0]) > 1


def test_patched_heads_are_drawn_and_opened(seen):
    main = at(seen, "/compare?model=resolver-wide&versus=edit&edit=patch&layer=1&head=1",
              ".st-key-compare-patched [data-heads]")
    expect(main.get_by_text(strings("compare")["grid_none"])).to_be_visible()   # no layer stands behind the last
    expect(main.get_by_text("flip the answer to street alone: 1 of 8")).to_be_visible(timeout=PATIENCE)
    grid = main.locator(".st-key-compare-patched")
    left, pitch = (float(grid.locator("[data-pitch]").get_attribute(name)) for name in ("data-left", "data-pitch"))
    first = {"x": left + pitch / 3, "y": 16 + pitch / 3}
    grid.locator("canvas").hover(position=first, force=True)
    expect(grid.locator(".tip")).to_contain_text("layer 0 · head 0")
    grid.locator("canvas").click(position=first, force=True)
    expect(grid.locator("[data-open='0.0']")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["layer"] == ["0"] and seen.params()["head"] == ["0"]
    box = main.get_by_role("textbox", name=strings("compare")["donor"])
    box.fill("The animal slept.")
    box.press("Enter")
    expect(main.locator("[data-testid=stAlert]")).to_contain_text("choose a text with the same number of tokens",
                                                                   timeout=PATIENCE)
