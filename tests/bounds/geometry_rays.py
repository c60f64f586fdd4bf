"""Attacks on the filter of rays, `geometry/ray_triangle.py`: its values against their bounds, its decisions, and t.

Points are the corners a, b, c, the origin and the direction.
"""

import numpy as np

import attack
import naive_rays
from attack import cross, dot, integers, minus
from bounds.geometry_signs import against, in_range
from pliant.core.simd import extract
from pliant.geometry import ray_triangle
from revealed import compiled, cut

_error_bounds = cut(ray_triangle.hit_filter, after="error_bounds", returns=("values", "error_bounds"))


@compiled
def run_values(t, k, out):
    values, error_bounds = _error_bounds(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], k)
    for i in range(3):
        out[i], out[3 + i] = extract(values, i), extract(error_bounds, i)
    return 0


@compiled
def run_pierced(t, k):
    return ray_triangle.hit_filter(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], k)


@compiled
def run_side(t, plain):
    return ray_triangle.edge_side(t, 3, 6, plain)


def beside_edges(rng):
    """Rays at midpoints of edges, or at points beside them by an ulp, from afar, from nearby, and along axes."""
    corners = rng.integers(-10, 11, (3, 3)) / 10 if rng.random() < 0.7 else rng.uniform(-1, 1, (3, 3))
    p, q = corners[rng.permutation(3)[:2]]
    share = rng.choice([0.5, 0.5, 0.25, 0.0, rng.random()])
    target = p + (q - p) * share
    target = np.nextafter(target, target + rng.integers(-1, 2, 3))
    direction = np.roll([1.0, 0, 0], rng.integers(3)) if rng.random() < 0.5 else rng.integers(-10, 11, 3) / 10
    origin = target - direction * rng.choice([1.0, 0.5, 2.0, 0.1, 64.0])
    return np.vstack([corners, origin, direction])


def flat_rays(rng):
    """Faces in a plane across an axis, as in the walls of a box; the ray starts above the middle of an edge."""
    points, k = beside_edges(rng), rng.integers(3)
    points[:3, k] = points[0, k]
    direction = np.roll([1.0, 0, 0], k)
    return np.vstack([points[:3], points[3] - direction, direction])


STARTS = {"beside edges": beside_edges, "flat": flat_rays, **attack.families((5, 3))}
_out = np.zeros(6)


def axis_of(points):
    return int(np.abs(points[4]).argmax())


@attack.bound("pierced: values", "geometry/ray_triangle.py", ("hit_filter",), STARTS, 30_000,
              section="((p − o) × (q − o)) · d")
def values(points):
    """The value of the edge from q to r is ((q − o) + (r − o)) × (r − q) · d: twice the triple product."""
    if not in_range(points) or not points[4].any():
        return None
    run_values(points.reshape(-1), axis_of(points), _out)
    (a, b, c, o, d), e = integers(points)
    found = [against(float(_out[i]), float(_out[3 + i]), 2 * dot(cross(minus(q, o), minus(r, o)), d), 3 * e)
             for i, (q, r) in enumerate(((b, c), (c, a), (a, b)))]
    return max(found, key=lambda both: attack.ratio_of(*both))


@attack.bound("pierced: decisions, t", "geometry/ray_triangle.py", ("T_ERROR",), STARTS, 20_000,
              section="Errors of the values move t")
def decisions(points):
    """A decision that is wrong is off by more than any bound; t may be off by PRECISE of the farthest corner along the axis."""
    if not in_range(points) or not points[4].any():
        return None
    k = axis_of(points)
    answer, t, u, v = run_pierced(points.reshape(-1), k)
    exact = naive_rays.meet(points[:3], points[3], points[4])
    if answer == ray_triangle.UNSURE:
        return 0, 1
    if (answer == ray_triangle.HIT) != (exact is not None):
        return 1, 0
    if answer == ray_triangle.MISS:
        return 0, 1
    if not (u >= 0 and v >= 0 and u + v <= 1 + 2.0**-50):
        return 1, 0
    farthest = max(abs(attack.Fraction(x) - attack.Fraction(points[3, k])) for x in points[:3, k].tolist())
    return abs(attack.Fraction(t) - exact[0]) * abs(attack.Fraction(points[4, k])), farthest * attack.Fraction(ray_triangle.T_ERROR)


@attack.bound("side of an edge", "geometry/ray_triangle.py", ("DD_ERROR",),
              attack.families((5, 3), scales=(1.0, 1.0, 2.0**-240, 2.0**330, 2.0**-1000)), 10_000,
              section="but for a part in CLOSE")
def side_of_edge(points):
    """The value that decides what the filter leaves: of b c, right to a part in CLOSE of itself."""
    t = np.zeros(ray_triangle.BUFFER_SIZE)
    t[:15] = points.reshape(-1)
    m, power = run_side(t, in_range(points))
    (_, b, c, o, d), e = integers(points)
    exact = attack.scaled(dot(cross(minus(b, o), minus(c, o)), d), 3 * e)
    return abs(attack.Fraction(float(m)) * attack.Fraction(2) ** int(power) - exact), abs(exact) * attack.Fraction(ray_triangle.DD_ERROR)
