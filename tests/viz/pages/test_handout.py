"""The page My lesson reports where a damaged file was moved, and what is not on disk."""
from streamlit.testing.v1 import AppTest


def page():
    from types import SimpleNamespace

    from clearhead.viz.pages import handout
    from clearhead.viz.widgets import handout_button

    handout_button.NAME.value = "a" * 32
    handout_button.STORE.change(handout_button.NAME.value, lambda known: handout.Handout("A title"))

    class Frame(dict):
        state = SimpleNamespace(present=False)

    handout.render(Frame(list=""))


def test_damaged_file_and_full_disk_are_reported(tmp_path, monkeypatch):
    from clearhead.model.core import files
    from clearhead.model.core.query import UserError

    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path))
    folder = tmp_path / "handouts"
    folder.mkdir()
    (folder / f"{'a' * 32}.handout.json").write_bytes(b"{")
    monkeypatch.setattr("clearhead.viz.widgets.handout_button.STORE._stored", {})
    app = AppTest.from_function(page).run(timeout=30)
    (aside,) = folder.glob("*.set-aside.json")
    assert not app.exception
    assert len(app.warning) == 1 and aside.stem.partition(".")[0] in app.warning[0].value.replace("\\", "")

    def full(place, content):
        raise UserError("The disk is full; make room.")

    monkeypatch.setattr(files, "write", full)
    app.run(timeout=30)
    assert not app.exception and "The disk is full; make room." in app.warning[0].value.replace("\\", "")


def presented():
    from types import SimpleNamespace

    from clearhead.viz.export.handout.files import make_words
    from clearhead.viz.pages import handout
    from clearhead.viz.widgets import handout_button

    handout_button.NAME.value = "b" * 32
    entry = make_words("screen", "", title="Gone", link="http://localhost/gone")
    handout_button.STORE.change("b" * 32, lambda known: handout.Handout("", (entry,)))
    handout.render(SimpleNamespace(state=SimpleNamespace(present=True, entry=1)))


def test_entry_without_words_is_presented(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path))
    app = AppTest.from_function(presented).run(timeout=30)
    assert not app.exception and "Gone" in app.markdown[0].value


def test_choices_beyond_the_digit_keys_are_said_to_be_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path))
    app = AppTest.from_function(page).run(timeout=30)
    app.text_area("new-question").input("Which?")
    app.text_area("new-choices").input("\n".join("abcdefghijk"))
    [each for each in app.button if each.label == "Add"][-1].click().run(timeout=30)
    assert not app.exception and app.error[0].value.endswith(": j, k")
