"""Two bodies of paper S in place of scanned ones: a horse-like animal, and the skeleton of a hand. Both are made of strokes (`solids.py`).

The animal faces +x, z is up; it is about 2.4 long and 2 high, and one closed surface. The hand lies flat, its fingers along +y and its
back towards +z; it is about 2 long and has 29 bones that do not touch: eight of the wrist, five of the palm, fourteen of the fingers and
the ends of two of the forearm.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np

from experiments.larsson2001.scenes import Faces, Rows
from experiments.solids import Solid, Stroke, mesh

Point = tuple[float, float, float]

# --- the animal ------------------------------------------------------------------------------------------------------------------

# Points with a radius, each connected to the next, and their width along y.
SPINE = (((-0.58, 0, 0.04), 0.27), ((0, 0, -0.02), 0.29), ((0.45, 0, 0.03), 0.26))
NECK = (((0.50, 0, 0.10), 0.23), ((0.80, 0, 0.42), 0.15), ((0.98, 0, 0.66), 0.115))
HEAD = (((1.0, 0, 0.67), 0.115), ((1.16, 0, 0.53), 0.085), ((1.32, 0, 0.36), 0.06))
TAIL = (((-0.84, 0, 0.16), 0.05), ((-1.0, 0, 0.0), 0.055), ((-1.06, 0, -0.30), 0.06), ((-1.04, 0, -0.55), 0.02))
MIDDLE = ((SPINE, 0.85), (NECK, 0.7), (HEAD, 0.75), (TAIL, 1.0))

# Strokes on either side: ears, and legs in a step.
EARS = (((0.95, 0.06, 0.74), 0.035), ((0.955, 0.085, 0.90), 0.012))
SHOULDER, HIP = ((0.48, 0.12, -0.02), 0.15), ((-0.62, 0.12, 0.0), 0.20)
FORE = (
    (SHOULDER, ((0.44, 0.14, -0.30), 0.085), ((0.47, 0.135, -0.62), 0.052), ((0.45, 0.135, -0.90), 0.038), ((0.49, 0.135, -1.0), 0.055)),
    (SHOULDER, ((0.50, 0.14, -0.31), 0.085), ((0.66, 0.135, -0.58), 0.052), ((0.62, 0.135, -0.86), 0.038), ((0.67, 0.135, -0.95), 0.055)),
)
HIND = (
    (HIP, ((-0.52, 0.15, -0.32), 0.115), ((-0.72, 0.145, -0.62), 0.055), ((-0.66, 0.145, -0.90), 0.04), ((-0.62, 0.145, -1.0), 0.056)),
    (HIP, ((-0.58, 0.15, -0.33), 0.115), ((-0.84, 0.145, -0.60), 0.055), ((-0.86, 0.145, -0.88), 0.04), ((-0.83, 0.145, -0.98), 0.056)),
)
FLOW = 0.022


def chain(points: tuple[tuple[Point, float], ...], wide: float = 1.0, side: int = 1) -> Iterator[Stroke]:
    """Strokes from each point to the next; `side` −1 mirrors them."""
    for (a, thick), (b, thin) in pairwise(points):
        yield Stroke((a[0], side * a[1], a[2]), (b[0], side * b[1], b[2]), thick, thin, wide)


def animal() -> tuple[Stroke, ...]:
    """All strokes of the animal."""
    strokes = [stroke for points, wide in MIDDLE for stroke in chain(points, wide)]
    for side, fore, hind in zip((1, -1), FORE, HIND, strict=True):
        strokes += [stroke for points in (EARS, fore, hind) for stroke in chain(points, side=side)]
    return tuple(strokes)


@cache
def quadruped(faces: int = 96_966) -> tuple[Rows, Faces]:
    """The animal, with exactly so many triangles, 8,000 or more."""
    return mesh(Solid(animal(), FLOW), faces)


# --- the hand --------------------------------------------------------------------------------------------------------------------

# Fingers: the start and the direction of the bone of the palm, the angles of the finger from bone to bone (bend downward), the
# lengths of all bones, and their thickness.
FINGERS = (
    ((0.292, -0.110, -0.03), (0.66, 0.70, -0.27), 0.16, (0.36, 0.27, 0.20), 1.05),  # the thumb
    ((0.17, -0.025, 0.00), (0.12, 0.99, -0.02), 0.20, (0.52, 0.33, 0.22, 0.17), 1.00),
    ((0.04, -0.03, 0.02), (0.01, 1.00, -0.01), 0.17, (0.51, 0.37, 0.26, 0.18), 1.05),
    ((-0.09, -0.04, 0.01), (-0.09, 0.99, -0.02), 0.20, (0.46, 0.34, 0.24, 0.18), 0.97),
    ((-0.20, -0.065, -0.01), (-0.20, 0.98, -0.04), 0.23, (0.41, 0.27, 0.18, 0.15), 0.86),
)
GAP = 0.020  # radius of a joint

# Bones of the wrist: centre, half lengths of a lump along x, y and its thickness; two rows.
WRIST = (
    ((0.217, -0.150, -0.02), (0.026, 0.008), 0.036), ((0.115, -0.125, 0.00), (0.010, 0.022), 0.040),
    ((0.00, -0.15, 0.01), (0.018, 0.052), 0.050), ((-0.130, -0.160, 0.00), (0.022, 0.035), 0.050),
    ((0.172, -0.288, -0.01), (0.036, 0.022), 0.040), ((0.012, -0.328, 0.01), (0.032, 0.012), 0.047),
    ((-0.125, -0.322, 0.01), (0.020, 0.018), 0.040), ((-0.175, -0.290, -0.085), (0.010, 0.012), 0.034),
)

# Ends of the forearm: strokes of both bones.
FOREARM = (
    (((0.09, -0.49, 0.0), 0.095), ((0.08, -0.60, 0.0), 0.072), ((0.07, -0.95, 0.0), 0.058)),
    (((-0.145, -0.455, 0.0), 0.058), ((-0.14, -0.60, 0.0), 0.050), ((-0.12, -0.95, 0.0), 0.048)),
)


def unit(vector: Rows) -> Rows:
    return np.asarray(vector / np.linalg.norm(vector))


def long_bone(start: Rows, along: Rows, across: Rows, length: float, thick: float, last: bool) -> Solid:
    """A shaft with a broad base and a head of two knobs, or the tip of the last bone of a finger."""
    def at(way: float, out: float = 0.0, up: float = 0.0) -> Point:
        place = start + way * length * along + out * across + up * np.cross(across, along)
        return float(place[0]), float(place[1]), float(place[2])

    r = 0.042 * thick
    base, head = 1.05 * r, (0.62 if last else 0.80) * r
    near, far, apart = base / length, 1 - head / length, (0.45 if last else 0.48) * r
    shaft = [Stroke(at(near), at(0.35), 1.05 * r, 0.70 * r), Stroke(at(0.35), at(far), 0.70 * r, (0.50 if last else 0.70) * r)]
    knobs = [Stroke(at(near, -0.35 * base), at(near, 0.35 * base), base, base), Stroke(at(far, -apart), at(far, apart), 0.6 * r, 0.6 * r)]
    knobs += [Stroke(at(far, side * apart, -0.2 * r), at(far, side * apart, 0.1 * r), head, head) for side in (-1, 1)]
    return Solid((*shaft, *knobs), 0.22 * r)


def finger(start: Point, along: Point, bend: float, lengths: tuple[float, ...], thick: float) -> Iterator[Solid]:
    """The bones of a finger, from the palm to the tip."""
    place, way = np.array(start), unit(np.array(along))
    across = unit(np.cross(way, [0.0, 0.0, 1.0]))
    for k, length in enumerate(lengths):
        yield long_bone(place, way, across, length - GAP, thick * 0.88**k, k == len(lengths) - 1)
        place = place + length * way
        down = np.cross(way, across)  # away from the back of the hand
        way = unit(np.cos(bend) * way + np.sin(bend) * (down if down[2] < 0 else -down))


def bones() -> list[Solid]:
    """All bones."""
    found = [bone for each in FINGERS for bone in finger(*each)]
    for (x, y, z), (dx, dy), thick in WRIST:
        lump = Stroke((x - dx, y - dy, z), (x + dx, y + dy, z), thick, thick), Stroke((x, y - dy, z), (x, y + dy, z), thick, 0.9 * thick)
        found.append(Solid(lump, 0.2 * thick))
    return found + [Solid(tuple(chain(points)), 0.01) for points in FOREARM]


@cache
def hand(faces: int = 654_666) -> tuple[Rows, Faces]:
    """The hand, with exactly so many triangles, 20,000 or more; bones share them in proportion to their areas, approximately."""
    solids = bones()
    areas = np.array([sum((stroke.thick + stroke.thin) * (reach(stroke) + stroke.thick + stroke.thin) for stroke in solid.strokes)
                      for solid in solids])  # fmt: skip
    ends = np.round(np.cumsum(areas) / areas.sum() * faces / 2).astype(int) * 2
    made = [mesh(solid, int(count)) for solid, count in zip(solids, np.diff(ends, prepend=0), strict=True)]
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in made)])
    triangles = [part + start for (_, part), start in zip(made, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in made]), np.concatenate(triangles).astype(np.int32)


def reach(stroke: Stroke) -> float:
    """The length of its segment."""
    return float(np.linalg.norm(np.subtract(stroke.a, stroke.b)))
