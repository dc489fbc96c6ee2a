"""Check whether a page gives away the answer to a question that it asks."""
import re

RUN = 4   # this many consecutive words in common with the right answer count as giving it away


def given_away(prompt: dict, shown: str) -> list[str]:
    """Return the parts of the right answer, runs of four words and numbers, that appear elsewhere on the page."""
    right = prompt["answers"][prompt["right"]]
    known = " ".join([prompt["ask"], *(each["text"] for place, each in enumerate(prompt["answers"])
                                       if place != prompt["right"])])
    told = {each for part in (right["text"], right["why"]) for each in (*_runs(part), *_numbers(part))}
    open_anyway = {*_runs(known), *_numbers(known)}
    page = {*_runs(shown), *_numbers(shown)}
    return sorted((told - open_anyway) & page)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"\$[^$]*\$", " ", text.lower()))


def _runs(text: str) -> set[str]:
    words = _words(text)
    return {" ".join(words[start:start + RUN]) for start in range(len(words) - RUN + 1)}


def _numbers(text: str) -> set[str]:
    """Return the numbers that are unlikely to appear by chance: those with a decimal point or at least three digits."""
    return {each for each in re.findall(r"\d+(?:[.,]\d+)*", text) if len(re.sub(r"\D", "", each)) > 2 or "." in each}
