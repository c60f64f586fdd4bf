"""Pairs of features within a tolerance: vertices and faces, edges and edges, of two bodies or of one with itself.

What barriers, penalties and offset contacts are made of: `within` names one nearest point for each pair of faces, and hides the others. The
traversal and the owners of features are those of continuous collision (`query/continuous/`), with bodies that stand still; distances are
measured in float64 (`geometry/feature_distance.py`), and decide.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.core.sorting import sorting_order
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentTypeError
from pliant.geometry.feature_distance import feature_distance_entry
from pliant.query.continuous.ends import end_vertices, moving
from pliant.query.continuous.measure import measure, owners
from pliant.query.continuous.search import NO_EXCLUSIONS, FeatureRows, search_features
from pliant.query.scheduler import workspace
from pliant.query.target import QueryBody
from pliant.results import FeaturePairs
from pliant.tree.features import vertices_within_rings

MAX_RINGS = 1 << 10
MAX_KEY_BITS = 60


def check_exclusions(a: QueryBody, b: QueryBody | None, rest: Any, rest_distance: float | None, rings: int,
                     tolerance: float) -> tuple[Any, float, int]:
    """(flat rest vertices of both bodies or None, rest distance, rings), validated."""
    checked_rings = validate.integer("rings", rings, range(MAX_RINGS))
    if rest is None:
        if rest_distance is not None:
            raise ArgumentTypeError("rest_distance: given without rest, the state at rest; expected both")
        return None, 0.0, checked_rings
    distance = tolerance if rest_distance is None else validate.number("rest_distance", rest_distance, 0.0)
    if b is None:
        flat = end_vertices("rest", a, rest)
        return (flat, flat), distance, checked_rings
    if not (isinstance(rest, (tuple, list)) and len(rest) == 2):
        raise ArgumentTypeError(f"rest: expected a state of each of the two bodies, (rest_a, rest_b), got {type(rest).__name__}")
    flats = [end_vertices(f"rest[{k}]", body, state) for k, (body, state) in enumerate(zip((a, b), rest, strict=True))]
    return flats, distance, checked_rings


def near_features(a: QueryBody, b: QueryBody | None, tolerance: float, rest: Any = None, rest_distance: float | None = None,
                  rings: int = 0) -> FeaturePairs:
    """The FeaturePairs of two bodies, or of one with itself where b is None; bodies and the tolerance are checked."""
    flats, distance, n_rings = check_exclusions(a, b, rest, rest_distance, rings, tolerance)
    with workspace() as space, ReadLock(*((a._guard,) if b is None else (a._guard, b._guard))):
        moving_a = moving(a, None)
        moving_b = None if b is None else moving(b, None)
        exclusions = NO_EXCLUSIONS
        if flats is not None:
            starts = moving_a.start, (moving_a if moving_b is None else moving_b).start
            exclusions = exclusions._replace(rest_a=starts[0] if flats[0] is None else flats[0],
                                             rest_b=starts[1] if flats[1] is None else flats[1])
        if n_rings:
            begins, neighbors = vertices_within_rings(a._mesh_features().edges, len(moving_a.start) // 3, n_rings)
            exclusions = exclusions._replace(begins=begins, neighbors=neighbors)
        in_range = all(body._world_vertices()[1] for body in (a, b) if body is not None)
        found = search_features(space, moving_a, moving_b, tolerance, feature_distance_entry(), near=True, exclusions=exclusions,
                                in_filter_range=in_range, rest_distance=distance)
        return feature_pairs(found, a, a if b is None else b)


def order_of_pairs(found: FeatureRows) -> NDArray[np.int32]:
    """The order of rows by kind and features."""
    kinds, features = found.kinds, found.features
    if not len(kinds):
        return np.zeros(0, np.int32)
    bits = [int(column.max()).bit_length() for column in features.T]
    if sum(bits) > MAX_KEY_BITS:
        return np.lexsort((features[:, 1], features[:, 0], kinds)).astype(np.int32)
    keys = (kinds.astype(np.int64) << bits[0] | features[:, 0]) << bits[1] | features[:, 1]
    return np.asarray(sorting_order(keys, sum(bits) + 2))


def feature_pairs(found: FeatureRows, a: QueryBody, b: QueryBody) -> FeaturePairs:
    """What the user gets of these rows: sorted, with all fields."""
    order = order_of_pairs(found)
    kinds, features = found.kinds[order], found.features[order]
    measured = measure(kinds, features, found.sides, np.zeros(len(kinds)))
    return FeaturePairs(kinds=kinds, features=features, distances=found.values[order], points=measured.points, weights=measured.weights,
                        normals=measured.normals, closest=measured.closest, vertices=measured.vertices,
                        faces=owners(kinds, features, a._mesh_features(), b._mesh_features()), stats=found.stats,
                        n_vertices=(a._motion.count, b._motion.count), is_self=a is b)
