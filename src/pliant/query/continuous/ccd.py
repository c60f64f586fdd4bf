"""Continuous collision of bodies: which features touch while every vertex moves on a straight line to another state, and when first."""
from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core import validate
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError
from pliant.query.continuous.ends import end_vertices, moving
from pliant.query.continuous.entries import moving_pair_entry
from pliant.query.continuous.measure import measure, owners
from pliant.query.continuous.search import FeatureRows, search_features
from pliant.query.continuous.swept_tree import MovingBody
from pliant.query.scheduler import Workspace, workspace
from pliant.query.target import QueryBody, check_body
from pliant.results import Impacts
from pliant.typing import BodyEnd


def ccd(a: QueryBody, b: QueryBody, end_a: BodyEnd, end_b: BodyEnd, *, first: bool = False, min_distance: float = 0.0) -> Impacts:
    """All pairs of features of two bodies, a vertex and a face or two edges, that touch while the bodies move from their present states to
    others, and when first: exact for every finite input. The bodies stay as they are.

    Parameters
    ----------
    a, b : the bodies. Every vertex moves on a straight line, also those of rigid, morphing and blended bodies
    end_a, end_b : the states at the end, what `update` takes; a tuple (state, transform); None for a body that does not move
    first : only the earliest impact, and those at the same time
    min_distance : also pairs that come within this distance: none is missed, and false alarms are only pairs that are farther apart by
        less than 1e-9 of it and of the extent of the query

    Times are from 0 to 1, not later than the first contact and at most 2**-40 before it: 0 if the features touch at the start, or that
    soon. Bodies that intersect at the start need not have features that touch: `collide` finds them.

    >>> import pliant as pl
    >>> floor = pl.Body([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
    >>> tip = pl.Body([[1, 1, 1], [1, 1, 2], [2, 1, 2]], [[0, 1, 2]])
    >>> impacts = pl.ccd(floor, tip, None, tip.vertices - [0, 0, 4])
    >>> impacts.kinds.tolist(), impacts.features.tolist(), impacts.times.round(9).tolist()
    ([1, 1, 1], [[0, 0], [0, 1], [0, 2]], [0.25, 0.5, 0.5])
    >>> len(pl.ccd(floor, tip, None, tip.vertices - [0, 0, 4], first=True))
    1
    """
    first, min_distance = validate.flag("first", first), validate.number("min_distance", min_distance, 0.0)
    check_two("ccd", a, b)
    ends = end_vertices("end_a", a, end_a), end_vertices("end_b", b, end_b)
    with workspace() as space, ReadLock(a._guard, b._guard):
        return impacts_of(space, moving(a, ends[0]), moving(b, ends[1]), first, min_distance)


def self_ccd(body: QueryBody, end: BodyEnd, *, first: bool = False, min_distance: float = 0.0) -> Impacts:
    """All pairs of features of one body that touch while it moves from its present state to another, and when first. Features that share
    a vertex are no pair.

    Parameters
    ----------
    body : the body, which stays as it is. Every vertex moves on a straight line
    end, first, min_distance : as for `ccd`

    Kinds are 0, a vertex and a face, and 2, two edges, the lower one first.

    >>> import numpy as np, pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, 1], [2, 1, 2], [1, 2, 3]], [[0, 1, 2], [3, 4, 5]])
    >>> lowered = stack.vertices - np.repeat([[0, 0, 0], [0, 0, 4]], 3, axis=0)
    >>> impacts = pl.self_ccd(stack, lowered)
    >>> impacts.features.tolist(), impacts.times.round(9).tolist()
    ([[3, 0], [4, 0], [5, 0]], [0.25, 0.5, 0.75])
    """
    first, min_distance = validate.flag("first", first), validate.number("min_distance", min_distance, 0.0)
    check_body("body", body)
    end_rows = end_vertices("end", body, end)
    with workspace() as space, ReadLock(body._guard):
        return impacts_of(space, moving(body, end_rows), None, first, min_distance)


def check_two(query: str, a: Any, b: Any) -> None:
    """Refuse what are not two bodies."""
    check_body("a", a)
    check_body("b", b)
    if a is b:
        raise ArgumentError(f"{query}: a and b are the same body; self_{query}(body, end) is for one")


def impacts_of(space: Workspace, a: MovingBody, b: MovingBody | None, first: bool, min_distance: float) -> Impacts:
    """The Impacts of two moving bodies, whose locks are held, or of one."""
    found = search_features(space, a, b, min_distance, moving_pair_entry(), first=first)
    return make_impacts(found, a.body, (a if b is None else b).body, first)


def make_impacts(found: FeatureRows, a: QueryBody, b: QueryBody, first: bool) -> Impacts:
    """What the user gets of these rows: sorted, with all fields."""
    rows = np.flatnonzero(found.values == found.values.min(initial=np.inf)) if first else np.arange(len(found.values))
    order = rows[np.lexsort((found.features[rows, 1], found.features[rows, 0], found.kinds[rows], found.values[rows]))]
    kinds, features, times = found.kinds[order], found.features[order], found.values[order]
    measured = measure(kinds, features, found.sides, times)
    return Impacts(kinds=kinds, features=features, times=times, weights=measured.weights, normals=measured.normals,
                   closest=measured.closest, vertices=measured.vertices,
                   faces=owners(kinds, features, a._mesh_features(), b._mesh_features()),
                   stats=found.stats, n_vertices=(a._motion.count, b._motion.count), is_self=a is b)
