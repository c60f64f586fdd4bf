"""Volumes of a BVH as meshes, to draw: what a level of the hierarchy encloses.

For any bounding-volume type, rays are cast from the center of a volume in all directions; the points where they leave it (`ray_interval`)
are the vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.core.soa import lane
from pliant.core.threads import ReadLock
from pliant.query.target import check_body
from pliant.refit.policy import POLICIES, Bvh
from pliant.shapes import icosphere
from pliant.volume.protocol import Ray, center, ray_interval

ITERATIONS, MIN_RATIO = 4, 1e-8


def volume_meshes(body: Any, level: int, detail: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(vertices, faces) of meshes of all volumes at a level of the body's BVH, in its own coordinates: those of the root's children are at
    level 1. Branches that end above count with their leaves. `detail`: a volume has 20 · 4**detail triangles.

    >>> import pliant as pl
    >>> from pliant.report.volume_meshes import volume_meshes
    >>> vertices, faces = volume_meshes(pl.Body(*pl.shapes.icosphere(1), leaf=1, arity=2), 1)
    >>> len(faces) // (20 * 4**2)
    2
    """
    level, detail = validate.integer("level", level, range(1, 129)), validate.integer("detail", detail, range(6))
    check_body("body", body)
    directions, faces = icosphere(detail)
    with ReadLock(body._guard):
        if not len(body):
            return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        body._motion.complete()
        bvh, motion = body._bvh_at(body._motion.scale), body._motion
        policy = "fitted" if body._options.policy.name == "fitted" else "bottom_up"
        settings = body._options.settings if policy == "fitted" else {}
        options = body._options._replace(policy=POLICIES[policy], settings=settings)
        copied = Bvh(options, body._guard, body._welded_faces, bvh.points, bvh.tree)  # a copy, so that the body's own volumes stay
        copied.refit()
        hulls = [volume_hull(lane(copied.nodes, i, k), directions) for i, k in volumes_at_level(copied.tree, level)]
        vertices = np.concatenate(hulls) / motion.scale + motion.origin[:3]
    count = len(directions)
    return vertices, (faces[None].astype(np.int64) + count * np.arange(len(hulls))[:, None, None]).reshape(-1, 3)


def volumes_at_level(tree: Any, level: int) -> list[tuple[int, int]]:
    """(node, child) of all volumes at a level, and of leaves above it."""
    found, rows = [], [0]
    for depth in range(1, level + 1):
        children = [(i, k, int(tree.child[i, k])) for i in rows for k in range(tree.count[i])]
        found += [(i, k) for i, k, child in children if child < 0 or depth == level]
        rows = [child for _, _, child in children if child >= 0]
    return found


def volume_hull(volume: Any, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 3): the points where rays from the center leave a volume. Evenly spread rays hardly ever leave a thin disc by its rim, so they
    are stretched along the principal axes of the points found, repeatedly."""
    start, rays = np.float64(center(volume)), directions
    for _ in range(ITERATIONS):
        found = exit_distances(volume, rays) * rays
        spread, axes = np.linalg.eigh(found.T @ found)
        rays = directions @ (axes * np.sqrt(np.maximum(spread, spread[-1] * MIN_RATIO))) @ axes.T
        rays /= np.maximum(np.linalg.norm(rays, axis=1, keepdims=True), MIN_RATIO)
    return np.asarray(start + exit_distances(volume, rays) * rays)


def exit_distances(volume: Any, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 1): the distance from the center at which rays leave the volume."""
    zero, start = np.float32(0), np.array(center(volume), np.float32)
    with np.errstate(all="ignore"):
        steps = directions.astype(np.float32)
        reciprocals = np.where(steps == 0, np.float32(np.inf), 1 / steps).astype(np.float32)
        values: list[Any] = [*start, *reciprocals.T, zero, np.float32(np.inf), zero]
        return np.maximum(np.asarray(ray_interval(volume, Ray(*values))[1], np.float64), 0)[:, None]
