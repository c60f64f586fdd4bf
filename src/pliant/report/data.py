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
    """The BVH of a body: volume v of level l encloses the faces order[levels[l][v, 0]:levels[l][v, 1]].

    order : (f,) int32 faces, in an order in which every volume has a range of them
    levels : (v, 2) int32 ranges for each level, from the root, level 0, down
    """

    order: Indices
    levels: Sequence[Indices]


class ReportBody(NamedTuple):
    """A body of the report.

    name : any text; the page shows it as text, never as markup
    kind : how it moves: "free", "rigid", "morph", "blended", "soup"
    hierarchy : its BVH, of `pliant.report.hierarchy.hierarchy_of`, or None
    """

    name: str
    kind: str
    hierarchy: Hierarchy | None = None


class Snapshot(NamedTuple):
    """A frame of the 3D view.

    frame : its number
    meshes : (vertices (n, 3), faces (f, 3)) of each body; the same array object of faces as long as they do not change
    marked : the intersecting faces of each body, sorted, each once
    """

    frame: int
    meshes: Sequence[tuple[Floats, Indices]]
    marked: Sequence[Indices]


class Contact(NamedTuple):
    """Two intersecting bodies in a frame, or a self-collision: a row of the table.

    frame : its number
    first, second : indices of the bodies
    pairs : the number of pairs of intersecting faces
    centre : the center of the intersecting faces
    radius : their largest distance from it
    """

    frame: int
    first: int
    second: int
    pairs: int
    centre: tuple[float, float, float]
    radius: float


class ReportData(NamedTuple):
    """The content of a report.

    title : of the page
    facts : (name, value) pairs of texts, for the head of the page
    notes : sentences below them
    bodies : a `ReportBody` each
    frames : (k,) int32 numbers of the checked frames, ascending
    counts : {name: (k,) int64}: pairs of faces in each frame, as parts of a sum, such as "between bodies"
    contacts : rows of the table, most pairs first
    snapshots : an iterable of some or all of these frames, ascending
    rate : frames per second
    up : the axis that points up, "x", "y" or "z"; empty if unknown
    unit : of lengths; empty if unknown
    body_pairs : (l, 3) int64: frame, body, pairs of faces in which it takes part; None: the sums of the contacts
    omitted_contacts : the number of contacts that are not in the list
    """

    title: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    bodies: Sequence[ReportBody]
    frames: Indices
    counts: Mapping[str, NDArray[np.int64]]
    contacts: Sequence[Contact]
    snapshots: Iterable[Snapshot]
    rate: float = 30.0
    up: str = ""
    unit: str = ""
    body_pairs: NDArray[np.int64] | None = None
    omitted_contacts: int = 0
