"""Hostile input for tests of all inputs: texts, URL values, values sent by a browser, and damaged files."""
import copy
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

RUNS = (
    "<script>window.got=1</script>", "</script><script>window.got=1</script>", "<img src=x onerror=window.got=1>",
    "<svg onload=window.got=1>", "\"><script>window.got=1</script>", "javascript:window.got=1",
    "<iframe srcdoc='<script>parent.got=1</script>'>", "]]><script>window.got=1</script>", "<!--",
    "--><script>window.got=1</script>", "</style><script>window.got=1</script>",
    "</title><script>window.got=1</script>", "[x](javascript:window.got=1)", "![x](x)",
    "<a href='javascript:window.got=1'>x</a>", "{{7*7}}", "${7*7}", "%3Cscript%3E", "&lt;script&gt;")
MARKS = (
    "# h", "**b**", "_i_", "`c`", "```\nx\n```", "$x^2$", "$$x$$", ":red[x]", ":smile:", ":material/home:",
    ":violet-background[x]", ":streamlit:", "a -> b <- c", ">= <= ~= <->", "x--y", "- a", "1. a", "> q",
    "| a | b |\n|---|---|\n| 1 | 2 |", "---", "~~s~~", "<b>x</b>", "https://example.org", "www.example.org",
    "a@example.org", "[^1]", "\\", "\\*", "&amp;", "--", "->", "(c)", "==m==", "^s^", "+ a", "x\n===", "    code",
    "<https://example.org>", "![a](b)", "[a]: b", "*a*", "__b__", "'", "\"")
SIGNS = (
    "\0", "\ud800", "\udfff", "\ufeff", "\u202e", "\u2066", "\u200d", "\u200b", "\x1b[31m", "\x7f", "\x85", "\u2028",
    "\ufffe", "\ufdd0", "👨‍👩‍👧‍👦", "🏳️‍🌈", "é", "e\u0301" * 9, "Ω", "ß", "İ", "ǆ", "ﬁ", "中文字", "한국어", "हिन्दी",
    "العربية", "שלום", "ไทย", "𝒳", "🇫🇷", "\U000e0041", "\u0600", "\t", "\n", "\r\n", " ", "\u00a0", "\u3000", "")
TOKENS = ("[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>", "<unk>", "<|endoftext|>", "<0x0A>", "▁",
          "Ġ", "##ing", "##", "�", "it", "the")
CELLS = ("=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "＝1", "'=1", "a,b", '"', 'a"b', "a;b", "a\r\nb")
NUMBERS = ("0", "-1", "1e9", "1e400", "NaN", "inf", "-inf", "٣", "１", "0x10", "1_000", "9" * 40, "1.5", "1,2", "0.0",
           "-0", "true", "null", "")
PIECES = (*RUNS, *MARKS, *SIGNS, *TOKENS, *CELLS, *NUMBERS, "../../etc/passwd", "word " * 40, "w" * 200, "a.b.c", "…")

ANY = st.text(st.characters(), max_size=30)   # all code points, including lone surrogates
TEXTS = st.one_of(
    ANY, st.sampled_from(PIECES), st.lists(st.sampled_from(PIECES), min_size=2, max_size=8).map(" ".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(), max_size=5)), max_size=6).map("".join))
# field names in the components' events
FIELDS = ("token", "pair", "box", "values", "allowed", "selection", "rows", "cells", "part", "layer", "head", "at",
          "word", "count")
LEAVES = (st.none() | st.booleans() | st.integers(-10, 10) | st.integers()
          | st.sampled_from((10**9, -10**9, 2**63, 10**30)) | st.floats()
          | st.sampled_from((*FIELDS, *NUMBERS)) | st.text(max_size=5))
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4)
                    | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=4), max_leaves=8)


def examples(count: int) -> settings:
    """Return settings with `count` examples per 100 of the current profile's."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100))


NUMBERS_OF_BYTES = (0, 1, 2**8, 2**16, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1)
SEEDS = st.integers(0, 2**32 - 1)


def damaged_by(random: Random, content: bytes) -> bytes:
    """Damage a valid file at random: cut it off, or replace or insert random bytes or numbers that could be sizes."""
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, random.choice((len(content), min(200, len(content)))))
        size = random.choice(NUMBERS_OF_BYTES)
        new = random.choice((random.randbytes(random.randint(1, 9)), size.to_bytes(8, "little"),
                             (size % 2**32).to_bytes(4, "little"), (size % 2**32).to_bytes(4, "big")))
        content = random.choice((content[:at], content[:at] + new + content[at + len(new):],
                                 content[:at] + new + content[at:], content[:at] + content[at + len(new):]))
    return content


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Return files damaged by `damaged_by`, with a seed alone drawn: hypothesis handles dependent draws poorly."""
    return SEEDS.map(lambda seed: damaged_by(Random(seed), content))


def changed_by(random: Random, document: object) -> object:
    """Replace or delete one to three values of a JSON document at random."""
    document = copy.deepcopy(document)
    other = (None, True, 0, -1, 1.5, 2**31, 2**63, -2**64, 10**30, float("nan"), float("inf"), [], [1, [2]], [[]], {},
             {"shape": [9]}, {"head": [None]}, *PIECES, *FIELDS, *NUMBERS_OF_BYTES)
    for _ in range(random.randint(1, 3)):
        place = document
        while isinstance(place, dict | list) and place:
            key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if random.random() < 0.5 or not isinstance(place[key], dict | list) or not place[key]:
                if random.random() < 0.8:
                    place[key] = copy.deepcopy(random.choice(other))
                else:
                    del place[key]
                break
            place = place[key]
    return document


def changed(document: object) -> st.SearchStrategy[object]:
    """Return JSON documents changed by `changed_by`, with one seed per document."""
    return SEEDS.map(lambda seed: changed_by(Random(seed), document))
