"""What runs in a browser uses only what Chromium, Firefox and WebKit all have; tests/browser/engines tries it there."""
import re

from tests.conftest import ROOT

# a name as it stands in a source: which engine lacks it
LACKING = {
    "requestIdleCallback": "WebKit", "cancelIdleCallback": "WebKit", "postTask": "WebKit",
    "currentCSSZoom": "WebKit, before Safari 26.4", "userAgentData": "Firefox and WebKit",
    "deviceMemory": "Firefox and WebKit", "EyeDropper": "Firefox and WebKit",
    "showOpenFilePicker": "Firefox and WebKit", "showSaveFilePicker": "Firefox and WebKit",
    "scrollIntoViewIfNeeded": "Firefox", "caretRangeFromPoint": "Firefox, before 150",
    "caretPositionFromPoint": "WebKit, before Safari 26.2", "documentPictureInPicture": "WebKit",
    "PressureObserver": "Firefox and WebKit", "ReportingObserver": "Firefox, before 149",
    "webkitRequestFullscreen": "Firefox", "mozRequestFullScreen": "Chromium and WebKit",
    "Temporal": "WebKit, before Safari 27.3", "attributeStyleMap": "Firefox", "computedStyleMap": "Firefox",
    "moveBefore": "WebKit", "queryLocalFonts": "Firefox and WebKit", "interpolate-size": "Firefox and WebKit",
    "calc-size": "Firefox and WebKit", "corner-shape": "Firefox", "-moz-": "Chromium and WebKit",
    "text-wrap: pretty": "Firefox", "initial-letter": "Firefox", "hanging-punctuation": "Chromium and Firefox",
    "animation-timeline": "Firefox, before 159", "reading-flow": "Firefox and WebKit",
    "field-sizing": "Firefox, before 152", "::-webkit-scrollbar": "Firefox", "@scope": "Firefox, before 146",
}
# what has another name somewhere, or is not everywhere: the word that must stand in the same file
BESIDE = {r"(?<!-webkit-)user-select:": "-webkit-user-select:", r"::-webkit-slider-thumb": "::-moz-range-thumb",
          r"::-webkit-slider-runnable-track": "::-moz-range-track", r"requestFullscreen": "fullscreenEnabled"}
BOTH = re.compile(r"::-moz-range-\w+")   # of a pair above
SOURCES = sorted(path for suffix in ("js", "css", "py") for path in (ROOT / "viz").rglob(f"*.{suffix}"))


def lacked(text: str) -> list[str]:
    """What stands in the text and is not in every engine."""
    found = [name for name in LACKING if re.search(rf"(?<![\w]){re.escape(name)}", BOTH.sub("", text))]
    return found + [pattern for pattern, other in BESIDE.items() if re.search(pattern, text) and other not in text]


def test_no_source_uses_what_an_engine_lacks():
    found = {path.relative_to(ROOT).as_posix(): lacked(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: {name: LACKING.get(name, f"needs {BESIDE.get(name)}") for name in names}
            for path, names in found.items() if names} == {}
