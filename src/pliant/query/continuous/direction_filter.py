"""Directions that part moving features, in float32 lanes: one feature against eight.

For a fixed direction n the gap n · (q(t) − p(t)) of two corners is linear in time. If it is above 0 at both ends for all corners of two
features, they are apart throughout. Any n will do, however it was rounded: tried are the line between the centers, then directions across
the faces and edges. Boxes have tried the axes before.

ERROR, of a gap, in units of |n_x| + |n_y| + |n_z|, in the frame of `swept_tree.py`. Coordinates are at most 2 in size and off by 2**-24,
since a coordinate below 2 rounds by 2**-25 · 2 at most. So a difference is off by 2**-23, and rounds by 2**-22 (it is at most 4). Three
products and two sums round by 3 · 2**-24 of 4 each: 12 · 2**-24 in all. The sum of these is below 9 · 2**-23; of a gap, the difference of
two such numbers, twice that and 2**-22 more: below 2**-18. Products of tiny numbers may underflow, by 3 · 2**-149: MIN_BOUND. Where a
coordinate is beyond the frame it is infinite: then so is the line between centers, and the bound is not a number (`margin_if_finite`).
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, minimum, sqrt, where

GAP_ERROR = np.float32(2.0**-18)
MIN_BOUND, MIN_SQUARE, LENGTH_UP = np.float32(2.0**-120), np.float32(2.0**-80), np.float32(1 + 2.0**-20)
THIRD = np.float32(1 / 3)


@helper
def sum_of_sizes(x, y, z):
    return fabs(x) + (fabs(y) + fabs(z))


@helper
def gap_bound(nx, ny, nz, margin):
    """What a gap along n must exceed so that features are farther apart than the margin. The length of n is rounded up; where its square
    may underflow, the sum of its sizes is more."""
    sizes, square = sum_of_sizes(nx, ny, nz), nx * nx + (ny * ny + nz * nz)
    return sizes * GAP_ERROR + where(square > MIN_SQUARE, sqrt(square) * LENGTH_UP, sizes) * margin + MIN_BOUND


@helper
def margin_if_finite(margin, x, y, z):
    """The margin; not a number, which nothing exceeds, where a sum of the coordinates of both features is infinite."""
    return margin + ((x - x) + ((y - y) + (z - z)))


@helper
def along(x, y, z, ox, oy, oz, nx, ny, nz):
    """n · (x − o)."""
    return (x - ox) * nx + ((y - oy) * ny + (z - oz) * nz)


@helper
def parts_vertex_face(p, t, nx, ny, nz, margin):
    """Does the direction part a vertex from faces, by more than the margin?"""
    ox, oy, oz = p.px0, p.py0, p.pz0
    a0, b0, c0 = (along(t.ax0, t.ay0, t.az0, ox, oy, oz, nx, ny, nz), along(t.bx0, t.by0, t.bz0, ox, oy, oz, nx, ny, nz),
                  along(t.cx0, t.cy0, t.cz0, ox, oy, oz, nx, ny, nz))
    ox, oy, oz = p.px1, p.py1, p.pz1
    a1, b1, c1 = (along(t.ax1, t.ay1, t.az1, ox, oy, oz, nx, ny, nz), along(t.bx1, t.by1, t.bz1, ox, oy, oz, nx, ny, nz),
                  along(t.cx1, t.cy1, t.cz1, ox, oy, oz, nx, ny, nz))
    bound = gap_bound(nx, ny, nz, margin)
    low = minimum(minimum(a0, minimum(b0, c0)), minimum(a1, minimum(b1, c1)))
    high = maximum(maximum(a0, maximum(b0, c0)), maximum(a1, maximum(b1, c1)))
    return (low > bound) | (high < -bound)


@helper
def vertex_face_center(p, t):
    """The line from a vertex to the middle of a face, of both ends together."""
    return ((t.ax0 + t.bx0 + t.cx0 + (t.ax1 + t.bx1 + t.cx1)) * THIRD - (p.px0 + p.px1),
            (t.ay0 + t.by0 + t.cy0 + (t.ay1 + t.by1 + t.cy1)) * THIRD - (p.py0 + p.py1),
            (t.az0 + t.bz0 + t.cz0 + (t.az1 + t.bz1 + t.cz1)) * THIRD - (p.pz0 + p.pz1))


@helper
def vertex_face_parted(p, t, margin):
    """Lanes in which the line between centers parts a vertex and a face, by more than the margin; either may be eight."""
    nx, ny, nz = vertex_face_center(p, t)
    return parts_vertex_face(p, t, nx, ny, nz, margin_if_finite(margin, nx, ny, nz))


@helper
def across(cx, cy, cz, ex, ey, ez):
    """What is left of c across e, times e²."""
    square, product = ex * ex + (ey * ey + ez * ez), ex * cx + (ey * cy + ez * cz)
    return cx * square - ex * product, cy * square - ey * product, cz * square - ez * product


@helper
def vertex_beyond_edge(p, t, ax, ay, az, bx, by, bz, margin):
    """Lanes in which the way across the edge from a to b to the vertex parts them; a, b and the vertex twice, of both ends together."""
    nx, ny, nz = across(p.px0 + p.px1 - ax, p.py0 + p.py1 - ay, p.pz0 + p.pz1 - az, bx - ax, by - ay, bz - az)
    return parts_vertex_face(p, t, nx, ny, nz, margin)


@helper
def vertex_face_parted_across(p, t, margin):
    """As `vertex_face_parted`: the normal of the face at the start, the ways across its edges."""
    nx, ny, nz = vertex_face_center(p, t)
    margin = margin_if_finite(margin, nx, ny, nz)
    ex, ey, ez, fx, fy, fz = t.bx0 - t.ax0, t.by0 - t.ay0, t.bz0 - t.az0, t.cx0 - t.ax0, t.cy0 - t.ay0, t.cz0 - t.az0
    parted = parts_vertex_face(p, t, ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx, margin)
    ax, ay, az = t.ax0 + t.ax1, t.ay0 + t.ay1, t.az0 + t.az1
    bx, by, bz = t.bx0 + t.bx1, t.by0 + t.by1, t.bz0 + t.bz1
    cx, cy, cz = t.cx0 + t.cx1, t.cy0 + t.cy1, t.cz0 + t.cz1
    parted = parted | vertex_beyond_edge(p, t, ax, ay, az, bx, by, bz, margin)
    parted = parted | vertex_beyond_edge(p, t, bx, by, bz, cx, cy, cz, margin)
    return parted | vertex_beyond_edge(p, t, cx, cy, cz, ax, ay, az, margin)


@helper
def parts_edges(e, f, nx, ny, nz, margin):
    """Does the direction part an edge from others, by more than the margin?"""
    ox, oy, oz = e.ax0, e.ay0, e.az0
    p0, q0, r0 = (along(e.bx0, e.by0, e.bz0, ox, oy, oz, nx, ny, nz), along(f.ax0, f.ay0, f.az0, ox, oy, oz, nx, ny, nz),
                  along(f.bx0, f.by0, f.bz0, ox, oy, oz, nx, ny, nz))
    ox, oy, oz = e.ax1, e.ay1, e.az1
    p1, q1, r1 = (along(e.bx1, e.by1, e.bz1, ox, oy, oz, nx, ny, nz), along(f.ax1, f.ay1, f.az1, ox, oy, oz, nx, ny, nz),
                  along(f.bx1, f.by1, f.bz1, ox, oy, oz, nx, ny, nz))
    zero = p0 - p0
    bound = gap_bound(nx, ny, nz, margin)
    ahead = minimum(minimum(q0, r0) - maximum(p0, zero), minimum(q1, r1) - maximum(p1, zero))
    behind = minimum(minimum(p0, zero) - maximum(q0, r0), minimum(p1, zero) - maximum(q1, r1))
    return maximum(ahead, behind) > bound


@helper
def edges_center(e, f):
    """The line from the middle of an edge to that of another, of both ends together."""
    return ((f.ax0 + f.bx0 + (f.ax1 + f.bx1)) - (e.ax0 + e.bx0 + (e.ax1 + e.bx1)),
            (f.ay0 + f.by0 + (f.ay1 + f.by1)) - (e.ay0 + e.by0 + (e.ay1 + e.by1)),
            (f.az0 + f.bz0 + (f.az1 + f.bz1)) - (e.az0 + e.bz0 + (e.az1 + e.bz1)))


@helper
def edges_parted(e, f, margin):
    """Lanes in which the line between centers parts two edges, by more than the margin; either may be eight."""
    nx, ny, nz = edges_center(e, f)
    return parts_edges(e, f, nx, ny, nz, margin_if_finite(margin, nx, ny, nz))


@helper
def edges_parted_across(e, f, margin):
    """As `edges_parted`: the ways across either edge between centers, and across both edges at the start."""
    cx, cy, cz = edges_center(e, f)
    margin = margin_if_finite(margin, cx, cy, cz)
    ex, ey, ez = e.bx0 + e.bx1 - (e.ax0 + e.ax1), e.by0 + e.by1 - (e.ay0 + e.ay1), e.bz0 + e.bz1 - (e.az0 + e.az1)
    nx, ny, nz = across(cx, cy, cz, ex, ey, ez)
    parted = parts_edges(e, f, nx, ny, nz, margin)
    fx, fy, fz = f.bx0 + f.bx1 - (f.ax0 + f.ax1), f.by0 + f.by1 - (f.ay0 + f.ay1), f.bz0 + f.bz1 - (f.az0 + f.az1)
    nx, ny, nz = across(cx, cy, cz, fx, fy, fz)
    parted = parted | parts_edges(e, f, nx, ny, nz, margin)
    return parted | parts_edges(e, f, ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx, margin)
