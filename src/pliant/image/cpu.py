"""The image engine on the CPU: what `pipeline.py` asks for, over arrays of NumPy."""
from typing import NamedTuple

import numpy as np

from pliant.core import threads as pool
from pliant.image import intersect_cpu
from pliant.image.estimate import MAX_SHARED, estimate_missed
from pliant.image.passes_cpu import adjacent_pairs, bounds, merge, pack, project, separate, survey
from pliant.image.sample import MAX_KEY, MIN_KEY
from pliant.image.sample_cpu import (
    count_faces,
    count_shared_rays,
    finish_rays,
    for_row_blocks,
    layout_lists,
    list_faces,
    peel_faces,
    start_rays,
    test_pixels,
    update_rays,
)
from pliant.image.screen import STRIDE, SURVEY_CELLS, SURVEY_SIZE, common_box, frame_of, scale_to, survey_step
from pliant.image.watertight import is_closed

PIXEL_CHUNK = 1 << 16                                                   # and vertices, at a time


class Part(NamedTuple):
    """A surface: float64 vertices, flat, all finite; are they in the range of the filters; int32 faces, flat."""
    vertices: np.ndarray
    in_filter_range: bool
    faces: np.ndarray


def cpu_part(subject):
    """Where a surface is now."""
    flat, in_filter_range, _ = subject._world_vertices()
    return Part(flat, in_filter_range, subject._welded_faces.reshape(-1))


class CpuEngine:
    """One or two surfaces (`surface.py`), of which the first's faces and vertices come first; `is_self`: one with itself."""

    FRAGMENTS_PER_FACE, MIN_FRAGMENTS = 8.0, 1 << 14                    # fragments of a face, and in any case: finer screens do not pay

    def __init__(self, subjects):
        parts = [cpu_part(subject) for subject in subjects]
        self.subjects, self.parts, self.is_self = subjects, parts, len(parts) == 1
        self.first_b, self.shift = len(parts[0].faces) // 3, len(parts[0].vertices) // 3
        self.faces = parts[0].faces if self.is_self else np.concatenate([parts[0].faces, parts[1].faces + np.int32(self.shift)])
        self.in_filter_range = all(part.in_filter_range for part in parts)
        self.screen = np.empty(STRIDE * sum(len(part.vertices) // 3 for part in parts), np.float32)
        self.sent = 0

    def __len__(self):
        return len(self.faces) // 3

    def inspect(self, rotation):
        """(some vertex, boxes (m, 2, 3) around the parts, turned about it, what `survey` counts of some faces)."""
        centre, boxes, layers = self.parts[0].vertices[:3].copy(), np.empty((len(self.parts), 2, 3)), np.zeros(SURVEY_SIZE, np.float32)
        for box, part in zip(boxes, self.parts, strict=True):
            bounds(part.vertices, frame_of(rotation, centre), box)
        common = common_box(boxes)
        if common is not None:
            frame = frame_of(rotation, centre, common[0], scale_to(common, np.float64(SURVEY_CELLS)))
            for part, shift, begin, end in zip(self.parts, (0, self.shift), (0, self.first_b), (self.first_b, len(self)), strict=False):
                survey(part.vertices, self.faces, shift, begin, end, survey_step(len(self)), frame, layers)
        return centre, boxes, layers

    def set_viewport(self, view, fragments):
        """Put all vertices on the screen; about so many fragments are to be expected there."""
        self.view, self.area, first = view, fragments / max(len(self), 1), 0
        for part in self.parts:
            n = len(part.vertices) // 3
            pool.map_chunks(n, PIXEL_CHUNK, lambda begin, end, part=part, first=first: project(
                part.vertices, view.frame, first, self.screen, begin, end))
            first += n

    def closed(self):
        """Are all parts closed?"""
        return all(is_closed(part.faces) for part in self.parts)

    # --- pass 1 ------------------------------------------------------------------------------------------------------------------

    def sample(self):
        """Put on the pixels in which something may collide."""
        view = self.view
        error_xy, error_z, size = view.error_xy, view.error_z, view.size
        counts, begins = np.zeros(size * size, np.int64), np.empty(size * size + 1, np.int32)
        self.active = np.empty(size * size, np.uint8)
        for_row_blocks(size, len(self), self.area, lambda *part: count_faces(
            self.screen, self.faces, self.first_b, error_xy, error_z, size, *part, counts))
        self.fragments, self.deepest = layout_lists(counts, self.is_self, begins, self.active)
        self.passes, fragments = 0, np.empty(self.fragments, np.int64)
        for_row_blocks(size, len(self), self.area, lambda *part: list_faces(
            self.screen, self.faces, self.first_b, error_xy, error_z, size, *part, begins, counts, fragments))
        pool.map_chunks(size * size, PIXEL_CHUNK, lambda begin, end: test_pixels(
            self.faces, self.first_b, self.is_self, begin, end, begins, fragments, self.active))

    def peel(self, closed, passes, ends, mark):
        """Put on the rays in which something collides, by peeling."""
        view = self.view
        error_xy, error_z, size = view.error_xy, view.error_z, view.size
        n = size * size
        counts, self.active = np.zeros(n, np.int64), np.empty(n, np.uint8)
        fronts, backs = np.full(n, MIN_KEY), np.full(n, MAX_KEY)
        next_fronts, next_backs = np.full(n, MAX_KEY), np.full(n, MIN_KEY)

        def peel_once(counting):
            for_row_blocks(size, len(self), self.area, lambda *part: peel_faces(
                self.screen, self.faces, error_xy, error_z, size, *part, counting, counts, fronts, backs, next_fronts, next_backs))
        peel_once(True)
        self.fragments, self.deepest = start_rays(closed, counts, self.active)
        needed = -(-self.deepest // ends)
        self.passes = needed if passes is None else min(passes, needed)
        for done in range(self.passes):
            peel_once(False)
            pool.map_chunks(n, PIXEL_CHUNK, lambda begin, end, done=done: update_rays(
                self.screen, self.faces, self.first_b, self.is_self, error_xy, error_z, begin, end, done, ends, closed, counts, fronts,
                backs,
                next_fronts, next_backs, self.active))
        self.dropped = finish_rays(counts, ends * self.passes, mark, self.active)

    def sampling_counts(self):
        """(the most faces on one ray, passes, fragments, rays that are on, faces left)."""
        return int(self.deepest), int(self.passes), int(self.fragments), int(np.count_nonzero(self.active)), len(self.packed_faces)

    # --- passes 2 to 5 -----------------------------------------------------------------------------------------------------------

    def merge(self, margin):
        self.margin, self.texels = margin, merge(self.active, self.view.size, margin)

    def separate(self):
        self.face_boxes = separate(self.screen, self.faces, self.view, self.margin, self.active, *self.texels)

    def pack(self):
        self.packed_faces, self.pixels = pack(self.face_boxes)

    def intersect(self, first, adjacent):
        """(keys of non-adjacent faces, of adjacent ones, boxes compared, pairs tested, how many exactly, faces in candidates)."""
        a, b = self.parts[0].vertices, self.parts[-1].vertices
        keys, box_tests, tested, n_exact, candidate_faces = intersect_cpu.intersect_faces(
            self.screen, self.faces, self.view, self.packed_faces, self.pixels, a, b, self.first_b,
                                                          self.shift, self.is_self, self.in_filter_range, first)
        if not adjacent or (first and len(keys)):
            return keys, keys[:0], box_tests, tested, n_exact, candidate_faces
        adjacent_keys, pairs, exact = adjacent_pairs(self.subjects[0], first)
        return keys, adjacent_keys, box_tests, tested + pairs, n_exact + exact, candidate_faces

    def estimate_missed(self, keys):
        """About how many pairs were missed."""
        histogram = np.zeros(MAX_SHARED + 1, np.int64)
        for begin in range(0, len(keys), PIXEL_CHUNK):
            count_shared_rays(self.screen, self.faces, keys[begin:begin + PIXEL_CHUNK], self.view.error_xy, self.view.error_z,
                              self.view.size, self.margin,
                              self.active, histogram)
        return estimate_missed(histogram, self.fragments - self.dropped, self.dropped)
