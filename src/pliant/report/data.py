"""The content of a report as plain values, so that any program with an animation and its collisions can write one (`pliant check`,
`pliant demo`).

Snapshots are an iterable, taken one at a time: writing a report of any length takes memory for a few frames. All other fields are read
after the last snapshot, so that a caller who computes collisions while snapshots are taken may fill in lists and arrays on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]
Indices = NDArray[np.int32]


class Hierarchy(NamedTuple):
    """The BVH of a body: volume v of level l encloses the faces order[levels[l][v, 0]:levels[l][v, 1]]."""

    order: Indices  # (f,) faces, so that every volume has a range of them
    levels: Sequence[Indices]  # (v, 2) ranges each, from the root down; level 0 is the root


class ReportBody(NamedTuple):
    """A body of the report."""

    name: str
    kind: str  # how it moves: "free", "rigid", "morph", "blended", "soup"
    hierarchy: Hierarchy | None = None


class Snapshot(NamedTuple):
    """A drawn frame."""

    frame: int
    meshes: Sequence[tuple[Floats, Indices]]  # of each body: (vertices (n, 3), faces (f, 3)); the same faces array while unchanged
    marked: Sequence[Indices]  # of each body: the faces that intersect something, sorted, each once


class Contact(NamedTuple):
    """Two intersecting bodies in a frame, or a self-collision: a row of the table."""

    frame: int
    first: int  # body indices
    second: int
    pairs: int  # of faces
    centre: tuple[float, float, float]  # center of the intersecting faces
    radius: float  # radius around it


class ReportData(NamedTuple):
    """The content of a report."""

    title: str
    facts: Sequence[tuple[str, str]]  # name and value, for the head of the page
    notes: Sequence[str]  # sentences
    bodies: Sequence[ReportBody]
    frames: Indices  # (k,) numbers of the checked frames, ascending
    counts: Mapping[str, NDArray[np.int64]]  # by name (k,): pairs of faces in each of them, parts of a sum: "between bodies", …
    contacts: Sequence[Contact]  # most pairs first, for the table
    snapshots: Iterable[Snapshot]  # of some or all of these frames, ascending
    rate: float = 30.0  # frames a second
    up: str = ""  # "x", "y", "z"; empty: unknown
    unit: str = ""
    body_pairs: NDArray[np.int64] | None = None  # (l, 3) frame, body, pairs in which it takes part; None: the sums of the contacts
    omitted_contacts: int = 0  # contacts that are not in the list
