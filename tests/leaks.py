"""Whether a page gives away the answer to a question that it asks."""
import re

RUN = 4   # words in a row that a page has in common with the right answer only by giving it away


def given_away(prompt: dict, shown: str) -> list[str]:
    """What `shown`, the words and numbers of a page and its charts without the question itself, has of the right answer
    to `prompt`: four words in a row, or a number, unless the question or a wrong answer has them as well."""
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
    """Those that can hardly be there by chance: with a point, or of three digits and more."""
    return {each for each in re.findall(r"\d+(?:[.,]\d+)*", text) if len(re.sub(r"\D", "", each)) > 2 or "." in each}
