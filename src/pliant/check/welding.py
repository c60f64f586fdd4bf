"""Weld maps of a check: which vertices of each body are one. They are the same for all frames of the files, so that results depend neither
on the frames that are checked, nor on jobs, nor on a stop in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pliant.body import Body
from pliant.check.journal import ArrayDict
from pliant.core import validate_weld
from pliant.io.animation import Animation, FrameActor, find_welds
from pliant.welding import count_welded


def prepare_welds(animation: Animation, weld: float | bool, stored: ArrayDict, progress: Callable[[int, int], None] | None) -> ArrayDict:
    """Find the weld maps of all actors; returns them for the journal. `stored`: those that the journal of a stopped check has."""
    tolerance = validate_weld.weld("weld", weld)
    if tolerance is None:
        return {}
    moving = {f"w{place}": actor for place, actor in enumerate(animation.actors) if isinstance(actor, FrameActor) and actor.frames > 1}
    if stored.keys() == moving.keys():
        for name, actor in moving.items():
            actor.set_welds(tolerance, stored[name])
    find_welds(animation.actors, tolerance, progress)
    found = {name: actor.welds(tolerance) for name, actor in moving.items()}
    return {name: welds for name, welds in found.items() if welds is not None}


def weld_notes(bodies: Sequence[Body]) -> tuple[str, ...]:
    """How many vertices are merged into others, if any are."""
    welded = sum(count_welded(body._weld_map) for body in bodies)
    if not welded:
        return ()
    total = sum(body._motion.count for body in bodies)
    return (f"{welded:,} of {total:,} vertices are welded: they are at the position of another one in every frame",)
