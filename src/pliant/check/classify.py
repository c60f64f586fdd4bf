"""What each pair of a frame counts as: new, static, known, shallow, near, or two bodies of which one encloses the other; and what is only
between frames.

    new        intersects, and is none of the following: these are the collisions
    static     intersects in every checked frame, where there is no baseline
    known      is in the baseline
    shallow    intersects less deep than `min_depth`
    near       does not intersect, but is within the tolerance
    enclosed   no pair of faces at all: one body is inside another (rows `enclosed` of the journal); it may be static or known as well
    between frames   touches on the way from a frame to the next, and no frame shows it (`between_frames.py`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.check.depth import NO_DEPTH
from pliant.check.journal import ArrayDict, Journal
from pliant.check.pair_keys import Keys, contains, pair_keys, row_changes

NEW, STATIC, KNOWN, SHALLOW, NEAR, ENCLOSED, BETWEEN = range(7)
STATES = ("new", "static", "known", "shallow", "near", "enclosed", "between frames")  # by number
COLLISIONS = (NEW, ENCLOSED)  # states of frames that count


class Group(NamedTuple):
    """The pairs of two bodies in a frame that are in one state.

    first, second : body indices, the lower one first; of bodies that do not intersect, the inner one first
    state : a number, see STATES
    pairs : how many pairs of faces; 0: the first body is inside the second
    depth, kind : the largest depth, and how it was found, see `depth.py`
    distance : the smallest distance, of near pairs; else 0
    """

    first: int
    second: int
    state: int
    pairs: int
    depth: float
    kind: int
    distance: float


class Classifier:
    """Classifies the rows of a journal.

    offsets : see `pair_keys`
    static, known : ascending keys
    has_baseline : static pairs that are not known are new
    enclosures : (outer, inner) bodies that are static or known, and which of these
    """

    def __init__(self, offsets: Keys, static: Keys, known: Keys, has_baseline: bool,
                 enclosures: Mapping[tuple[int, int], int] | None = None) -> None:
        self.offsets, self.static, self.known = offsets, np.zeros(0, np.int64) if has_baseline else static, known
        self.enclosures = enclosures or {}

    def states(self, rows: ArrayDict) -> NDArray[np.uint8]:
        """(m,): the state of each pair of a frame; as stored with its depths, or as far as it is known before these."""
        if "state" in rows:
            return np.asarray(rows["state"], np.uint8)
        bodies, faces = rows["bodies"], rows["faces"]
        states = np.full(len(faces), NEW, np.uint8)
        if len(self.static) or len(self.known):
            unkeyed = is_unkeyed(rows)
            with_keys = ~unkeyed if unkeyed.any() else slice(None)  # a view: frames have many pairs
            keys = pair_keys(self.offsets, bodies[with_keys], faces[with_keys])
            found = np.where(contains(self.static, keys), STATIC, NEW).astype(np.uint8)
            found[contains(self.known, keys)] = KNOWN
            states[with_keys] = found
        if "distance" in rows:
            states[rows["distance"] > 0] = NEAR
        return states

    def groups(self, rows: ArrayDict, states: NDArray[np.uint8]) -> Iterator[Group]:
        """The groups of a frame, sorted by bodies and states."""
        bodies = rows["bodies"]
        if len(bodies):
            contact = np.concatenate([[0], np.cumsum(row_changes(bodies))])
            keys, first, which, counts = np.unique(contact * len(STATES) + states, True, True, True)
            all_depths, all_kinds = pair_depths(rows)
            order = np.lexsort((-all_depths, which))  # the first of each group is its deepest, and of equal ones the first
            deepest = order[np.concatenate([[0], np.cumsum(counts)[:-1]])]
            distances = np.zeros(len(keys))
            if "distance" in rows:
                distances[:] = np.inf
                np.minimum.at(distances, which, rows["distance"])
            columns = (*bodies[first].T.tolist(), (keys % len(STATES)).tolist(), counts.tolist(),
                       all_depths[deepest].tolist(), all_kinds[deepest].tolist(), distances.tolist())  # fmt: skip
            yield from map(Group, *columns)
        for outer, inner in rows["enclosed"].tolist():
            yield Group(inner, outer, self.enclosures.get((outer, inner), ENCLOSED), 0, 0.0, NO_DEPTH, 0.0)


def event_pairs(event: dict[str, Any], rows: ArrayDict, classifier: Classifier) -> NDArray[np.bool_]:
    """(m,): the pairs of a frame that belong to an event of the summary."""
    found = (rows["bodies"] == event["bodies"]).all(axis=1)
    return np.asarray(found & (classifier.states(rows) == STATES.index(event["state"]))) if found.any() else found


def pair_depths(rows: ArrayDict) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """(depths, kinds) of all pairs of a frame; zeros, where they were not measured."""
    depths, kinds = np.zeros(len(rows["faces"]), np.float32), np.full(len(rows["faces"]), NO_DEPTH, np.uint8)
    if "measured" in rows:
        depths[rows["measured"]], kinds[rows["measured"]] = rows["depth"], rows["depth_kind"]
    return depths, kinds


def is_unkeyed(rows: ArrayDict) -> NDArray[np.bool_]:
    """(m,): pairs of bodies that have other faces than in the first frame; they have no keys."""
    changed = rows["changed"]
    return np.asarray(np.isin(rows["bodies"], changed).any(axis=1)) if len(changed) else np.zeros(len(rows["bodies"]), bool)


def touching_keys(offsets: Keys, journal: Journal, frame: int) -> tuple[Keys, NDArray[np.int32], NDArray[np.int32]]:
    """Of the intersecting pairs of a frame: ascending keys, and (bodies, faces) of those that have none."""
    rows = journal.pairs(frame)
    bodies, faces, unkeyed = rows["bodies"], rows["faces"], is_unkeyed(rows)
    if "distance" in rows:
        touching = rows["distance"] == 0
        bodies, faces, unkeyed = bodies[touching], faces[touching], unkeyed[touching]
    if not unkeyed.any():
        return np.sort(pair_keys(offsets, bodies, faces)), bodies[:0], faces[:0]
    return np.sort(pair_keys(offsets, bodies[~unkeyed], faces[~unkeyed])), bodies[unkeyed], faces[unkeyed]
