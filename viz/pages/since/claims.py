"""Sentences about the block that follow its switches, each with the numbers of the block as it stands."""
from dataclasses import asdict, replace

import numpy as np

from model.lessons.since import design
from viz.format import format_number


def block_claim(words: dict, this: design.Design, about: str, revealed: bool) -> str:
    """What the change `about` (a switch, or "groups") does in this block. What it does to the cache is said once the
    question is answered (`revealed`)."""
    now, says = design.numbers(this), words["says"][about]
    other = design.numbers(replace(this, **{about: getattr(design.PAPER, about)}))
    on = getattr(this, about) != getattr(design.PAPER, about)
    if about == "groups":
        case = "all" if this.groups == design.HEADS else "one" if this.groups == 1 else "some"
    else:
        case = "on" if on else "off"
    said = [says[case].format(groups=this.groups, heads=design.HEADS, **asdict(now))]
    switched = now if on or about == "groups" else design.numbers(replace(this, **{about: True}))
    change = words["changes"][about].format(groups=this.groups)
    said.append(words["cost"].format(change=change, by=switched.parameters - other.parameters))
    if about == "groups" and revealed:
        said.append(words["cached"].format(cache=now.cache, whole=design.cache_bytes(design.PAPER)))
    return " ".join(said)


def said_bytes(count: float) -> str:
    """Bytes in the unit in which people read them, with three digits that count."""
    power = min(3, max(0, int(np.log10(max(count, 1)) // 3)))
    return f"{format_number(count / 1000**power)} {('bytes', 'kB', 'MB', 'GB')[power]}"


def said_count(count: float, words: list[str]) -> str:
    """A large number with two digits that count and its word; words: for 10⁶, 10⁹, 10¹², 10¹⁵."""
    power = min(len(words), max(1, int(np.log10(count) // 3) - 1))
    return f"{format_number(count / 1000**(power + 1), 2)} {words[power - 1]}"


def said_power(power: float) -> str:
    """10 to this power, as people write it: 10²⁴, 10²³·⁵."""
    return "10" + f"{power:g}".translate(str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹·"))
