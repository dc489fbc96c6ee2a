"""How does a text become vectors? Pieces and ids of one's own text, merges step by step, neighbours in a table, and one
word in two contexts."""
from model.lessons.tokenization import LARGEST, MODELS
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.vectors.embeddings import ahead, drift, table
from viz.pages.vectors.tokenization import chinese, merges, own_text
from viz.text import strings
from viz.widgets.lesson import GUESS, Lesson

PRESETS = strings("lessons/vectors")["presets"]
PAGE = Page("From text to vectors", "Learn", 9, "nothing", controls=(
    GUESS, Words("typed", PRESETS["texts"]["english"], 200), Words("book", PRESETS["books"]["low"], 400),
    Number("done", 3, 0, LARGEST, whole=True), Choice("table", "minilm", MODELS), Switch("open"),
    Words("word", "bank", 40),
    Choice("case", "bank", ("bank", "apple", "苹果", "own")),
    *(Words(name, PRESETS["own"][name], 200) for name in ("first", "second", "third")),
    Words("shared", PRESETS["own"]["shared"], 40)))


def render(page: PageContext) -> None:
    lesson = Lesson(page, "vectors")
    lesson.head()
    revealed = lesson.predict()
    lesson.live(own_text, page, lesson, leads=lesson.controls("typed"))
    chinese(lesson, revealed)
    lesson.live(merges, page, lesson, leads=lesson.controls("book"))
    lesson.live(table, page, lesson, leads=lesson.controls("table", "open"))
    lesson.live(drift, page, lesson)
    ahead(page)
    lesson.end()
