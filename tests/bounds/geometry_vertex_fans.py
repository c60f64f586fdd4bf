"""Attacks on fans, `geometry/vertex_fan.py`: turns against their bounds, and the decision that no two faces of a fan meet beyond what they
share.

Points are the vertex and eight neighbours in float32, nine rows of what the true points differ by, in units of DELTA, a direction, and one
row whose first number chooses how large DELTA is.
"""

import numpy as np

import attack
from attack import Fraction, cross, dot, integers, minus
from bounds.geometry_overlap_simd import MOST, SCALES, off, worst
from pliant.core.simd import extract
from pliant.geometry import adjacent_faces, vertex_fan
from pliant.query.traverse import CORNER_ERROR, MIN_CORNER_ERROR
from revealed import compiled

ROWS = np.array([0, vertex_fan.TURNS_PER_ROW, 1, 2, 3, 4, 5, 6, 7, 8], np.int32)
CLOSED = np.array([0, vertex_fan.TURNS_PER_ROW | vertex_fan.CLOSED, 1, 2, 3, 4, 5, 6, 7, 1], np.int32)
E = Fraction(1, 2**24)


@compiled
def run_turns(points, rows, delta, dx, dy, dz, out):
    s = vertex_fan.fan_edges(points, rows, 0, delta)
    turn, bound = vertex_fan.turns_along(s, dx, dy, dz)
    for k in range(7):
        out[k], out[7 + k] = extract(turn, k), extract(bound, k)
    return 0


@compiled
def run_fan(points, rows, delta):
    return vertex_fan.fan_disjoint(points, rows, 0, delta)


@compiled
def run_pair(t, a, b, c, d):
    """Faces (0, a, b) and (0, c, d), which share the vertex 0, or an edge if b is c."""
    if b == c:
        return adjacent_faces.overlap_at_edge_exact(t, 0, 3 * b, 3 * a, 3 * d)
    return adjacent_faces.overlap_at_vertex_exact(t, 0, 3 * a, 3 * b, 3 * c, 3 * d)


def starts(corners_of):
    def start(corners):
        def points(rng):
            shares = rng.choice([-1.0, 1.0, 0.0], (9, 3), p=[0.45, 0.45, 0.1])
            return np.vstack([corners(rng), shares, rng.uniform(-1, 1, (1, 3)), 2.0 ** rng.integers(0, 7, (1, 3))]).astype(np.float32)
        return points
    return {name: start(corners) for name, corners in corners_of.items()}


def ring(rng):
    """Neighbours around the vertex, once, less than once or more than once, in a plane, on a cone or on a saddle."""
    angles = np.arange(8) * rng.choice([0.5, 0.7, 2 * np.pi / 7, 1.0, 1.5]) + rng.normal(size=8) * rng.choice([0, 0.1])
    height = rng.choice([0, 0.3, 2.0]) * np.cos(rng.integers(0, 3) * angles)
    spokes = np.stack([np.cos(angles), np.sin(angles), height], axis=1) * rng.choice([1, rng.uniform(0.1, 1)])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if rng.random() < 0.7 else np.eye(3)
    vertex = rng.uniform(-1, 1, 3) * rng.choice([0, 1, 8])
    return np.vstack([vertex, vertex + spokes @ turn * rng.choice([1, 2.0**-10])])


STARTS = starts({"ring": ring, **attack.families((9, 3), np.float32, SCALES)})
RINGS = starts({f"ring {k}": ring for k in range(4)} | attack.families((9, 3), np.float32, SCALES))
_turns = np.zeros(14, np.float32)


def delta_of(points):
    reach = float(np.abs(points[:9]).max()) * 2.0 ** min(abs(int(np.frexp(points[19, 0])[1])) % 7, 6)
    return np.float32(max(reach * CORNER_ERROR, MIN_CORNER_ERROR))


def rows_of(points):
    """x y z · rows, flat."""
    rows = np.zeros((9, 4), np.float32)
    rows[:, :3] = points[:9]
    return rows.reshape(-1)


@attack.bound("fans: turns", "geometry/vertex_fan.py", ("E8", "BOUND_FACTOR", "FOUR", "EIGHT"), STARTS, 6_000,
              section="ERRORS")
def turns(points):
    """What the number of times around takes of the bound, 16 e M² Σ|d_k|, is not left for the turns."""
    if np.abs(points[:9]).max() > MOST or not np.abs(points[18]).max() > 0:
        return None
    with np.errstate(all="ignore"):
        direction = points[18] / np.abs(points[18]).max()
    if not np.isfinite(direction).all():
        return None
    delta = delta_of(points)
    run_turns(rows_of(points), ROWS, delta, *direction, _turns)
    shares = np.clip(points[9:18].astype(np.float64), -1, 1) * float(delta)
    numbers, e = integers(np.vstack([points[:9].astype(np.float64), shares]))
    true = [tuple(p + q for p, q in zip(numbers[k], numbers[9 + k], strict=True)) for k in range(9)]
    d, f = integers(direction)
    spokes = [minus(corner, true[0]) for corner in true[1:]]
    sizes = np.abs(points[1:9] - points[0]).max(1)
    out, total, found = _turns.astype(float), sum(Fraction(abs(float(x))) for x in direction), []
    for k in range(7):
        around = 16 * E * Fraction(float(max(sizes[k], sizes[k + 1]))) ** 2 * total
        found.append((off(out[k], dot(cross(spokes[k], spokes[k + 1]), d), 2 * e + f), Fraction(out[7 + k]) - around))
    return worst(found)


@attack.bound("fans: decisions", "geometry/vertex_fan.py", ("TURNS_PER_ROW",), RINGS, 3_000,
              section="ONCE AROUND")
def decisions(points):
    """An open fan of seven faces, and a closed one: where the answer is yes, no two faces meet beyond what they share."""
    if np.abs(points[:9]).max() > MOST:
        return None
    delta, rows = delta_of(points), rows_of(points)
    true = (points[:9].astype(float) + np.clip(points[9:18].astype(float), -1, 1) * float(delta) * (1 - 2.0**-40)).reshape(-1)
    for names, last in ((ROWS, 8), (CLOSED, 1)):
        if not run_fan(rows, names, delta):
            continue
        faces = [(k, k + 1) for k in range(1, 7)] + [(7, last)]
        if any(run_pair(true, *(g + f if g[1] == f[0] else f + g)) for i, f in enumerate(faces) for g in faces[i + 1:]):
            return 1, 0
    return 0, 1
