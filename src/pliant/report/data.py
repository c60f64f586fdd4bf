"""What a report tells: plain values, so that whoever has an animation and its collisions can have one (`pliant check`, `pliant demo`).

Snapshots are an iterable, taken one at a time: a report of any length is written in memory for a few frames. All else is read again after
the last of them, so that whoever looks for collisions while snapshots are taken may fill in lists and arrays on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]
Indices = NDArray[np.int32]


class Hierarchy(NamedTuple):
    """Who is under whom in a body's tree: volume v of level l encloses the faces order[levels[l][v, 0]:levels[l][v, 1]]."""

    order: Indices  # (f,) faces, so that every volume has a range of them
    levels: Sequence[Indices]  # (v, 2) ranges each, from the root down; level 0 is the whole body


class ReportBody(NamedTuple):
    """A body of the report."""

    name: str
    kind: str  # how it moves: "free", "rigid", "morph", "blended", "soup"
    hierarchy: Hierarchy | None = None


class Snapshot(NamedTuple):
    """A frame as it is drawn."""

    frame: int
    meshes: Sequence[tuple[Floats, Indices]]  # (vertices (n, 3), faces (f, 3)) of each body; the very same faces while they do not change
    marked: Sequence[Indices]  # of each body: the faces that meet something, sorted, each once


class Contact(NamedTuple):
    """Two bodies in a frame, or one that meets itself: a row of the table."""

    frame: int
    first: int  # bodies, by their place
    second: int
    pairs: int  # of faces
    centre: tuple[float, float, float]  # of what meets
    radius: float  # around it


class ReportData(NamedTuple):
    """All that a report tells."""

    title: str
    facts: Sequence[tuple[str, str]]  # name and value, for the head of the page
    notes: Sequence[str]  # sentences
    bodies: Sequence[ReportBody]
    frames: Indices  # (k,) numbers of the frames that were looked at, rising
    counts: Mapping[str, NDArray[np.int64]]  # by name (k,): pairs of faces in each of them, parts of a sum: "between bodies", …
    contacts: Sequence[Contact]  # the worst first, for the table
    snapshots: Iterable[Snapshot]  # of some or all of these frames, rising
    rate: float = 30.0  # frames a second
    up: str = ""  # "x", "y", "z"; empty: not known
    unit: str = ""
    body_pairs: NDArray[np.int64] | None = None  # (l, 3) frame, body, pairs in which it takes part; None: what the meetings add up to
    omitted_contacts: int = 0  # meetings beside these
