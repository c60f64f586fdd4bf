"""Auto: choose between bottom-up, hybrid and a new tree, from counters alone, and say why (`body.policy_log`).

Every few frames it looks at two numbers. REACHED is the share of leaves that the last queries came to: where it is large, most volumes
are needed and a bottom-up pass is the cheapest way to them; where it is small, hybrid touches a fraction. QUALITY is how much larger the
volumes have become, against each other, than they were when the tree was new (`tree/quality.py`): when a deformation has torn
neighbours of the tree apart, it is built anew, at once or in the background. If new trees do not last, it waits longer before the next.
"""
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np

from pliant.core import check
from pliant.core.threads import background
from pliant.refit import bottom_up, hybrid
from pliant.refit.policy import Policy, register
from pliant.tree.quality import quality

LOOK, FULL_LOOK = 8, 32                                                 # frames between looks at what was reached, at the quality
FEW = 2048                                                              # faces below which a bottom-up pass costs less than deciding
MANY_REACHED, FEW_REACHED = 0.5, 0.35                                   # of the leaves: bottom-up above, hybrid below
WORN = 1.4                                                              # times the quality of the new tree: build another
SHORT_LIFE, LONGEST_WAIT = 64, 1024                                     # frames
SAMPLE = 1024                                                           # leaves looked at


class Choice(NamedTuple):
    """What was chosen, when, and why."""
    update: int
    policy: str
    reason: str


class Mind:
    """What `auto` remembers of one shape."""

    def __init__(self):
        self.mode, self.log = "bottom_up", []
        self.frames, self.seen, self.born, self.wait = 0, None, 0, 0
        self.fresh: float | None = None
        self.building: Future | None = None

    def note(self, shape, policy, reason):
        self.log.append(Choice(shape.frame, policy, reason))


def follow(shape):
    """Look, choose, and let the choice follow."""
    mind = shape.mind = shape.mind or Mind()
    adopt(shape, mind)
    if mind.fresh is None:
        refit_all(shape, mind)
        if not mind.log:
            mind.note(shape, "bottom_up", "the first frame")
    elif mind.frames % FULL_LOOK == 0:
        look_at_quality(shape, mind)
    else:
        if mind.frames % LOOK == 1 and len(shape.faces) >= FEW:
            look_at_leaves(shape, mind)
        if mind.mode == "bottom_up":
            bottom_up.follow(shape)
        else:
            hybrid.refit(shape)
    mind.frames, mind.seen = mind.frames + 1, shape.frame


def refit_all(shape, mind):
    """A bottom-up pass over a new tree, the measure of what comes after."""
    bottom_up.follow(shape)
    mind.fresh, mind.born = quality(shape.nodes), mind.frames


def look_at_leaves(shape, mind):
    """Which share of the leaves did the queries of the last frame reach?"""
    stamps = shape.leaves["stamp"]
    some = stamps[::max(len(stamps) // SAMPLE, 1)]
    reached = float(np.count_nonzero(some == mind.seen)) / len(some)
    if mind.mode == "bottom_up" and reached < FEW_REACHED:
        mind.mode = "hybrid"
        mind.note(shape, "hybrid", f"queries reached {reached:.0%} of the leaves")
    elif mind.mode == "hybrid" and reached > MANY_REACHED:
        mind.mode = "bottom_up"
        mind.note(shape, "bottom_up", f"queries reached {reached:.0%} of the leaves")


def look_at_quality(shape, mind):
    """Is it time for a new tree? All volumes must be true to tell."""
    bottom_up.follow(shape)
    age, worn = mind.frames - mind.born, quality(shape.nodes) / mind.fresh
    if worn < WORN or age < mind.wait or mind.building is not None:
        return
    mind.wait = min(2 * max(mind.wait, SHORT_LIFE), LONGEST_WAIT) if age <= max(SHORT_LIFE, 2 * mind.wait) else 0
    reason = f"volumes are {worn:.2f} times as large as when the tree was new, {age} frames ago"
    if shape.options.settings["background"]:
        points = shape.points.copy()
        mind.building = background(lambda: shape.build(points))
        mind.note(shape, mind.mode, reason + ": another tree is being built")
    else:
        mind.note(shape, "rebuild", reason)
        shape.plant(shape.build())
        refit_all(shape, mind)


def adopt(shape, mind):
    """Take the tree that was built in the background, if it is done."""
    if mind.building is not None and mind.building.done():
        building, mind.building = mind.building, None
        tree = building.result()
        shape.plant(tree)
        mind.note(shape, "rebuild", "the tree built in the background is ready")
        mind.fresh = None


register(Policy("auto", follow, {"background": (False, check.flag)}))
