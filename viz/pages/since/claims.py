"""Sentences about the block that follow its switches, each with the numbers of the block as it stands."""
from dataclasses import replace
from typing import Any

import numpy as np

from model.lessons.since import design
from viz.format import format_number


def block_claim(words: dict, this: design.Design, about: str, revealed: bool) -> str:
    """What the change `about` (a switch, or "groups") does in this block. What it does to the cache is said once the
    question is answered (`revealed`)."""
    now, says = design.numbers(this), words["says"][about]
    on = getattr(this, about) != getattr(design.PAPER, about)
    turned: Any = design.HEADS if about == "groups" else not getattr(this, about)
    other = replace(this, **{about: turned})
    reverse = design.numbers(other)
    changed, unchanged = (now, reverse) if on else (reverse, now)
    if about == "groups":
        case = "all" if this.groups == design.HEADS else "one" if this.groups == 1 else "some"
    else:
        case = "on" if on else "off"
    numbers = {"length": now.length, "mean": now.mean, "zeros": now.zeros, "moved": now.moved, "groups": this.groups,
               "heads": design.HEADS, "kept": 2 * this.groups * design.HEAD,
               "whole": 2 * design.HEADS * design.HEAD, "cache": now.cache}
    said = [says[case].format(**numbers)]
    cost = changed.parameters - unchanged.parameters
    if about != "groups":
        costs = words["costs" if on else "would"]["none" if cost == 0 else "more" if cost > 0 else "fewer"]
        said.append(costs.format(by=abs(cost), change=words["changes"][about]))
    elif on:
        said.append(words["costs"]["merged"].format(by=-cost))
    if about == "groups" and revealed:
        said.append(words["costs"]["cache"].format(cache=now.cache, whole=design.cache_bytes(design.PAPER)))
    return " ".join(said)


def total_claim(words: dict, now: int, paper: int) -> str:
    """The block's parameters beside those of 2017."""
    case = "same" if now == paper else "more" if now > paper else "fewer"
    return words["together"][case].format(now=now, paper=paper, by=abs(now - paper))


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
