"""Auto: choose between bottom-up, hybrid and a new tree, from counters and geometry alone, and say why (`body.policy_log`).

How volumes follow is decided by the share of leaves that the last queries came to: where it is large, most volumes are needed and a
bottom-up pass is the cheapest way to them; where it is small, hybrid touches a fraction, and where it is tiny, lazy less still.

Whether the tree is degraded is found out in three steps, each dearer and rarer than the one before (`tree/quality.py`):

- a SAMPLE of the leaves: have their sizes, or the proportions of their sides, changed since the tree was new? The more they change from
  sample to sample, the sooner the next one comes;
- a TRIAL, if they have changed by more than at any earlier trial: a new tree for a sample of the faces, and the leaves of the old one
  against it. A motion that comes and goes stays within what earlier trials have seen; there, trials come more and more seldom;
- a NEW TREE, if queries meet `REBUILD_RATIO` times as many volumes as in it, and have done so long enough to pay for it; at once or in the
  background. If the last one was degraded as soon as it was there, it waits longer and longer before the next.

What queries do is counted in leaves that they reach, in units of all leaves of the body. Where they reach few, a degraded tree costs
little. Rays come to a leaf again and again: if together they cost more than reaching all leaves once, they count as several frames of the
schedule. A tree that the user has chosen, by a key, is never looked at: only how volumes follow is decided.
"""
import os
from concurrent.futures import Future
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.jit import DISABLED
from pliant.core.soa import aligned_zeros
from pliant.core.threads import run_in_background
from pliant.refit import bottom_up, hybrid, lazy
from pliant.refit.policy import Policy, register_policy
from pliant.tree.quality import degradation, sample_quality, sampled_degradation, visited_share

LEAF_CHECK_INTERVAL = 8                                                 # frames between looks at what was reached
MIN_FACES, MIN_FACES_FITTED = 2048, 64                                  # faces below which a bottom-up pass costs less than deciding; where
                                                                        # volumes are worth a fit, one costs 0.5 µs, a box 0.01
BOTTOM_UP_ABOVE, BOTTOM_UP_UNTIL = 0.5, 0.35                            # of the leaves: bottom-up above, hybrid below
HYBRID_ABOVE, HYBRID_UNTIL = 0.15, 0.1                                  # hybrid above, lazy below
LEAF_SAMPLE = 256                                                       # leaves looked at

MIN_SAMPLE_INTERVAL, MAX_SAMPLE_INTERVAL = 4, 64                        # frames between samples
SAMPLE_CHANGE = 0.08                                                    # a sample should differ by so much from the one before (logarithm)
TEST_CHANGE, CLOSE_FACTOR = 0.15, 0.3                                   # ... and from all trials by so much: another; × NEAR, if close
FULL_TEST_CHANGE = 0.4                                                  # so much larger runs of leaves: try all of the body, not a sample
MIN_WAIT, MAX_WAIT = 64, 1024                                           # frames without trials, or new trees, that would be in vain
TEST_FACES = 1024, 3072                                                 # faces of a trial: a quarter, but no fewer or more than this
REBUILD_RATIO = 1.22                                                    # times as many volumes: build a new tree
# Before a trial and a new tree, so many leaves must have been reached, and reached in vain. A tree costs about as much as reaching all its
# leaves twice (20,480 faces: 4 ms, and 0.7 µs a leaf), a trial a fifth of it, but whoever waits for that has slow queries meanwhile.
TEST_COST, REBUILD_COST = 2, 0.5
WARM_UP_FACES = 512                                                     # triangles of a rehearsal
RAY_TESTS_PER_FACE = 32                                                 # tests of rays (2 to 3 ns) to a face of all leaves reached (90 ns)
EXPENSIVE_PACE = 16                                                     # a frame of rays that takes so long may have a tree of its own
PARTIAL_WEIGHT = 4                                                      # local updates of 1 / 4 of the vertices count as a frame


class Choice(NamedTuple):
    """What was chosen, when, and why."""
    update: int
    policy: str
    reason: str


class AutoState:
    """What `auto` remembers of one shape; times are in frames, or in what rays have cost where that is more."""

    def __init__(self):
        self.mode, self.log = "bottom_up", []
        self.frames, self.last_frame, self.n_moved = 0, -1, 0           # time so far, the last frame's stamp, vertices moved alone
        self.ray_tests, self.pace = 0, 1                                # what rays had cost then, and how long that frame took
        self.leaves_checked = 1 - LEAF_CHECK_INTERVAL                   # when leaves were last looked at
        self.pending_tree: Future | None = None                         # a tree, to be taken if the old one is `min_ratio` times as slow
        self.min_ratio, self.process = 0.0, 0                           # ... and who builds it
        self.initial_sample = self.degraded_sample = None               # samples: when the tree was new, when the one before was given up
        self.min_age = 0                                                # a tree must be so old before the next
        self.built_frame = self.next_sample = self.test_wait = self.next_test = 0

    def note(self, bvh, policy, reason):
        self.log.append(Choice(bvh.frame, policy, reason))

    def start_tree(self, sample):
        """The tree is new, and this is what it looks like."""
        self.built_frame, self.next_sample, self.test_wait, self.next_test = self.frames, self.frames + MIN_SAMPLE_INTERVAL, MIN_WAIT, 0
        self.initial_sample = self.last_sample = self.tested_sample = self.low = self.high = sample
        self.sampled_frame, self.runs, self.test_change = self.frames, sample.runs, TEST_CHANGE
        self.ratio, self.reached, self.wasted = 1.0, 0.0, 0.0           # of the last trial, leaves reached since, leaves reached in vain


def refit_bvh(bvh):
    """Look, choose, and let the choice follow. Once a frame: where no query has come to the root yet, the choice stands."""
    state = bvh.policy_state = bvh.policy_state or AutoState()
    new = state.last_frame != bvh.frame
    if new:
        state.pace = frame_pace(bvh, state)
        state.frames += state.pace - 1
    if new and not bvh.fixed:
        check_tree(bvh, state)
    if state.initial_sample is None:
        bottom_up.refit_bvh(bvh)
        state.start_tree(sample_quality(bvh.tree, bvh.points)[0])
        if not state.log:
            state.note(bvh, "bottom_up", "the first frame")
            if not DISABLED and not bvh.fixed:
                warm_up(bvh.options.builder)
    else:
        min_faces = MIN_FACES_FITTED if bvh.options.volume_type.loosened_by_merge else MIN_FACES
        if new and state.frames >= state.leaves_checked + LEAF_CHECK_INTERVAL and len(bvh.faces) >= min_faces:
            state.leaves_checked = state.frames
            choose_mode(bvh, state)
        if state.mode == "bottom_up":
            bottom_up.refit_bvh(bvh)
        else:
            (hybrid if state.mode == "hybrid" else lazy).refit_on_demand(bvh)
    state.frames, state.last_frame = state.frames + new, bvh.frame


def frame_pace(bvh, state):
    """How much time the last frame has taken."""
    ray_tests, state.ray_tests = bvh.ray_tests - state.ray_tests, bvh.ray_tests
    return max(1, ray_tests // (RAY_TESTS_PER_FACE * len(bvh.faces)))


def after_partial(bvh, n):
    """After n vertices have moved alone: look at the tree as often as if all had, now and then. A new one leaves the shape stale."""
    state = bvh.policy_state
    if state is None or state.initial_sample is None or bvh.fixed:
        return
    frames, state.n_moved = divmod(state.n_moved + PARTIAL_WEIGHT * n, len(bvh.points) // 4)
    if frames:
        state.frames += frames
        check_tree(bvh, state)


def share_reached(bvh, state):
    """The share of leaves that the queries of the last frame have reached."""
    return visited_share(bvh.leaves, state.last_frame, max(len(bvh.leaves) // LEAF_SAMPLE, 1))


def choose_mode(bvh, state):
    """How many leaves did queries reach?"""
    share, mode = share_reached(bvh, state), state.mode
    if share > (BOTTOM_UP_ABOVE if mode != "bottom_up" else BOTTOM_UP_UNTIL):
        state.mode = "bottom_up"
    elif share > (HYBRID_ABOVE if mode == "lazy" else HYBRID_UNTIL):
        state.mode = "hybrid"
    else:
        state.mode = "lazy"
    if state.mode != mode:
        state.note(bvh, state.mode, f"queries reached {share:.0%} of the leaves")


# --- is the tree degraded? -------------------------------------------------------------------------------------------------------------

def check_tree(bvh, state):
    """Take a tree from the background, or a sample, if it is time to, and build a test tree if that is called for."""
    if state.pending_tree is not None and state.process != os.getpid(): # a forked child: nobody is building here
        state.pending_tree = None
    if state.pending_tree is not None and state.pending_tree.done():
        adopt_built_tree(bvh, state)
    if state.frames < state.next_sample or state.initial_sample is None:
        return
    sample, box = sample_quality(bvh.tree, bvh.points)
    share, elapsed_frames = share_reached(bvh, state), state.frames - state.sampled_frame
    change = sample_difference(sample, state.last_sample)
    if state.degraded_sample is not None:
        judge_rebuild(state, sample)
    state.sampled_frame, state.last_sample, state.reached = state.frames, sample, state.reached + elapsed_frames * share
    missing = test_cost(bvh) - state.reached
    interval = elapsed_frames * min(SAMPLE_CHANGE / max(change, 1e-9), 2)  # no more than twice as far: degradation begins slowly
    state.next_sample = state.frames + int(min(max(interval, missing / max(share, 1e-3), MIN_SAMPLE_INTERVAL), MAX_SAMPLE_INTERVAL))
    old_enough = state.frames - state.built_frame >= state.min_age or state.pace >= EXPENSIVE_PACE
    if missing <= 0 and state.pending_tree is None and old_enough and needs_test(state, sample):
        test_build(bvh, state, sample, box, share)


def needs_test(state, sample):
    """Is this beyond what earlier trials have seen, or was the last one long ago?"""
    if state.ratio >= REBUILD_RATIO:                                    # degraded: it only has to pay for a new tree
        return state.frames >= state.next_test
    excess = max(max(s - high, low - s) for s, low, high in zip(sample, state.low, state.high, strict=True))
    return excess > state.test_change or (state.frames >= state.next_test
                                          and sample_difference(sample, state.tested_sample) > state.test_change)


def sample_difference(p, q):
    """By how much two samples differ at most."""
    return max(abs(a - b) for a, b in zip(p, q, strict=True))


def judge_rebuild(state, sample):
    """The first sample of a tree that replaced another: if half of the degradation is back, it was in vain."""
    degraded, state.degraded_sample = state.degraded_sample, None
    in_vain_rebuild = any(w - f > TEST_CHANGE and s - f > (w - f) / 2 for s, f,
                          w in zip(sample[:2], state.initial_sample[:2], degraded[:2], strict=True))
    state.min_age = min(max(2 * state.min_age, MIN_WAIT), MAX_WAIT) if in_vain_rebuild else 0


def test_face_count(bvh):
    """How many faces a trial takes."""
    n = len(bvh.faces)
    some = min(max(n // 4, TEST_FACES[0]), TEST_FACES[1])
    return some if n > 2 * some else n


def test_cost(bvh):
    """How many leaves queries must have reached since the last trial: as its cost, it goes by the share of faces."""
    return TEST_COST * min(4 * test_face_count(bvh) / len(bvh.faces), 1)


def test_build(bvh, state, sample, box, share):
    """Try a new tree, or a part of it, and take it if it is worth it."""
    tree, ratio, faces, points, some = None, None, bvh.faces, bvh.points, test_face_count(bvh)
    in_background, small = bvh.options.settings["background"], some == len(faces)
    if not small and sample.runs - state.runs < FULL_TEST_CHANGE:
        ratio = sampled_degradation(bvh.tree, lambda chosen: build_part(bvh, chosen), faces, points, box, some)
    if ratio is None:
        state.runs = sample.runs
        if in_background and not small:
            start_background_build(bvh, state, REBUILD_RATIO, "leaves have changed")
            return
        tree = bvh.build()
        ratio = degradation(bvh.tree, tree, points)
    state.wasted += state.reached * (wasted_share(state.ratio) + wasted_share(ratio)) / 2
    state.ratio, state.reached = ratio, 0.0
    reason = f"queries meet {ratio:.2f} times as many volumes as in a new tree"
    if ratio < REBUILD_RATIO or (tree is None and state.wasted < REBUILD_COST):  # a whole tree is paid for
        keep_tree(state, sample, share)
        state.note(bvh, state.mode, f"{reason}{'' if ratio < REBUILD_RATIO else ', but few'}: the old one stays")
        return
    reason += f", after {state.frames - state.built_frame} frames"
    if in_background:
        start_background_build(bvh, state, 0, reason)
    else:
        state.note(bvh, "rebuild", reason)
        replace_tree(bvh, state, tree or bvh.build())


def wasted_share(ratio):
    """The share of leaves that a query would not reach in a new tree."""
    return 1 - 1 / max(ratio, 1)


def keep_tree(state, sample, share):
    """The old tree stays: when shall we try again? When it has paid for a new one, if that is better; sooner, if it was close."""
    state.tested_sample, state.test_change = sample, TEST_CHANGE * min(
        max((REBUILD_RATIO - state.ratio) / (REBUILD_RATIO - 1), CLOSE_FACTOR), 1)
    state.low, state.high = type(sample)(*map(min, sample, state.low)), type(sample)(*map(max, sample, state.high))
    if state.ratio < REBUILD_RATIO:
        state.next_test, state.test_wait = state.frames + state.test_wait, min(2 * state.test_wait, MAX_WAIT)
    else:
        state.next_test = state.frames + int(min((REBUILD_COST - state.wasted) / max(share * wasted_share(state.ratio), 1e-9), MAX_WAIT))


def build_part(bvh, faces):
    """A tree for some of the faces."""
    options = bvh.options
    return options.builder.build(bvh.points.reshape(-1, 4), faces, options.arity, options.leaf)


def replace_tree(bvh, state, tree):
    """Plant another tree. It is new, whatever interrupts this."""
    state.degraded_sample, state.initial_sample = state.last_sample, None
    bvh.set_tree(tree)


def start_background_build(bvh, state, min_ratio, reason):
    """Build a tree in the background, from where the points are."""
    points, state.reached = bvh.points.copy(), 0.0
    state.pending_tree, state.min_ratio, state.process = run_in_background(lambda: bvh.build(points)), min_ratio, os.getpid()
    state.note(bvh, state.mode, reason + ": another tree is being built")


def adopt_built_tree(bvh, state):
    """Take the tree that was built in the background; one that nobody has tried only if it is better. If not, it may have come too late."""
    building, state.pending_tree = state.pending_tree, None
    state.ratio, state.next_test, state.test_wait = REBUILD_RATIO, state.frames + state.test_wait, min(2 * state.test_wait, MAX_WAIT)
    tree = building.result()                                            # may fail: then, too, the next one has time
    ratio = degradation(bvh.tree, tree, bvh.points) if state.min_ratio else REBUILD_RATIO
    if ratio >= state.min_ratio:
        replace_tree(bvh, state, tree)
        state.note(bvh, "rebuild", "the tree built in the background is ready")
    else:
        state.note(bvh, state.mode, f"queries meet {ratio:.2f} times as many volumes as in the tree that is ready: the old one stays")


@cache
def warm_up(builder):
    """Do once what is done now and then, on a strip of triangles, so that it is compiled: no later frame should wait for that. 10 ms if it
    was compiled before."""
    faces, along = np.arange(WARM_UP_FACES)[:, None] + np.arange(3), np.arange(WARM_UP_FACES + 2)
    points, faces = aligned_zeros(4 * len(along), np.float32), faces.astype(np.int32)
    points.reshape(-1, 4)[:, 0], points.reshape(-1, 4)[:, 1] = along // 2, along % 2

    def build_strip(chosen):
        return builder.build(points.reshape(-1, 4), chosen, 8, 8)
    tree = build_strip(faces)
    sampled_degradation(tree, build_strip, faces, points, sample_quality(tree, points)[1], WARM_UP_FACES // 2)
    degradation(tree, tree, points)


register_policy(Policy("auto", refit_bvh, {"background": (False, validate.flag)}, after_partial))
