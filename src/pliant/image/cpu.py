"""The image engine on the CPU: what `pipeline.py` asks for, over arrays of NumPy."""
from typing import NamedTuple

import numpy as np

from pliant.core import threads as pool
from pliant.image import intersect_cpu
from pliant.image.around_cpu import around
from pliant.image.estimate import ENOUGH, unseen
from pliant.image.merge_cpu import merge
from pliant.image.pack_cpu import pack
from pliant.image.sample import AFTER, BEFORE
from pliant.image.sample_cpu import count, end_rays, fill, judge_rays, lay_out, look, over_rows, peel, start_rays, tally_rays
from pliant.image.screen import CELLS, STRIDE, SURVEY, common_box, frame_of, scale_to, step_for
from pliant.image.screen_cpu import bounds, project, survey
from pliant.image.separate_cpu import separate
from pliant.image.watertight import is_closed

PIXELS = 1 << 16                                                        # and vertices, at a time


class Part(NamedTuple):
    """A surface: float64 vertices, flat, all finite; are they in the range of the filters; int32 faces, flat."""
    vertices: np.ndarray
    plain: bool
    faces: np.ndarray


def part_of(subject):
    """Where a surface is now."""
    flat, plain, _ = subject.placed_vertices()
    return Part(flat, plain, subject.corners.reshape(-1))


class OnCpu:
    """One or two surfaces (`surface.py`), of which the first's faces and vertices come first; `itself`: one with itself."""

    EACH, FEW = 8.0, 1 << 14                                            # fragments of a face, and in any case: finer screens do not pay

    def __init__(self, subjects):
        parts = [part_of(subject) for subject in subjects]
        self.subjects, self.parts, self.itself = subjects, parts, len(parts) == 1
        self.first_b, self.shift = len(parts[0].faces) // 3, len(parts[0].vertices) // 3
        self.faces = parts[0].faces if self.itself else np.concatenate([parts[0].faces, parts[1].faces + np.int32(self.shift)])
        self.plain = all(part.plain for part in parts)
        self.screen = np.empty(STRIDE * sum(len(part.vertices) // 3 for part in parts), np.float32)
        self.sent = 0

    def __len__(self):
        return len(self.faces) // 3

    def outline(self, turn):
        """(some vertex, boxes (m, 2, 3) around the parts, turned about it, what `add_layers` counts of some faces)."""
        centre, boxes, layers = self.parts[0].vertices[:3].copy(), np.empty((len(self.parts), 2, 3)), np.zeros(SURVEY, np.float32)
        for box, part in zip(boxes, self.parts, strict=True):
            bounds(part.vertices, frame_of(turn, centre), box)
        common = common_box(boxes)
        if common is not None:
            frame = frame_of(turn, centre, common[0], scale_to(common, np.float64(CELLS)))
            for part, shift, begin, end in zip(self.parts, (0, self.shift), (0, self.first_b), (self.first_b, len(self)), strict=False):
                survey(part.vertices, self.faces, shift, begin, end, step_for(len(self)), frame, layers)
        return centre, boxes, layers

    def look_through(self, view, fragments):
        """Put all vertices on the screen; about so many fragments are to be expected there."""
        self.view, self.area, first = view, fragments / max(len(self), 1), 0
        for part in self.parts:
            n = len(part.vertices) // 3
            pool.in_chunks(n, PIXELS, lambda begin, end, part=part, first=first: project(
                part.vertices, view.frame, first, self.screen, begin, end))
            first += n

    def closed(self):
        """Are all parts closed?"""
        return all(is_closed(part.faces) for part in self.parts)

    # --- pass 1 ------------------------------------------------------------------------------------------------------------------

    def sample(self):
        """Put on the pixels in which something may collide."""
        view = self.view
        slack, slack_z, size = view.slack, view.slack_z, view.size
        counts, begins = np.zeros(size * size, np.int64), np.empty(size * size + 1, np.int32)
        self.on = np.empty(size * size, np.uint8)
        over_rows(size, len(self), self.area, lambda *part: count(
            self.screen, self.faces, self.first_b, slack, slack_z, size, *part, counts))
        self.fragments, self.deepest = lay_out(counts, self.itself, begins, self.on)
        self.passes, listed = 0, np.empty(self.fragments, np.int64)
        over_rows(size, len(self), self.area, lambda *part: fill(
            self.screen, self.faces, self.first_b, slack, slack_z, size, *part, begins, counts, listed))
        pool.in_chunks(size * size, PIXELS, lambda begin, end: look(
            self.faces, self.first_b, self.itself, begin, end, begins, listed, self.on))

    def peel(self, closed, passes, ends, mark):
        """Put on the rays in which something collides, by peeling."""
        view = self.view
        slack, slack_z, size = view.slack, view.slack_z, view.size
        n = size * size
        counts, self.on = np.zeros(n, np.int64), np.empty(n, np.uint8)
        fronts, backs = np.full(n, BEFORE), np.full(n, AFTER)
        next_fronts, next_backs = np.full(n, AFTER), np.full(n, BEFORE)

        def once(counting):
            over_rows(size, len(self), self.area, lambda *part: peel(
                self.screen, self.faces, slack, slack_z, size, *part, counting, counts, fronts, backs, next_fronts, next_backs))
        once(True)
        self.fragments, self.deepest = start_rays(closed, counts, self.on)
        needed = -(-self.deepest // ends)
        self.passes = needed if passes is None else min(passes, needed)
        for done in range(self.passes):
            once(False)
            pool.in_chunks(n, PIXELS, lambda begin, end, done=done: judge_rays(
                self.screen, self.faces, self.first_b, self.itself, slack, slack_z, begin, end, done, ends, closed, counts, fronts, backs,
                next_fronts, next_backs, self.on))
        self.dropped = end_rays(counts, ends * self.passes, mark, self.on)

    def sampled(self):
        """(the most faces on one ray, passes, fragments, rays that are on, faces left)."""
        return int(self.deepest), int(self.passes), int(self.fragments), int(np.count_nonzero(self.on)), len(self.left)

    # --- passes 2 to 5 -----------------------------------------------------------------------------------------------------------

    def merge(self, margin):
        self.margin, self.texels = margin, merge(self.on, self.view.size, margin)

    def separate(self):
        self.sparse = separate(self.screen, self.faces, self.view, self.margin, self.on, *self.texels)

    def pack(self):
        self.left, self.pixels = pack(self.sparse)

    def meet(self, first, adjacent):
        """(keys of faces apart in the mesh, of neighbours, boxes compared, pairs tested, how many exactly, faces in candidates)."""
        a, b = self.parts[0].vertices, self.parts[-1].vertices
        keys, looks, tested, exactly, met = intersect_cpu.meet(self.screen, self.faces, self.view, self.left, self.pixels, a, b, self.first_b,
                                                          self.shift, self.itself, self.plain, first)
        if not adjacent or (first and len(keys)):
            return keys, keys[:0], looks, tested, exactly, met
        more, pairs, exact = around(self.subjects[0], first)
        return keys, more, looks, tested + pairs, exactly + exact, met

    def unseen(self, keys):
        """About how many pairs were missed."""
        tally = np.zeros(ENOUGH + 1, np.int64)
        for begin in range(0, len(keys), PIXELS):
            tally_rays(self.screen, self.faces, keys[begin:begin + PIXELS], self.view.slack, self.view.slack_z, self.view.size, self.margin,
                       self.on, tally)
        return unseen(tally, self.fragments - self.dropped, self.dropped)
