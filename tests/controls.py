"""Sets of simulation nodes, affine maps of them, and the slow reference for weights and gradients."""

import numpy as np
from hypothesis import strategies as st

from poses import from_quaternion


def lattice(*counts, step=1.0):
    """(n, 3): so many nodes along x, y and z."""
    return step * np.stack(np.meshgrid(*(np.arange(float(count)) for count in counts), indexing="ij"), axis=-1).reshape(-1, 3)


@st.composite
def turns(draw):
    """A rotation (3, 3)."""
    parts = draw(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
    return from_quaternion(*parts) if np.linalg.norm(parts) > 0.1 else np.eye(3)


@st.composite
def clouds(draw, most=14):
    """(m, 3): a few nodes about 1 apart, some of them in a plane, on a line or at one place."""
    count, seed = draw(st.integers(1, most)), draw(st.integers(0, 1 << 20))
    points = np.random.default_rng(seed).uniform(0, 2, (count, 3))
    flat = draw(st.sampled_from(["", "", "x", "xy", "xyz", "whole"]))
    for axis in set(flat) & set("xyz"):
        points[:, "xyz".index(axis)] = 0.5
    return np.round(points) if flat == "whole" else points


def blended(weights, maps, vertices):
    """(n, 3): where weights and maps put vertices."""
    each = np.einsum("mij,nj->nmi", maps, np.column_stack([vertices, np.ones(len(vertices))]))
    return np.einsum("nm,nmi->ni", weights.toarray(), each)


def slow_weights(nodes, radius, vertices, most=None):
    """Dense (n, m), one vertex after the other."""
    made = np.zeros((len(vertices), len(nodes)))
    for k, vertex in enumerate(vertices):
        distance = np.linalg.norm(nodes - vertex, axis=1)
        row = np.where(distance < radius, (1 - np.minimum(distance / radius, 1) ** 2) ** 3, 0)
        if not row.any():
            row[distance.argmin()] = 1.0
        if most is not None:
            row[np.argsort(-row, kind="stable")[most:]] = 0.0
        made[k] = row / row.sum()
    return made


def slow_gradients(nodes, radius, now, least):
    """(m, 3, 3), one node after the other: least squares of the smallest change."""
    made = np.empty((len(nodes), 3, 3))
    for j, node in enumerate(nodes):
        distance = np.linalg.norm(nodes - node, axis=1)
        reach = max(radius, 1.25 * np.sort(distance)[min(least, len(nodes) - 1)])
        some = np.flatnonzero((distance < reach) & (np.arange(len(nodes)) != j))
        root = np.sqrt((1 - (distance[some] / reach) ** 2) ** 3)[:, None]
        moved = (now - nodes) - (now[j] - node)
        found = np.linalg.lstsq(root * (nodes[some] - node), root * moved[some], rcond=1e-4)[0] if len(some) else np.zeros((3, 3))
        made[j] = np.eye(3) + found.T
    return made
