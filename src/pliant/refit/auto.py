"""Auto: choose between bottom-up, hybrid and a new tree, from counters and geometry alone, and say why (`body.policy_log`).

How volumes follow is decided by the share of leaves that the last queries came to: where it is large, most volumes are needed and a
bottom-up pass is the cheapest way to them; where it is small, hybrid touches a fraction, and where it is tiny, lazy less still.

Whether the tree is worn is found out in three steps, each dearer and rarer than the one before (`tree/quality.py`):

- a GLANCE at some leaves: have their sizes, or the proportions of their sides, changed since the tree was new? The more they change from
  glance to glance, the sooner the next one comes;
- a TRIAL, if they have changed by more than at any earlier trial: a new tree for a sample of the faces, and the leaves of the old one
  against it. A motion that comes and goes stays within what earlier trials have seen; there, trials come more and more seldom;
- a NEW TREE, if queries meet `WORTH` times as many volumes as in it, and have done so long enough to pay for it; at once or in the
  background. If the last one was worn as soon as it was there, it waits longer and longer before the next.

What queries do is counted in leaves that they reach, in units of all leaves of the body. Where they reach few, a worn tree costs little.
Rays come to a leaf again and again: if together they cost more than reaching all leaves once, time passes faster than frames do.
A tree that the user has chosen, by a key, is never looked at: only how volumes follow is decided.
"""
import os
from concurrent.futures import Future
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.jit import DISABLED
from pliant.core.soa import aligned
from pliant.core.threads import background
from pliant.refit import bottom_up, hybrid, lazy
from pliant.refit.policy import Policy, register
from pliant.tree.quality import glance, reached, sampled_wear, wear

LOOK = 8                                                                # frames between looks at what was reached
FEW, FEW_FITTED = 2048, 64                                              # faces below which a bottom-up pass costs less than deciding; where
                                                                        # volumes are worth a fit, one costs 0.5 µs, a box 0.01
MANY_REACHED, FEW_REACHED = 0.5, 0.35                                   # of the leaves: bottom-up above, hybrid below
SOME_REACHED, HARDLY_REACHED = 0.15, 0.1                                # hybrid above, lazy below
SAMPLE = 256                                                            # leaves looked at

SOONEST, LATEST = 4, 64                                                 # frames between glances
STEP = 0.08                                                             # a glance should differ by so much from the one before (logarithm)
MOVED, NEAR = 0.15, 0.3                                                 # ... and from all trials by so much: another; × NEAR, if close
SPREAD = 0.4                                                            # so much larger runs of leaves: try all of the body, not a sample
SHORT_WAIT, LONGEST_WAIT = 64, 1024                                     # frames without trials, or new trees, that would be in vain
TRIED = 1024, 3072                                                      # faces of a trial: a quarter, but no fewer or more than this
WORTH = 1.22                                                            # times as many volumes: build a new tree
# Before a trial and a new tree, so many leaves must have been reached, and reached in vain. A tree costs about as much as reaching all its
# leaves twice (20,480 faces: 4 ms, and 0.7 µs a leaf), a trial a fifth of it, but whoever waits for that has slow queries meanwhile.
TRIAL_PRICE, PRICE = 2, 0.5
STRIP = 512                                                             # triangles of a rehearsal
PASSES = 32                                                             # tests of rays (2 to 3 ns) to a face of all leaves reached (90 ns)
DEAR = 16                                                               # a frame of rays that takes so long may have a tree of its own
QUARTER = 4                                                             # local updates of 1 / 4 of the vertices count as a frame


class Choice(NamedTuple):
    """What was chosen, when, and why."""
    update: int
    policy: str
    reason: str


class Mind:
    """What `auto` remembers of one shape; times are in frames, or in what rays have cost where that is more."""

    def __init__(self):
        self.mode, self.log = "bottom_up", []
        self.frames, self.seen, self.moved = 0, -1, 0                   # time so far, the last frame's stamp, vertices moved alone
        self.passed, self.pace = 0, 1                                   # what rays had cost then, and how long that frame took
        self.looked = 1 - LOOK                                          # when leaves were last looked at
        self.building: Future | None = None                             # a tree, to be taken if the old one is worn `least` times
        self.least, self.process = 0.0, 0                               # ... and who builds it
        self.fresh = self.worn = None                                   # glances: when the tree was new, when the one before was given up
        self.wait = 0                                                   # a tree must be so old before the next
        self.born = self.due = self.patience = self.quiet = 0

    def note(self, shape, policy, reason):
        self.log.append(Choice(shape.frame, policy, reason))

    def begin(self, seen):
        """The tree is new, and this is what it looks like."""
        self.born, self.due, self.patience, self.quiet = self.frames, self.frames + SOONEST, SHORT_WAIT, 0
        self.fresh = self.last = self.tried = self.low = self.high = seen
        self.glanced, self.runs, self.step = self.frames, seen.runs, MOVED
        self.times, self.work, self.loss = 1.0, 0.0, 0.0                # of the last trial, leaves reached since, leaves reached in vain


def follow(shape):
    """Look, choose, and let the choice follow. Once a frame: where no query has come to the root yet, the choice stands."""
    mind = shape.mind = shape.mind or Mind()
    new = mind.seen != shape.frame
    if new:
        mind.pace = elapsed(shape, mind)
        mind.frames += mind.pace - 1
    if new and not shape.fixed:
        look_at_tree(shape, mind)
    if mind.fresh is None:
        bottom_up.follow(shape)
        mind.begin(glance(shape.tree, shape.points)[0])
        if not mind.log:
            mind.note(shape, "bottom_up", "the first frame")
            if not DISABLED and not shape.fixed:
                rehearse(shape.options.builder)
    else:
        few = FEW_FITTED if shape.options.family.fitted else FEW
        if new and mind.frames >= mind.looked + LOOK and len(shape.faces) >= few:
            mind.looked = mind.frames
            look_at_leaves(shape, mind)
        if mind.mode == "bottom_up":
            bottom_up.follow(shape)
        else:
            (hybrid if mind.mode == "hybrid" else lazy).refit(shape)
    mind.frames, mind.seen = mind.frames + new, shape.frame


def elapsed(shape, mind):
    """How much time the last frame has taken."""
    passed, mind.passed = shape.passed - mind.passed, shape.passed
    return max(1, passed // (PASSES * len(shape.faces)))


def watch(shape, n):
    """After n vertices have moved alone: look at the tree as often as if all had, now and then. A new one leaves the shape stale."""
    mind = shape.mind
    if mind is None or mind.fresh is None or shape.fixed:
        return
    frames, mind.moved = divmod(mind.moved + QUARTER * n, len(shape.points) // 4)
    if frames:
        mind.frames += frames
        look_at_tree(shape, mind)


def share_reached(shape, mind):
    """The share of leaves that the queries of the last frame have reached."""
    return reached(shape.leaves, mind.seen, max(len(shape.leaves) // SAMPLE, 1))


def look_at_leaves(shape, mind):
    """How many leaves did queries reach?"""
    share, mode = share_reached(shape, mind), mind.mode
    if share > (MANY_REACHED if mode != "bottom_up" else FEW_REACHED):
        mind.mode = "bottom_up"
    elif share > (SOME_REACHED if mode == "lazy" else HARDLY_REACHED):
        mind.mode = "hybrid"
    else:
        mind.mode = "lazy"
    if mind.mode != mode:
        mind.note(shape, mind.mode, f"queries reached {share:.0%} of the leaves")


# --- is the tree worn? -------------------------------------------------------------------------------------------------------------

def look_at_tree(shape, mind):
    """Take a tree from the background, or glance, if it is time to, and try if that is called for."""
    if mind.building is not None and mind.process != os.getpid():       # a forked child: nobody is building here
        mind.building = None
    if mind.building is not None and mind.building.done():
        adopt(shape, mind)
    if mind.frames < mind.due or mind.fresh is None:
        return
    seen, box = glance(shape.tree, shape.points)
    share, passed, change = share_reached(shape, mind), mind.frames - mind.glanced, distance(seen, mind.last)
    if mind.worn is not None:
        judge(mind, seen)
    mind.glanced, mind.last, mind.work = mind.frames, seen, mind.work + passed * share
    missing = trial_price(shape) - mind.work
    soon = passed * min(STEP / max(change, 1e-9), 2)                    # no more than twice as far: wear begins slowly
    mind.due = mind.frames + int(min(max(soon, missing / max(share, 1e-3), SOONEST), LATEST))
    ripe = mind.frames - mind.born >= mind.wait or mind.pace >= DEAR
    if missing <= 0 and mind.building is None and ripe and called_for(mind, seen):
        attempt(shape, mind, seen, box, share)


def called_for(mind, seen):
    """Is this beyond what earlier trials have seen, or was the last one long ago?"""
    if mind.times >= WORTH:                                             # the tree is worn, and only has to pay for a new one
        return mind.frames >= mind.quiet
    beyond = max(max(s - high, low - s) for s, low, high in zip(seen, mind.low, mind.high, strict=True))
    return beyond > mind.step or (mind.frames >= mind.quiet and distance(seen, mind.tried) > mind.step)


def distance(p, q):
    """By how much two glances differ at most."""
    return max(abs(a - b) for a, b in zip(p, q, strict=True))


def judge(mind, seen):
    """The first glance at a tree that replaced another: if half of the wear is back, it was in vain."""
    worn, mind.worn = mind.worn, None
    gone = any(w - f > MOVED and s - f > (w - f) / 2 for s, f, w in zip(seen[:2], mind.fresh[:2], worn[:2], strict=True))
    mind.wait = min(max(2 * mind.wait, SHORT_WAIT), LONGEST_WAIT) if gone else 0


def tried(shape):
    """How many faces a trial takes."""
    n = len(shape.faces)
    some = min(max(n // 4, TRIED[0]), TRIED[1])
    return some if n > 2 * some else n


def trial_price(shape):
    """How many leaves queries must have reached since the last trial: as its cost, it goes by the share of faces."""
    return TRIAL_PRICE * min(4 * tried(shape) / len(shape.faces), 1)


def attempt(shape, mind, seen, box, share):
    """Try a new tree, or a part of it, and take it if it is worth it."""
    tree, times, faces, points, some = None, None, shape.faces, shape.points, tried(shape)
    aside, small = shape.options.settings["background"], some == len(faces)
    if not small and seen.runs - mind.runs < SPREAD:
        times = sampled_wear(shape.tree, lambda chosen: build(shape, chosen), faces, points, box, some)
    if times is None:
        mind.runs = seen.runs
        if aside and not small:
            start(shape, mind, WORTH, "leaves have changed")
            return
        tree = shape.build()
        times = wear(shape.tree, tree, points)
    mind.loss += mind.work * (in_vain(mind.times) + in_vain(times)) / 2
    mind.times, mind.work = times, 0.0
    reason = f"queries meet {times:.2f} times as many volumes as in a new tree"
    if times < WORTH or (tree is None and mind.loss < PRICE):           # a whole tree is paid for
        keep(mind, seen, share)
        mind.note(shape, mind.mode, f"{reason}{'' if times < WORTH else ', but few'}: the old one stays")
        return
    reason += f", after {mind.frames - mind.born} frames"
    if aside:
        start(shape, mind, 0, reason)
    else:
        mind.note(shape, "rebuild", reason)
        replace(shape, mind, tree or shape.build())


def in_vain(times):
    """The share of leaves that a query would not reach in a new tree."""
    return 1 - 1 / max(times, 1)


def keep(mind, seen, share):
    """The old tree stays: when shall we try again? When it has paid for a new one, if that is better; sooner, if it was close."""
    mind.tried, mind.step = seen, MOVED * min(max((WORTH - mind.times) / (WORTH - 1), NEAR), 1)
    mind.low, mind.high = type(seen)(*map(min, seen, mind.low)), type(seen)(*map(max, seen, mind.high))
    if mind.times < WORTH:
        mind.quiet, mind.patience = mind.frames + mind.patience, min(2 * mind.patience, LONGEST_WAIT)
    else:
        mind.quiet = mind.frames + int(min((PRICE - mind.loss) / max(share * in_vain(mind.times), 1e-9), LONGEST_WAIT))


def build(shape, faces):
    """A tree for some of the faces."""
    options = shape.options
    return options.builder.build(shape.points.reshape(-1, 4), faces, options.arity, options.leaf)


def replace(shape, mind, tree):
    """Plant another tree. It is new, whatever interrupts this."""
    mind.worn, mind.fresh = mind.last, None
    shape.plant(tree)


def start(shape, mind, least, reason):
    """Build a tree in the background, from where the points are."""
    points, mind.work = shape.points.copy(), 0.0
    mind.building, mind.least, mind.process = background(lambda: shape.build(points)), least, os.getpid()
    mind.note(shape, mind.mode, reason + ": another tree is being built")


def adopt(shape, mind):
    """Take the tree that was built in the background; one that nobody has tried only if it is better. If not, it may have come too late."""
    building, mind.building = mind.building, None
    mind.times, mind.quiet, mind.patience = WORTH, mind.frames + mind.patience, min(2 * mind.patience, LONGEST_WAIT)
    tree = building.result()                                            # may fail: then, too, the next one has time
    times = wear(shape.tree, tree, shape.points) if mind.least else WORTH
    if times >= mind.least:
        replace(shape, mind, tree)
        mind.note(shape, "rebuild", "the tree built in the background is ready")
    else:
        mind.note(shape, mind.mode, f"queries meet {times:.2f} times as many volumes as in the tree that is ready: the old one stays")


@cache
def rehearse(builder):
    """Do once what is done now and then, on a strip of triangles, so that it is compiled: no later frame should wait for that. 10 ms if it
    was compiled before."""
    faces, along = np.arange(STRIP)[:, None] + np.arange(3), np.arange(STRIP + 2)
    points, faces = aligned(4 * len(along), np.float32), faces.astype(np.int32)
    points.reshape(-1, 4)[:, 0], points.reshape(-1, 4)[:, 1] = along // 2, along % 2

    def made(chosen):
        return builder.build(points.reshape(-1, 4), chosen, 8, 8)
    tree = made(faces)
    sampled_wear(tree, made, faces, points, glance(tree, points)[1], STRIP // 2)
    wear(tree, tree, points)


register(Policy("auto", follow, {"background": (False, validate.flag)}, watch))
