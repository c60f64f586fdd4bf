"""The content of a report as plain values, so that any program with an animation and its collisions can write one (`pliant check`,
`pliant demo`).

Snapshots are an iterable, taken one at a time: writing a report of any length takes memory for a few frames. All other fields are read
after the last snapshot, so that a caller who computes collisions while snapshots are taken may fill in lists and arrays on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
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
    materials : the names of its materials, or None
    material_of_face : (f,) int32 the material of each face, −1 for none; or None
    polygon_of_face : (f,) int32 the polygon of the file that each triangle is part of; or None
    bones : the names of its bones, or None
    bone_of_face : (f,) int32 the bone that carries each face most, −1 for none; or None
    """

    name: str
    kind: str
    hierarchy: Hierarchy | None = None
    materials: Sequence[str] | None = None
    material_of_face: Indices | None = None
    polygon_of_face: Indices | None = None
    bones: Sequence[str] | None = None
    bone_of_face: Indices | None = None


class Snapshot(NamedTuple):
    """A frame of the 3D view.

    frame : its number
    meshes : (vertices (n, 3), faces (f, 3)) of each body; the same array object of faces as long as they do not change
    marked : the intersecting faces of each body, sorted, each once
    near : likewise those that are near another; empty: none
    quiet : likewise those whose intersections are known, static or shallow; empty: none
    """

    frame: int
    meshes: Sequence[tuple[Floats, Indices]]
    marked: Sequence[Indices]
    near: Sequence[Indices] = ()
    quiet: Sequence[Indices] = ()


class Contact(NamedTuple):
    """Two intersecting bodies in a frame, or a self-collision: a row of the table.

    frame : its number
    first, second : indices of the bodies
    pairs : the number of pairs of intersecting faces
    centre : the center of the intersecting faces
    radius : their largest distance from it
    depth : how deep the bodies are in each other; 0 if unknown
    depth_kind : how it was found: "inside", "through", "at least"; "none" if unknown
    """

    frame: int
    first: int
    second: int
    pairs: int
    centre: tuple[float, float, float]
    radius: float
    depth: float = 0.0
    depth_kind: str = "none"


class ReportEvent(NamedTuple):
    """What two bodies do over consecutive frames: a row of the table of events.

    first, second : indices of the bodies
    kind : "touching", "near" or "enclosed"
    state : "new", "static", "known", "shallow", "near", "enclosed" or "between frames"; only "new", "enclosed" and "between frames"
        are collisions
    title : the bodies, for people
    begin, end : the first and the last frame
    frames : these, for people
    worst_frame : where it is deepest, or nearest
    depth : there, for people
    pairs : pairs of faces there
    centre, radius : the place to look at there
    time : when the bodies meet, in frames, if no frame shows it: the view shows positions between the frames `before` and `after`
    marked : the faces of both bodies that meet then
    """

    first: int
    second: int
    kind: str
    state: str
    title: str
    begin: int
    end: int
    frames: str
    worst_frame: int
    depth: str
    pairs: int
    centre: tuple[float, float, float]
    radius: float
    time: float | None = None
    before: int = 0
    after: int = 0
    marked: Sequence[Sequence[int]] = ()


class Verdict(NamedTuple):
    """The banner of a report.

    kind : "collisions", "known", "near" or "clean": its color
    title : the verdict
    notes : sentences below it: what counts, what does not
    """

    kind: str
    title: str
    notes: Sequence[str] = ()


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
    quiet_counts : like `counts`, of pairs that do not count, such as those of every frame; shown paler
    verdict : the banner; None: no banner
    events : rows of the table of events, the worst first; the page opens on the first, if it is a collision. Empty: the table of contacts
        is shown instead
    omitted_events : the number of events that are not in the list
    frame_labels : what people call these frames; None: their numbers
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
    quiet_counts: Mapping[str, NDArray[np.int64]] = MappingProxyType({})
    verdict: Verdict | None = None
    events: Sequence[ReportEvent] = ()
    omitted_events: int = 0
    frame_labels: Sequence[str] | None = None
