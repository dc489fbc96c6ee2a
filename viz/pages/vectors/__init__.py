"""How does a text become vectors? Pieces and ids of one's own text, merges step by step, neighbours in a table, and one
word in two contexts."""
from model.lessons.vectors import LARGEST, MODELS
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.vectors.embeddings import drift, table
from viz.pages.vectors.tokenization import chinese, merges, own_text
from viz.text import strings
from viz.widgets.lesson import QUESTIONS, Lesson

PRESETS = strings("lessons/vectors")["presets"]
PAGE = Page("From text to vectors", "Learn", 2, "nothing", controls=(
    *QUESTIONS, Words("typed", PRESETS["texts"]["english"], 200), Words("book", PRESETS["books"]["low"], 400),
    Number("done", 3, 0, LARGEST, whole=True), Choice("table", "minilm", MODELS), Switch("open"),
    Words("word", "bank", 40),
    Choice("case", "bank", ("bank", "apple", "苹果", "own")),
    *(Words(name, PRESETS["own"][name], 200) for name in ("first", "second", "third")),
    Words("shared", PRESETS["own"]["shared"], 40)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "vectors")
    lesson.header()
    revealed = own_text(page, lesson)
    chinese(lesson, revealed)
    lesson.fragment(merges)
    table(page, lesson)
    lesson.fragment(drift)
    lesson.end()
