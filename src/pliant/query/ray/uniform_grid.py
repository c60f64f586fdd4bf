"""A uniform grid over a triangle soup, and rays that walk through it cell by cell (thesis C 7.5; Amanatides and Woo 1987).

Where faces go anywhere a tree must be built anew for every frame; a grid is filled in linear time. The box around all faces is cut into
about as many cells as there are faces, and every cell lists the faces that may meet it, by a counting sort: two passes over all faces.

A ray keeps, for each axis, the time at which it leaves its cell along that axis; the least says which cell comes next. Each time is worked
out from the number of the cell, so that errors do not add up. Why nothing is missed: positions are relative to the low corner of the box,
so with u = 2**-53 and far = the longest way from the ray's origin to a point of the box, the time of a crossing is off by so little that
the position at that time is off by less than 8 u far; so is the cell that the ray starts in. At any time the cell that the ray is in, made
larger by 8 u far, holds the ray's point. Faces are listed in all cells that come within FACE_MARGIN of them, 2**-16 of the box, which is
more as long as far <= 2**31 boxes. A ray from farther away is tested against all faces. `inside` says, as for bodies, which part of a ray
counts.

A face that is listed often is tested once by a ray: it is marked with the number of the ray. The test is that of all queries,
`geometry/ray_triangle.py`, on the vertices as given, so answers are to the bit those of a tree.

Shapes: flat vertices (3 n,) float64 and faces (3 f,) int32; starts (cells + 1,) int32 and items int32: cell c lists items[starts[c] :
starts[c + 1]], in the order of faces. Cells are numbered along x first. All lengths but those of vertices and rays are times the scale of
the motion (`motion/free.py`), which brings boxes of any size into the range of ordinary numbers.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.soa import aligned_zeros, prefetch
from pliant.core.stack import stack_float64
from pliant.geometry.ray_triangle import BUFFER_SIZE, DIRECTION, HIT, ORIGIN
from pliant.motion.rigid import UNDERFLOW_BOUND
from pliant.query.ray.batch import exact_test_entry, store_result, work_done
from pliant.query.ray.cast import FIRST_HITS, RayJob, grow_hits
from pliant.query.ray.leaf import (
    ALL_HITS,
    ANY_HIT,
    BATCH,
    FLOAT64_ERROR,
    FULL,
    GOING,
    HIT_DTYPE,
    INV_STEP,
    N_WORLD_ROWS,
    RAY_DTYPE,
    STEP,
    T_BEST,
    T_MIN,
    hit_triangle,
    is_closer,
    record_dtype,
)
from pliant.query.ray.load_rays import init_ray_state, load_rays4
from pliant.query.ray.transform import box_interval
from pliant.query.traverse import COUNTERS

MAX_CELLS_PER_AXIS, MAX_CELLS = 1 << 10, 1 << 24                        # cells along an axis, and in all
MAX_PER_FACE, MIN_ENTRIES = 32, 1 << 12                                 # entries a face, and more: then cells are too small
MARGIN, FACE_MARGIN, MAX_DISTANCE = 2.0**-14, 2.0**-16, 2.0**31         # of the box
T_ERROR = 2.0**-40                                                      # of far: what t may be off by, and more
PLANE_ERROR, TINY = 2.0**-44, 1e-300                                    # what a side of a plane may be off by
CALL_ENTRIES, CALL_WORK = 1 << 22, 1 << 22                              # entries, and work, of one call
MAX_MARK = 1 << 30

# Where cells are: the low corner of the box, sides of a cell and cells in a unit, along each axis; the way that the grid begins before the
# box, how much wider faces are taken, the longest side of the box, how far away a ray may start; the scale, for numbers if it makes
# them smaller and for differences if larger, so that none overflows; how many cells there are.
GRID_DTYPE = record_dtype(("margin", "face_margin", "size", "max_distance", "scale_before", "scale_after"),
                          {"low": 3, "side": 3, "inverse_side": 3}, ("x", "y", "z", "cells"))
# A walk of many rays: what is wanted, the address of the exact test, hits so far and room for them, why it stopped, the last ray's mark.
WALK_DTYPE = record_dtype((), {}, ("kind", "exact", "n_hits", "hit_capacity", "reason", "mark", *COUNTERS))


class GridCells(NamedTuple):
    """A grid that has been filled; `motion_record` is where the vertices are (`motion/free.py`)."""
    frame: np.ndarray
    starts: np.ndarray
    items: np.ndarray
    faces: np.ndarray
    flat: np.ndarray
    motion_record: np.ndarray


# --- filling -----------------------------------------------------------------------------------------------------------------------------

@helper
def to_grid(frame, x, k):
    """A coordinate along axis k, from where the grid begins."""
    return (x * frame["scale_before"] - frame["low"][k]) * frame["scale_after"] + frame["margin"]


@helper
def cell_range(frame, a, b, c, k, count):
    """(first, last) of the cells along axis k that may meet a face with corners a, b, c."""
    low = (min(a, min(b, c)) - frame["face_margin"]) * frame["inverse_side"][k]
    high = (max(a, max(b, c)) + frame["face_margin"]) * frame["inverse_side"][k]
    last = np.float64(count - 1)
    return np.int64(min(max(low, 0.0), last)), np.int64(min(max(high, 0.0), last))


@helper
def insert_face(frame, faces, flat, f, starts, items, filling):
    """Count face f in all cells that it may meet, or enter it there; in how many. A cell is one of them if it meets the box around the
    face, and the plane of the face: both a little wider."""
    v, w, q = 3 * np.int64(faces[3 * f]), 3 * np.int64(faces[3 * f + 1]), 3 * np.int64(faces[3 * f + 2])
    ax, ay, az = to_grid(frame, flat[v], 0), to_grid(frame, flat[v + 1], 1), to_grid(frame, flat[v + 2], 2)
    bx, by, bz = to_grid(frame, flat[w], 0), to_grid(frame, flat[w + 1], 1), to_grid(frame, flat[w + 2], 2)
    cx, cy, cz = to_grid(frame, flat[q], 0), to_grid(frame, flat[q + 1], 1), to_grid(frame, flat[q + 2], 2)
    x0, x1 = cell_range(frame, ax, bx, cx, 0, frame["x"])
    y0, y1 = cell_range(frame, ay, by, cy, 1, frame["y"])
    z0, z1 = cell_range(frame, az, bz, cz, 2, frame["z"])
    bx, by, bz, cx, cy, cz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    nx, ny, nz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    longest = max(abs(bx) + abs(by) + abs(bz), abs(cx) + abs(cy) + abs(cz))
    side, margin, error = frame["side"], frame["face_margin"], PLANE_ERROR * longest * longest * frame["size"] + TINY
    hx, hy, hz = side[0], side[1], side[2]
    half_width = abs(nx) * (0.5 * hx + margin) + abs(ny) * (0.5 * hy + margin) + abs(nz) * (0.5 * hz + margin) + error
    entries = 0
    for z in range(z0, z1 + 1):
        over = nz * ((z + 0.5) * hz - az)
        for y in range(y0, y1 + 1):
            height, at = over + ny * ((y + 0.5) * hy - ay), (z * frame["y"] + y) * frame["x"]
            for x in range(x0, x1 + 1):
                if abs(height + nx * ((x + 0.5) * hx - ax)) <= half_width:
                    entries += 1
                    if filling:
                        starts[at + x] -= 1
                        items[starts[at + x]] = f
                    else:
                        starts[at + x] += 1
    return entries


@kernel
def count_entries(frame_array, faces, flat, starts, items, f, n, max_entries):
    """Count entries of the faces from f on, n so far; (the face at which it stopped, how many entries). It stops at CALL_ENTRIES more, and
    beyond `max_entries`."""
    frame, end = frame_array[0], min(n + CALL_ENTRIES, max_entries)
    while f < len(faces) // 3 and n <= end:
        n += insert_face(frame, faces, flat, f, starts, items, False)
        f += 1
    return f, n


@kernel
def prefix_sum(starts):
    """Numbers of entries into where those of a cell end."""
    total = 0
    for c in range(len(starts)):
        total += starts[c]
        starts[c] = total


@kernel
def fill_cells(frame_array, faces, flat, starts, items, f):
    """Enter the faces before f, the last one first; the face at which it stopped. Ends become starts."""
    frame, n = frame_array[0], 0
    while f > 0 and n <= CALL_ENTRIES:
        f -= 1
        n += insert_face(frame, faces, flat, f, starts, items, True)
    return f


def grid_resolution(extent, n):
    """How many cells along each axis: cubes, about n of them; along thin sides one."""
    sides, thin = np.ones(3), np.zeros(3, bool)
    while not thin.all():
        side = (extent[~thin].prod() / n) ** (1 / np.count_nonzero(~thin))
        sides[:], newly_thin = side, ~thin & (extent < side)
        if not newly_thin.any():
            break
        thin |= newly_thin
    return np.where(thin, 1, np.clip(np.rint(extent / sides), 1, MAX_CELLS_PER_AXIS)).astype(np.int64)


def grid_frame(motion, n_faces, resolution):
    """A FRAME for the vertices of a motion; `wanted` (3,) cells, or None."""
    frame_array = aligned_zeros(1, GRID_DTYPE)
    frame, before, after = frame_array[0], min(motion.scale, 1.0), max(motion.scale, 1.0)
    low, high = motion.box[:3] * before, motion.box[4:7] * before
    extent = (high - low) * after
    size = float(extent.max()) or 1.0
    extent += 2 * MARGIN * size
    frame["low"], frame["size"], frame["scale_before"], frame["scale_after"] = low, size, before, after
    frame["margin"], frame["face_margin"], frame["max_distance"] = MARGIN * size, FACE_MARGIN * size, MAX_DISTANCE * size
    set_cells(frame, extent, grid_resolution(extent, min(n_faces, MAX_CELLS)) if resolution is None else resolution)
    return frame_array, extent


def set_cells(frame, extent, cells):
    """Cut the grid into so many cells along each axis."""
    frame["side"], frame["inverse_side"] = extent / cells, cells / extent
    frame["x"], frame["y"], frame["z"], frame["cells"] = *cells.tolist(), int(cells.prod())


def build_grid(motion, faces, resolution, reusable=None):
    """The GridCells of all faces (3 f,), in the arrays of others, if there is enough. Where faces are so large that most would be in very
    many cells, these are made larger."""
    n = len(faces) // 3
    frame_array, extent = grid_frame(motion, n, resolution)
    frame, max_entries, no_items = frame_array[0], min(MAX_PER_FACE * n + MIN_ENTRIES, (1 << 31) - 1), np.zeros(0, np.int32)
    while True:
        starts = reuse_array(None if reusable is None else reusable.starts, int(frame["cells"]) + 1)
        starts[:] = 0
        f = entries = 0
        while f < n and entries <= max_entries:
            f, entries = count_entries(frame_array, faces, motion.flat, starts, no_items, f, entries, max_entries)
        if entries <= max_entries or frame["cells"] == 1:
            break
        cells = np.array([frame["x"], frame["y"], frame["z"]])
        set_cells(frame, extent, np.where(cells > 1, (cells + 1) // 2, 1))
    prefix_sum(starts)
    items, f = reuse_array(None if reusable is None else reusable.items, entries), n
    while f > 0:
        f = fill_cells(frame_array, faces, motion.flat, starts, items, f)
    return GridCells(frame_array, starts, items, faces, motion.flat, motion.record)


def reuse_array(array, n):
    """(n,) int32 of what is there, if it is large enough and not much too large."""
    base = None if array is None else array.base if array.base is not None else array
    return base[:n] if base is not None and n <= len(base) <= 4 * n + MIN_ENTRIES else np.empty(n + n // 8, np.int32)[:n]


# --- walking -----------------------------------------------------------------------------------------------------------------------------

@helper
def test_face(lists, marks, job, ray, hits, t, f):
    """Test face f, unless this ray has; GOING, or FULL. The buffer t holds the ray."""
    if marks[f] == job["mark"]:
        return np.int64(GOING)
    marks[f] = job["mark"]
    job["n_p"] += 1
    for c in range(3):
        v = 3 * np.int64(lists.faces[3 * f + c])
        t[3 * c], t[3 * c + 1], t[3 * c + 2] = lists.flat[v], lists.flat[v + 1], lists.flat[v + 2]
    in_filter_range = lists.motion_record[0]["in_filter_range"]
    hit, ray_t, u, v, exact_used = hit_triangle(t, ray["axis"], in_filter_range, ray["in_filter_range"], job["exact"])
    job["n_exact"] += exact_used
    if hit != HIT or ray_t < ray["t_min"] or not is_closer(ray, ray_t, 0, f):
        return np.int64(GOING)
    if job["kind"] != ALL_HITS:
        ray["best"], ray["u"], ray["v"], ray["face"], ray["body"] = ray_t, u, v, f, 0
        return np.int64(GOING)
    if job["n_hits"] == job["hit_capacity"]:
        return np.int64(FULL)
    record = hits[job["n_hits"]]
    record["ray"], record["t"], record["body"], record["face"], record["u"], record["v"] = ray["ray"], ray_t, 0, f, u, v
    job["n_hits"] += 1
    return np.int64(GOING)


@helper
def test_all_faces(lists, marks, job, ray, hits, t):
    """A ray from so far away that cells cannot be told apart: every face."""
    job["n_v"] += 1
    for f in range(len(lists.faces) // 3):
        if test_face(lists, marks, job, ray, hits, t, f) == FULL:
            return np.int64(FULL)
        if job["kind"] == ANY_HIT and ray["face"] >= 0:
            break
    return np.int64(GOING)


@helper
def cell_at(x, over, count):
    """The number of the cell at x, along one axis."""
    return np.int64(min(max(x * over, 0.0), np.float64(count - 1)))


@helper
def crossing_time(i, side, q, over):
    """When a ray from q comes to where cell i begins; never, if it does not move."""
    return (i * side - q) * over if abs(over) < np.inf else np.inf


@helper
def time_limit(ray, scale, margin):
    """The last time at which a cell may be entered with something in it that counts."""
    t = ray["best"] * ray["scale"]
    return (t + (FLOAT64_ERROR * abs(t) + UNDERFLOW_BOUND)) * scale + margin


@helper
def traverse_cells(lists, marks, job, state, world, hits, t):
    """Look for what the first ray of `world` meets, cell by cell; GOING, or FULL. Times are those of its steps, times the scale."""
    frame, motion_record, o = lists.frame[0], lists.motion_record[0], state["o"]
    step = world[STEP * BATCH], world[(STEP + 1) * BATCH], world[(STEP + 2) * BATCH]
    inverse = world[INV_STEP * BATCH], world[(INV_STEP + 1) * BATCH], world[(INV_STEP + 2) * BATCH]
    near, far = box_interval(world, 0, motion_record["box"], 0, world[T_MIN * BATCH], world[T_BEST * BATCH])
    if not near <= far:
        return np.int64(GOING)
    x, y, z = to_grid(frame, o[0], 0), to_grid(frame, o[1], 1), to_grid(frame, o[2], 2)
    distance, scale, side = max(abs(x), max(abs(y), abs(z))) + frame["size"], motion_record["scale"], frame["side"]
    margin = T_ERROR * distance / max(abs(step[0]), max(abs(step[1]), abs(step[2])))
    begin, limit = near * scale - margin, far * scale + margin
    if not (distance <= frame["max_distance"] and abs(begin) < np.inf): # infinite: the way to the box is, before it is scaled
        return test_all_faces(lists, marks, job, state, hits, t)
    cells_x, cells_y, cells_z = frame["x"], frame["y"], frame["z"]
    i, j, k = (cell_at(x + begin * step[0], frame["inverse_side"][0], cells_x),
               cell_at(y + begin * step[1], frame["inverse_side"][1], cells_y),
               cell_at(z + begin * step[2], frame["inverse_side"][2], cells_z))
    up_x, up_y, up_z = np.int64(step[0] > 0), np.int64(step[1] > 0), np.int64(step[2] > 0)
    next_x, next_y, next_z = (crossing_time(i + up_x, side[0], x, inverse[0]), crossing_time(j + up_y, side[1], y, inverse[1]),
                              crossing_time(k + up_z, side[2], z, inverse[2]))
    step_x, step_y, step_z = 2 * up_x - 1, 2 * up_y - 1, 2 * up_z - 1
    while True:
        at, best = (k * cells_y + j) * cells_x + i, state["best"]
        job["n_v"] += 1
        for e in range(lists.starts[at], lists.starts[at + 1]):         # corners are on their way before the first is needed: 10 %
            f = np.int64(lists.items[e])
            if marks[f] != job["mark"]:
                for c in range(3):
                    prefetch(lists.flat, 3 * np.int64(lists.faces[3 * f + c]))
        for e in range(lists.starts[at], lists.starts[at + 1]):
            if test_face(lists, marks, job, state, hits, t, np.int64(lists.items[e])) == FULL:
                return np.int64(FULL)
        if job["kind"] == ANY_HIT and state["face"] >= 0:
            break
        if state["best"] != best:
            limit = min(limit, time_limit(state, scale, margin))
        if next_x <= next_y and next_x <= next_z:
            now, i = next_x, i + step_x
            if i < 0 or i >= cells_x:
                break
            next_x = crossing_time(i + up_x, side[0], x, inverse[0])
        elif next_y <= next_z:
            now, j = next_y, j + step_y
            if j < 0 or j >= cells_y:
                break
            next_y = crossing_time(j + up_y, side[1], y, inverse[1])
        else:
            now, k = next_z, k + step_z
            if k < 0 or k >= cells_z:
                break
            next_z = crossing_time(k + up_z, side[2], z, inverse[2])
        if now > limit:
            break
    return np.int64(GOING)


@kernel
def trace_grid(rays, results, lists, marks, state_array, ray_states, world, hits, r, end):
    """Answer the rays from r on; the one at which it stopped, for the reason in the WALK_DTYPE, or for want of time."""
    job, ray, t = state_array[0], ray_states[0], stack_float64(BUFFER_SIZE)
    work_limit = work_done(job) + CALL_WORK
    job["reason"] = GOING
    while r < end and work_done(job) < work_limit:
        traits, hits_before = load_rays4(rays, r, r, r, r, world, 0), job["n_hits"]
        init_ray_state(rays, r, ray, world, 0, traits)
        n_v, n_p, n_exact = job["n_v"], job["n_p"], job["n_exact"]
        if traits.valid & 1 != 0 and ray["mask"] != 0:
            job["mark"] += 1
            for k in range(3):
                t[ORIGIN + k], t[DIRECTION + k] = ray["o"][k], ray["d"][k]
            if traverse_cells(lists, marks, job, ray, world, hits, t) == FULL:
                job["reason"], job["n_hits"], job["n_v"], job["n_p"], job["n_exact"] = FULL, hits_before, n_v, n_p, n_exact
                return r
        if job["kind"] != ALL_HITS:
            store_result(results, ray)
        r += 1
    return r


class GridJob(RayJob):
    """All rays of a query into a grid."""

    def __init__(self, rays, kind, lists):
        super().__init__(rays, kind)
        self.lists = lists

    def trace_chunks(self, cancel):
        """Answer chunks until there are none."""
        state_array, ray_states = aligned_zeros(1, WALK_DTYPE), aligned_zeros(4, RAY_DTYPE)
        marks = np.zeros(len(self.lists.faces) // 3, np.int32)
        hits, job, world = np.zeros(FIRST_HITS if self.kind == ALL_HITS else 1, HIT_DTYPE), state_array[0], np.zeros(N_WORLD_ROWS * BATCH)
        job["kind"], job["exact"], job["hit_capacity"] = self.kind, exact_test_entry()[0], len(hits)
        while not cancel.is_set():
            r, end = self.next_chunk()
            if r == end:
                break
            while r < end and not cancel.is_set():
                if job["mark"] > MAX_MARK:
                    marks[:], job["mark"] = 0, 0
                r = trace_grid(self.rays, self.results, self.lists, marks, state_array, ray_states, world, hits, r, end)
                if job["reason"] == FULL:
                    hits = grow_hits(hits)
                    job["hit_capacity"] = len(hits)
        with self.lock:
            self.counters = [total + int(job[name]) for total, name in zip(self.counters, COUNTERS, strict=True)]
            self.hit_chunks.append(hits[:int(job["n_hits"])])
