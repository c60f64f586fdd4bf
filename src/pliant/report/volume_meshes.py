"""Volumes of a tree as meshes, to look at: what a level of a hierarchy encloses.

Whatever the family, a volume is seen from its middle: rays go out in all directions, and where they leave it (`pierce`) is its outline.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.core.soa import lane
from pliant.core.threads import Reading
from pliant.refit.policy import POLICIES, Shape
from pliant.shapes import icosphere
from pliant.volume.protocol import Ray, middle, pierce

STRETCHES, LEAST = 4, 1e-8


def outlines(body: Any, level: int, detail: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(vertices, faces) of meshes of all volumes at a level of the body's tree, in its own coordinates: those of the root's children are
    at level 1. Branches that end above count with their leaves. `detail`: a volume has 20 · 4**detail triangles.

    >>> import pliant as pl
    >>> from pliant.report.volume_meshes import outlines
    >>> vertices, faces = outlines(pl.Body(*pl.shapes.icosphere(1), leaf=1, arity=2), 1)
    >>> len(faces) // (20 * 4**2)
    2
    """
    level, detail = validate.integer("level", level, range(1, 129)), validate.integer("detail", detail, range(6))
    validate.body("body", body)
    directions, faces = icosphere(detail)
    with Reading(body.guard):
        if not len(body):
            return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        body.motion.complete()
        own, motion = body.shape_at(body.motion.scale), body.motion
        policy = "fitted" if body.options.policy.name == "fitted" else "bottom_up"
        settings = body.options.settings if policy == "fitted" else {}
        options = body.options._replace(policy=POLICIES[policy], settings=settings)
        shape = Shape(options, body.guard, body.corners, own.points, own.tree)      # a copy, so that nothing of the body's own moves
        shape.follow()
        hulls = [outline(lane(shape.nodes, i, k), directions) for i, k in at_level(shape.tree, level)]
        vertices = np.concatenate(hulls) / motion.scale + motion.origin[:3]
    count = len(directions)
    return vertices, (faces[None].astype(np.int64) + count * np.arange(len(hulls))[:, None, None]).reshape(-1, 3)


def at_level(tree: Any, level: int) -> list[tuple[int, int]]:
    """(node, lane) of all volumes at a level, and of leaves above it."""
    found, rows = [], [0]
    for depth in range(1, level + 1):
        below = [(i, k, int(tree.child[i, k])) for i in rows for k in range(tree.count[i])]
        found += [(i, k) for i, k, child in below if child < 0 or depth == level]
        rows = [child for _, _, child in below if child >= 0]
    return found


def outline(volume: Any, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 3): where rays from the middle leave a volume. Rays that are spread evenly hardly ever leave a thin disc by its rim, so they are
    stretched as what they have found is, again and again."""
    start, ways = np.float64(middle(volume)), directions
    for _ in range(STRETCHES):
        found = leaving(volume, ways) * ways
        spread, axes = np.linalg.eigh(found.T @ found)
        ways = directions @ (axes * np.sqrt(np.maximum(spread, spread[-1] * LEAST))) @ axes.T
        ways /= np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), LEAST)
    return np.asarray(start + leaving(volume, ways) * ways)


def leaving(volume: Any, ways: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 1): how far rays go from the middle."""
    zero, start = np.float32(0), np.array(middle(volume), np.float32)
    with np.errstate(all="ignore"):
        steps = ways.astype(np.float32)
        over = np.where(steps == 0, np.float32(np.inf), 1 / steps).astype(np.float32)
        values: list[Any] = [*start, *over.T, zero, np.float32(np.inf), zero]
        return np.maximum(np.asarray(pierce(volume, Ray(*values))[1], np.float64), 0)[:, None]
