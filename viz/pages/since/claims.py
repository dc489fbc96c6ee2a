"""Sentences about the block that follow its switches, each with the numbers of the block as it stands."""
from dataclasses import replace

from model.lessons.since import design


def block_claim(words: dict, this: design.Design, about: str, revealed: bool) -> str:
    """What the change `about` (a switch, or "groups") does in this block. What it does to the cache is said once the
    question is answered (`revealed`)."""
    now, says = design.numbers(this), words["says"][about]
    on = getattr(this, about) != getattr(design.PAPER, about)
    other = replace(this, **{about: design.HEADS if about == "groups" else not getattr(this, about)})
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
        said.append(words["costs"]["none" if cost == 0 else "more" if cost > 0 else "fewer"].format(by=abs(cost)))
    elif on:
        said.append(words["costs"]["merged"].format(by=-cost))
    if about == "groups" and revealed:
        said.append(words["costs"]["cache"].format(cache=now.cache, whole=design.cache_bytes(design.PAPER)))
    return " ".join(said)
