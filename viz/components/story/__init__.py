"""One text through a decoder on one screen, from letters to the next word: it runs by itself, stops anywhere, and every
part opens its lesson."""
from collections.abc import Callable

from viz.components.component import Component, Picture
from viz.components.story.payload import (
    STEPS,
    Event,
    Scene,
    Step,
    body,
    parse_event,
    state,
)

__all__ = ["STEPS", "Event", "Scene", "Step", "story"]

_COMPONENT = Component("story")
replay = _COMPONENT.replay


def story(scene: Scene, *, key: str, on_event: Callable[[Event], None]) -> Picture:
    """Draws the scene and lets it run. on_event gets what somebody chose before the page runs again.

    The picture that it leaves behind stands still at its end, where everything is on it.
    """
    drawn = _COMPONENT.show(key, body(scene, room=key), state(room=key), lambda value: parse_event(value, scene),
                            on_event)
    return Picture(drawn.component, drawn.key, drawn.body, state(room=key, step=len(STEPS) - 1, plays=False), None)
