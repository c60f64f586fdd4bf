"""How good a tree still is: what queries find in it, against what they would find in a new one.

Two volumes of sides e and s meet with a chance that grows like (eₓ + sₓ)(e_y + s_y)(e_z + s_z). So the volumes that a query meets on one
level of a tree go by the sum of this over the level, with s the typical side of the other body's volumes there. Leaves are most of it. Over
sixteen kinds of motion it went with n_v where sums of squared sizes or of areas did not: flakes adrift have 30 times the new tree's
n_v, 24 times this sum (29 over leaves alone), 17 times either of those; a sheet that turns 0.95, 1.2, and 0.2 or 1.8. Time grows by half
as much where many faces meet, as much where few do.

All is measured on boxes around the points, so volumes need not be up to date, and may be of any type.

MOMENTS of boxes (…, 6): how many; sums of x, y and z sides, of half areas and of contents. They give the sum above for any s.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import extract, load, load4, maximum, minimum, splat4, store4
from pliant.core.soa import stamp

INF, ZERO = np.float32(np.inf), np.float32(0)
MIN_EXTENT = 1e-30                                                      # narrower than this is no extent
N_MOMENTS = 6
SAMPLED_LEAVES = 256                                                    # leaves of a sample
RUN_LENGTH = 8                                                          # of them to a run
N_LEVELS = 32                                                           # one for every power of two of faces
MIN_SAMPLED_CELLS = 8                                                   # cells of a sample, at least, on the average
MIN_CELLS, MAX_CELLS = 4, 64                                            # along a side


# --- moments ---------------------------------------------------------------------------------------------------------------------

@helper
def bounds_of_points(points, order, begin, end):
    """Low and high corner of the points named by order[begin : end], a multiple of four of them."""
    low = high = load4(points, 4 * np.int64(load(order, begin)))
    for at in range(begin, end, 4):
        p, q = load4(points, 4 * np.int64(load(order, at))), load4(points, 4 * np.int64(load(order, at + 1)))
        r, s = load4(points, 4 * np.int64(load(order, at + 2))), load4(points, 4 * np.int64(load(order, at + 3)))
        low, high = minimum(low, minimum(minimum(p, q), minimum(r, s))), maximum(high, maximum(maximum(p, q), maximum(r, s)))
    return low, high


@helper
def add_box_moments(moments, row, low, high, weight):
    """Add a box, so many times."""
    side = high - low
    x, y, z = np.float64(extract(side, 0)), np.float64(extract(side, 1)), np.float64(extract(side, 2))
    moments[row, 0] += weight
    moments[row, 1] += weight * x
    moments[row, 2] += weight * y
    moments[row, 3] += weight * z
    moments[row, 4] += weight * (x * y + y * z + z * x)
    moments[row, 5] += weight * (x * y * z)


def mean_side(moments):
    """The mean side of the boxes; 0 if there are none."""
    return float(moments[1] + moments[2] + moments[3]) / (3 * float(moments[0])) if moments[0] else 0.0


def expected_overlaps(moments, side):
    """The sum of (x + side)(y + side)(z + side) over the boxes."""
    n, x, y, z, area, content = moments.tolist()
    return ((n * side + x + y + z) * side + area) * side + content


# --- how much queries do ---------------------------------------------------------------------------------------------------------

@kernel
def visited_share(leaves, frame, step):
    """The share of leaves, of one in `step`, that queries have come to in a frame."""
    n, n_visited = 0, 0
    for leaf in range(0, len(leaves), step):
        n, n_visited = n + 1, n_visited + (1 if stamp(leaves, leaf) == frame else 0)
    return n_visited / n


# --- a sample --------------------------------------------------------------------------------------------------------------------

class QualitySample(NamedTuple):
    """What a sample of leaves tells, as logarithms: a difference is a factor. None of it changes when the body grows or moves."""
    leaves: float                                                       # areas of the boxes of leaves, over those of faces
    runs: float                                                         # the same of boxes around leaves that follow each other
    x: float                                                            # share of the sides that are x, y, z
    y: float
    z: float


@kernel
def sample_moments(vertices, begins, corners, points, step, moments, box):
    """Moments (3, 6) of one leaf in `step`, of the first face in each, and of runs of them; the box (8,) around all."""
    low_all = low_run = splat4(INF)
    high_all = high_run = splat4(-INF)
    n = 0
    for leaf in range(0, len(begins) - 1, step):
        low, high = bounds_of_points(points, vertices, np.int64(begins[leaf]), np.int64(begins[leaf + 1]))
        add_box_moments(moments, 0, low, high, 1.0)
        a, b, c = (load4(points, 4 * np.int64(corners[leaf, 0, 0])), load4(points, 4 * np.int64(corners[leaf, 1, 0])),
                   load4(points, 4 * np.int64(corners[leaf, 2, 0])))
        add_box_moments(moments, 1, minimum(a, minimum(b, c)), maximum(a, maximum(b, c)), 1.0)
        low_all, high_all = minimum(low_all, low), maximum(high_all, high)
        low_run, high_run = minimum(low_run, low), maximum(high_run, high)
        n += 1
        if n % RUN_LENGTH == 0:
            add_box_moments(moments, 2, low_run, high_run, 1.0)
            low_run, high_run = splat4(INF), splat4(-INF)
    store4(box, 0, low_all)
    store4(box, 4, high_all)


def sample_quality(tree, points):
    """(the QualitySample, the box (8,) float32 around the sample) of a tree where the points are now. 7 µs."""
    moments, box = np.zeros((3, N_MOMENTS)), np.zeros(8, np.float32)
    sample_moments(tree.vertices, tree.begins, tree.corners, points, max(len(tree.faces) // SAMPLED_LEAVES, 1), moments, box)
    (n, x, y, z, area, _), (_, u, v, w, _, _), (runs, _, _, _, run_area, _) = moments.tolist()
    unit, sides = ((u + v + w) / n) ** 2, x + y + z
    if unit == 0 or not math.isfinite(area + run_area):
        return QualitySample(0.0, 0.0, 0.0, 0.0, 0.0), box
    # What is added keeps flat and needle-like bodies, whose areas and shares may be 0, from seeming to change by large factors.
    return QualitySample(math.log(area / (n * unit) + 0.01), math.log(run_area / (runs * unit) + 0.01) if runs else 0.0,
                         math.log(x / sides + 0.05), math.log(y / sides + 0.05), math.log(z / sides + 0.05)), box


# --- all of a tree against all of another --------------------------------------------------------------------------------------------

@kernel
def fill_level_moments(child, count, faces, vertices, begins, points, boxes, face_counts, moments):
    """Moments (32, 6) of the boxes of all lanes, by the logarithm of the faces under them. `boxes` (8 n,) and `face_counts` (n,) are
    scratch."""
    for i in range(len(child) - 1, -1, -1):                             # children come after parents
        low_all, high_all, n_all = splat4(INF), splat4(-INF), np.int64(0)
        for k in range(count[i]):
            c = np.int64(child[i, k])
            if c < 0:
                low, high = bounds_of_points(points, vertices, np.int64(begins[~c]), np.int64(begins[~c + 1]))
                n = leaf_face_count(faces, ~c)
            else:
                low, high, n = load4(boxes, 8 * c), load4(boxes, 8 * c + 4), face_counts[c]
            level = 0
            while n >> (level + 1) > 0:
                level += 1
            add_box_moments(moments, level, low, high, 1.0)
            low_all, high_all, n_all = minimum(low_all, low), maximum(high_all, high), n_all + n
        store4(boxes, 8 * i, low_all)
        store4(boxes, 8 * i + 4, high_all)
        face_counts[i] = n_all


@helper
def leaf_face_count(faces, leaf):
    """How many faces a leaf holds."""
    n = np.int64(0)
    for k in range(faces.shape[1]):
        n += 1 if faces[leaf, k] >= 0 else 0
    return n


def tree_moments(tree, points):
    """The moments (32, 6) of a tree."""
    moments, boxes = np.zeros((N_LEVELS, N_MOMENTS)), np.zeros(8 * len(tree.child), np.float32)
    face_counts = np.zeros(len(tree.child), np.int64)
    fill_level_moments(tree.child, tree.count, tree.faces, tree.vertices, tree.begins, points, boxes, face_counts, moments)
    return moments


def degradation(tree, other, points):
    """How many times as many volumes a query meets in `tree` as in the other one, of the same faces. Volumes around 2**level faces are
    compared with those of another body around as many, of which there are the fewer the more they hold."""
    old, new = tree_moments(tree, points), tree_moments(other, points)
    degraded, rebuilt, side = 0.0, 0.0, 0.0
    for level in range(N_LEVELS):
        side = mean_side(new[level]) or side
        degraded += expected_overlaps(old[level], side) / 2.0**level
        rebuilt += expected_overlaps(new[level], side) / 2.0**level
    return degraded / rebuilt if rebuilt > 0 else 1.0


# --- a sample of it --------------------------------------------------------------------------------------------------------------------

@helper
def cell_of_point(points, corner, box, scale, cells):
    """The cell of a point, among cells³; what lies outside the box belongs to the nearest."""
    at = (load4(points, 4 * np.int64(corner)) - load4(box, 0)) * scale
    most = np.float32(cells - 1)
    x, y, z = (np.int64(min(max(extract(at, 0), ZERO), most)), np.int64(min(max(extract(at, 1), ZERO), most)),
               np.int64(min(max(extract(at, 2), ZERO), most)))
    return (x * cells + y) * cells + z


@kernel
def count_cells(faces, corners, points, box, scale, cells, counts):
    """How many faces have their first corner in each cell; the number of cells that are not empty."""
    occupied = 0
    for leaf in range(len(faces)):
        for k in range(faces.shape[1]):
            if faces[leaf, k] < 0:
                break
            at = cell_of_point(points, corners[leaf, 0, k], box, scale, cells)
            occupied += 1 if counts[at] == 0 else 0
            counts[at] += 1
    return occupied


@kernel
def choose_cells(counts, min_faces, max_faces):
    """Keep the counts of some cells, all over the body, that hold at most so many faces together; those of others become 0, and of cells
    with few faces: a new tree's leaves would have to reach from one to another."""
    total, mask = 0, len(counts) - 1                                    # a power of two, and an odd factor: every cell comes once
    for k in range(len(counts)):
        at = (k * 2654435761) & mask
        if min_faces <= counts[at] <= max_faces - total:
            total += counts[at]
        else:
            counts[at] = 0
    return total


@kernel
def collect_faces(faces, corners, vertices, begins, points, box, scale, cells, counts, chosen, moments):
    """The faces in cells that were chosen. Moments (1, 6): of the boxes of their leaves, each face's share."""
    n = 0
    for leaf in range(len(faces)):
        n_in_leaf = 0
        for k in range(faces.shape[1]):
            if faces[leaf, k] < 0:
                break
            if counts[cell_of_point(points, corners[leaf, 0, k], box, scale, cells)] > 0:
                chosen[n] = faces[leaf, k]
                n, n_in_leaf = n + 1, n_in_leaf + 1
        if n_in_leaf > 0:
            low, high = bounds_of_points(points, vertices, np.int64(begins[leaf]), np.int64(begins[leaf + 1]))
            add_box_moments(moments, 0, low, high, n_in_leaf / leaf_face_count(faces, leaf))


@kernel
def fill_leaf_moments(vertices, begins, points, moments):
    """Moments (1, 6) of the boxes of all leaves."""
    for leaf in range(len(begins) - 1):
        low, high = bounds_of_points(points, vertices, np.int64(begins[leaf]), np.int64(begins[leaf + 1]))
        add_box_moments(moments, 0, low, high, 1.0)


def sampled_degradation(tree, build, faces, points, box, max_faces):
    """About the `degradation` against a new tree, from the leaves around at most `max_faces` faces, in whole regions of space: among faces
    that lie apart, any leaf would seem large. `build(faces)` makes a tree. None if regions cannot be told apart. For trees that were new
    it gave 0.8 to 1.04, the least where a surface was folded several times over. 0.9 ms of 20,480 faces, 4.3 of 327,680, a sample of
    3,072."""
    extent, cells = float((box[4:7] - box[:3]).max()), MIN_CELLS
    while cells < MAX_CELLS and 4 * cells**2 * max_faces < MIN_SAMPLED_CELLS * len(faces):  # a surface goes through about 4 cells² of them
        cells *= 2
    while True:
        scale, counts = np.float32(cells / extent if extent > MIN_EXTENT else 0), np.zeros(cells**3, np.int32)
        occupied = count_cells(tree.faces, tree.corners, points, box, scale, cells, counts)
        if occupied * max_faces >= MIN_SAMPLED_CELLS * len(faces):
            break
        if cells == MAX_CELLS:
            return None
        cells *= 2
    n = choose_cells(counts, len(faces) // (2 * occupied), max_faces)
    if n < max_faces // 4:
        return None
    chosen, old, new = np.empty(n, np.int32), np.zeros((1, N_MOMENTS)), np.zeros((1, N_MOMENTS))
    collect_faces(tree.faces, tree.corners, tree.vertices, tree.begins, points, box, scale, cells, counts, chosen, old)
    made = build(faces[chosen])
    fill_leaf_moments(made.vertices, made.begins, points, new)
    side = mean_side(new[0])
    rebuilt = expected_overlaps(new[0], side)
    return expected_overlaps(old[0], side) / rebuilt if rebuilt > 0 else 1.0
