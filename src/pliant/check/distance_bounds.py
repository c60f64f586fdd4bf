"""Upper bounds on how far vertices of one body are from another, from those of the frame before.

No distance changes where two bodies move together. The rigid motion of the second body is fitted to its vertices; what the fit leaves of
each vertex is its slip. So a vertex of the first body is now at most as far from the second as it was, plus its own slip by that motion,
plus the largest slip of the second body. Clothes on a body, or parts of a machine that do not move against each other, slip little.

Memory: the vertices of one frame, and the bounds of what was measured in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
ROUNDING = 1e-11  # of the largest coordinate: more than distances and fitted motions are rounded


class DistanceBounds:
    """Bounds on distances between bodies of one list, frame after frame; `begin` is called with each frame."""

    def __init__(self) -> None:
        self._bodies: Sequence[Body] = ()
        self._last, self._now = dict[int, tuple[Body, Floats]](), dict[int, tuple[Body, Floats]]()  # vertices, by body
        self._last_bounds, self._bounds = (dict[tuple[int, int], tuple[Indices, Floats]]() for _ in range(2))  # vertices, distances
        self._fits: dict[int, tuple[Floats, Floats, Floats, float] | None] = {}

    def begin(self, bodies: Sequence[Body]) -> None:
        """The bodies are in another frame now."""
        self._bodies, self._last, self._last_bounds = bodies, self._now, self._bounds
        self._now, self._bounds, self._fits = {}, {}, {}

    def vertices(self, body: int) -> Floats:
        """(n, 3): the vertices of a body in this frame."""
        if body not in self._now:
            self._now[body] = self._bodies[body], self._bodies[body].vertices
        return self._now[body][1]

    def bounds(self, one: int, other: int) -> Floats:
        """(n,): how far each vertex of a body is from another one, at most; inf where nothing is known."""
        vertices = self.vertices(one)
        found = np.full(len(vertices), np.inf)
        known, before = self._last_bounds.get((one, other)), self._last.get(one)
        if known is None or before is None or before[0] is not self._bodies[one] or (fit := self._fit(other)) is None:
            return found
        (which, distances), (center, rotation, target, slip) = known, fit
        with np.errstate(all="ignore"):
            moved = (before[1][which] - center) @ rotation + target
            found[which] = distances + lengths_of(vertices[which] - moved) + slip + rounding(vertices, moved)
        found[np.isnan(found)] = np.inf
        return found

    def keep(self, one: int, other: int, bounds: Floats) -> None:
        """Take the distances of all vertices in this frame, or bounds on them; inf of those of which nothing is known."""
        which = np.flatnonzero(bounds < np.inf)
        self._bounds[one, other] = which, bounds[which]

    def _fit(self, body: int) -> tuple[Floats, Floats, Floats, float] | None:
        """(center, rotation, target, slip) of the motion x → (x − center) rotation + target since the last frame, and how far a vertex of
        the body is from where that puts it, at most; None if nothing is known."""
        if body not in self._fits:
            before = self._last.get(body)
            same = before is not None and before[0] is self._bodies[body]
            self._fits[body] = fit_motion(before[1], self.vertices(body)) if before is not None and same else None
        return self._fits[body]


def fit_motion(before: Floats, after: Floats) -> tuple[Floats, Floats, Floats, float] | None:
    """(center, rotation, target, slip): the isometry that carries some points (n, 3) closest to others, by least squares (Kabsch 1976), and
    the largest distance that remains; None if there is none."""
    if not len(before):
        return None
    with np.errstate(all="ignore"):
        weights = np.full(len(before), 1 / len(before))
        center, target = weights @ before, weights @ after
        spread = (before - center).T @ (after - target)
        if not np.isfinite(spread).all():
            return None
        left, _, right = np.linalg.svd(spread)
        rotation = left @ right
        slip = float(lengths_of((before - center) @ rotation + target - after).max()) + rounding(before, after)
    return center, rotation, target, slip


def lengths_of(rows: Floats) -> Floats:
    """(n,): the lengths of rows (n, 3); as a product, which is three times as fast as sums along short rows."""
    found: Floats = np.sqrt(np.square(rows) @ np.ones(3))
    return found


def rounding(*points: Floats) -> float:
    """More than distances between such points are rounded."""
    return ROUNDING * float(max(np.abs(rows).max(initial=0.0) for rows in points))
