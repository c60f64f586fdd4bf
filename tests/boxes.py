"""Boxes that move, and the slow way to the pairs that overlap."""

import numpy as np

SOME = np.array([-np.inf, -1.7e308, -3.0, -5e-324, -0.0, 0.0, 1.0, 1 + 2.0**-52, 1e15, 1.7e308, np.inf])


def overlapping(boxes, slots=None):
    """Slots (m, 2) of the boxes (n, 6) that have a point in common, i < j, sorted: all pairs compared, with nothing clever."""
    boxes = np.asarray(boxes)
    slots = np.arange(len(boxes)) if slots is None else np.asarray(slots)
    order = np.argsort(slots)
    boxes, slots = boxes[order], slots[order]
    both = np.ones((len(slots), len(slots)), bool)
    for axis in range(3):
        low, high = boxes[:, axis], boxes[:, axis + 3]
        both &= (low[:, None] <= high) & (low <= high[:, None])
    return slots[np.argwhere(np.triu(both, 1))].reshape(-1, 2)


def scattered(rng, n, density=0.22):
    """(centres, sizes) (n, 3) of boxes about 1 wide, each of which overlaps one or two others."""
    return rng.uniform(0, (n / density) ** (1 / 3), (n, 3)), rng.uniform(0.5, 1.5, (n, 3))


def around(centres, sizes):
    """The boxes (n, 6) of these sizes around these centres."""
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)


def drifting(rng, n, frames, step):
    """Frames of boxes each of which goes its own way, `step` a frame."""
    centres, sizes = scattered(rng, n)
    velocity = rng.normal(size=(n, 3))
    velocity *= step / np.linalg.norm(velocity, axis=1, keepdims=True)
    for k in range(frames):
        yield around(centres + k * velocity, sizes)


def of_some(rng, n):
    """Boxes with few and extreme coordinates."""
    return np.concatenate([*np.sort(rng.choice(SOME, (2, n, 3)), axis=0)], axis=1)


def on_lattice(rng, n, side):
    """Boxes with small whole coordinates: most ends are equal to others."""
    low = rng.integers(0, side, (n, 3)).astype(float)
    return np.concatenate([low, low + rng.integers(0, 3, (n, 3))], axis=1)
