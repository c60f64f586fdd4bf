"""Spatial hashing, a baseline of paper M (Teschner, Heidelberger, Müller, Pomeranets and Gross, 2003), compiled.

All vertices are deformed; space is divided into cells as large as a mean edge, and every triangle is entered in the cells that its box
overlaps; a hash function maps cells to slots of a table. Triangles of two bodies in one cell are tested: boxes first, then exactly, with
the test of the library, so that the pairs are the same. A pair is tested only in the lowest cell that both boxes overlap.

    cells     (t, 6) int32, the lowest and the highest cell of each triangle     begins    (size + 1,) int64, where a slot's entries begin
    boxes     (t, 6) float64                                                     entries   (e, 4) int32, a triangle and a cell
"""

import numpy as np

import pliant as pl
from experiments.steinemann2008.clock import OTHERS, Answer
from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, kernel
from pliant.core.stack import stack_float64
from pliant.query.collide.leaf_overlap import exact_entry
from pliant.results import Stats

NAME = "spatial hashing"
PRIMES = 73_856_093, 19_349_663, 83_492_791  # of the paper
PLACES = 2  # slots of the table for each triangle, at least


@helper
def place_of(x, y, z, mask):
    """The slot of a cell."""
    return ((x * PRIMES[0]) ^ (y * PRIMES[1]) ^ (z * PRIMES[2])) & mask


@kernel
def measure(vertices, faces, first, size, cells, boxes, counts):
    """Boxes and cells of the triangles of one body, numbered from `first` on; counts the entries of each slot."""
    mask = len(counts) - 1
    for f in range(len(faces)):
        t = first + f
        for k in range(3):
            low = high = vertices[faces[f, 0], k]
            for c in range(1, 3):
                low, high = min(low, vertices[faces[f, c], k]), max(high, vertices[faces[f, c], k])
            boxes[t, k], boxes[t, k + 3] = low, high
            cells[t, k], cells[t, k + 3] = np.int32(np.floor(low / size)), np.int32(np.floor(high / size))
        for x in range(np.int64(cells[t, 0]), np.int64(cells[t, 3]) + 1):
            for y in range(np.int64(cells[t, 1]), np.int64(cells[t, 4]) + 1):
                for z in range(np.int64(cells[t, 2]), np.int64(cells[t, 5]) + 1):
                    counts[place_of(x, y, z, mask)] += 1


@kernel
def begin(counts, begins):
    """Where the entries of each slot begin; `counts` are the next free positions."""
    total = 0
    for i in range(len(counts)):
        begins[i] = total
        total += counts[i]
        counts[i] = begins[i]
    begins[len(counts)] = total
    return total


@kernel
def put(cells, nexts, entries):
    """Enter all triangles into all their slots, in order."""
    mask = len(nexts) - 1
    for t in range(len(cells)):
        for x in range(np.int64(cells[t, 0]), np.int64(cells[t, 3]) + 1):
            for y in range(np.int64(cells[t, 1]), np.int64(cells[t, 4]) + 1):
                for z in range(np.int64(cells[t, 2]), np.int64(cells[t, 5]) + 1):
                    place = place_of(x, y, z, mask)
                    at = nexts[place]
                    entries[at, 0], entries[at, 1], entries[at, 2], entries[at, 3] = t, x, y, z
                    nexts[place] = at + 1


@kernel
def search(begins, entries, cells, boxes, body, corners, vertices, exact, found, counts):
    """Pairs of intersecting triangles (a, b) of two bodies; returns their number, also if it exceeds the size of `found`. `exact`: the
    address of the test. counts: pairs of entries, pairs of overlapping boxes."""
    n, t = 0, stack_float64(18)
    for place in range(len(begins) - 1):
        start, end = begins[place], begins[place + 1]
        if end - start < 2 or body[entries[start, 0]] == body[entries[end - 1, 0]]:
            continue
        for i in range(start, end - 1):
            a = entries[i, 0]
            for j in range(i + 1, end):
                b = entries[j, 0]
                if body[a] == body[b]:
                    continue
                counts[0] += 1
                here = True
                for k in range(3):
                    here &= entries[i, k + 1] == entries[j, k + 1] and entries[i, k + 1] == max(cells[a, k], cells[b, k])
                    here &= boxes[a, k] <= boxes[b, k + 3] and boxes[b, k] <= boxes[a, k + 3]
                if not here:
                    continue
                counts[1] += 1
                for c in range(3):
                    for k in range(3):
                        t[3 * c + k], t[9 + 3 * c + k] = vertices[corners[a, c], k], vertices[corners[b, c], k]
                if call_address(exact, t, np.int64(1)) & 1:
                    if n < len(found):
                        found[n, 0], found[n, 1] = a, b
                    n += 1
    return n


class Hashing:
    """All bodies of a scene in one table; steps like `experiments.steinemann2008.clock.Keeper`."""

    def __init__(self, scene):
        rest, faces = scene.body.rest, scene.body.faces
        self.bodies = [pl.Body.blended(rest, faces, scene.body.weights, policy="bottom_up") for _ in range(scene.bodies)]
        edges = rest[faces] - rest[np.roll(faces, 1, axis=1)]
        self.size, self.faces = float(np.linalg.norm(edges, axis=2).mean()), np.ascontiguousarray(faces, np.int64)
        total = len(faces) * scene.bodies
        self.cells, self.boxes = np.zeros((total, 6), np.int32), np.zeros((total, 6))
        self.counts = np.zeros(1 << (PLACES * total - 1).bit_length(), np.int64)
        self.begins, self.entries = np.zeros(len(self.counts) + 1, np.int64), np.zeros((0, 4), np.int32)
        self.body = np.repeat(np.arange(scene.bodies, dtype=np.int32), len(faces))
        self.corners = np.concatenate([self.faces + k * len(rest) for k in range(scene.bodies)])
        self.vertices, self.found = np.zeros((len(rest) * scene.bodies, 3)), np.zeros((1 << 12, 2), np.int64)
        self.step(scene.frame(0))

    def load(self, frame):
        """Deform, and fill the table."""
        self.counts[:] = 0
        n, m = len(self.vertices) // len(self.bodies), len(self.faces)
        for k, (body, maps) in enumerate(zip(self.bodies, frame, strict=True)):
            body.update(maps)
            self.vertices[k * n : (k + 1) * n] = body.vertices
            measure(self.vertices[k * n : (k + 1) * n], self.faces, k * m, self.size, self.cells, self.boxes, self.counts)
        total = begin(self.counts, self.begins)
        if total > len(self.entries):
            self.entries = np.zeros((total + total // 4, 4), np.int32)
        put(self.cells, self.counts, self.entries)

    def query(self):
        """All pairs."""
        counts = np.zeros(2, np.int64)
        while True:
            n = search(self.begins, self.entries, self.cells, self.boxes, self.body, self.corners, self.vertices, exact_entry()[0],
                       self.found, counts)  # fmt: skip
            if n <= len(self.found):
                break
            self.found, counts = np.zeros((2 * n, 2), np.int64), np.zeros(2, np.int64)
        pairs = self.found[:n]
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0], self.body[pairs[:, 1]], self.body[pairs[:, 0]]))]
        return Answer(self.body[pairs].astype(np.int64), (pairs % len(self.faces)).astype(np.int32), Stats(int(counts[0]), int(counts[1])))

    def step(self, frame, clock=None):
        """Seconds of filling the table, seconds of the query, and the answer."""
        clock = clock or (lambda: 0.0)
        t0 = clock()
        self.load(frame)
        t1 = clock()
        found = self.query()
        return t1 - t0, clock() - t1, found


def register():
    """Add it to the methods of paper M's experiments."""
    OTHERS[NAME] = Hashing
