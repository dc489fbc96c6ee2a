"""A real head, scene by scene: each key is one arrow from its place beside the query to its share of the mix."""
from collections.abc import Callable, Sequence
from typing import Any

from viz.components.component import Component, Picture
from viz.components.head_story.payload import SCENES, Story, body, parse_event, state

__all__ = ["SCENES", "Story", "head_story"]

_COMPONENT = Component("head_story")


def head_story(story: Story, alts: Sequence[str], scene: str, chosen: int, *, covered: bool, without: str, key: str,
               turn: Callable[[dict[str, Any]], None]) -> Picture:
    """Draws a scene; the next one grows out of it, by buttons, arrow keys or by itself. It stands still between scenes
    for whoever asked the system for less motion. Another scene calls turn({"scene": its name}), a click on a key
    turn({"key": its place}), before the page runs again. chosen: the place of the key that stands out; the others as
    of the payload's body."""
    messages = body(story, alts, room=key, covered=covered, without=without), state(scene, chosen, room=key)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, story.places), turn)
