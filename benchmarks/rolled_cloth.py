"""Continuous collision and contact features of a cloth of 100,352 triangles, against the IPC toolkit.

    python -m benchmarks.rolled_cloth               one step of a rolled cloth; a flat cloth in its plane; rest; motion along an axis
    python -m benchmarks.rolled_cloth --contacts    pairs of features of the rolled cloth within a thickness

The cloth is a square sheet, rolled up to a spiral whose layers are one edge apart. Every vertex moves by 0.1 to 0.5 edges, in long waves,
so that layers come closer and part but stay apart. A frame is one step: vertices at both ends in, step size and impacts out. All times are
processor time, on one thread, in turns, the median of all frames; the vertices of each frame are new.
"""

import argparse
import os
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "PLIANT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - threads are set before

import pliant as pl  # noqa: E402

GAP = 1.0  # between layers, in edges


def sheet(n):
    """Faces (2 n², 3) of a grid of (n + 1)² vertices, row by row."""
    at = np.arange(n * (n + 1)).reshape(n, n + 1)[:, :-1].ravel()
    return np.stack([np.stack([at, at + 1, at + n + 2], 1), np.stack([at, at + n + 2, at + n + 1], 1)], 1).reshape(-1, 3)


def rolled(n, phase=0.0):
    """Vertices ((n + 1)², 3) of the sheet, rolled about the y axis: edges are 1 long, layers GAP apart."""
    rate, inner = GAP / (2 * np.pi), 2.0
    length = np.arange(n + 1, dtype=float)
    angle = (np.sqrt(inner**2 + 2 * rate * length) - inner) / rate + phase  # of an Archimedean spiral, nearly
    radius = inner + rate * (angle - phase)
    x, z = radius * np.cos(angle), radius * np.sin(angle)
    y = np.arange(n + 1, dtype=float)
    return np.stack([np.repeat(x, n + 1), np.tile(y, n + 1), np.repeat(z, n + 1)], 1)


def waves(vertices, frame):
    """Displacements of 0.1 to 0.5 edges, in long waves."""
    rng = np.random.default_rng(frame)
    out = np.zeros_like(vertices)
    for _ in range(4):
        direction, way, shift = rng.normal(size=3) / 12.0, rng.normal(size=3), rng.uniform(0, 2 * np.pi)
        out += way * np.sin(vertices @ direction + shift)[:, None]
    size = np.linalg.norm(out, axis=1, keepdims=True)
    return out / np.maximum(size, 1e-9) * np.interp(size, [size.min(), size.max()], [0.1, 0.5])


def steps(n, frames):
    """{name: [(start, end) of each frame]}."""
    flat = np.stack([np.repeat(np.arange(n + 1.0), n + 1), np.tile(np.arange(n + 1.0), n + 1), np.zeros((n + 1) ** 2)], 1)
    named = {"rolled": [], "rest": [], "axis": [], "flat": []}
    for k in range(frames):
        start = rolled(n, 0.1 * k)
        named["rolled"].append((start, start + waves(start, k)))
        named["rest"].append((start, start))
        named["axis"].append((start, start + np.array([0.0, 0.3, 0.0]) * (1 + np.sin(start[:, 1:2] / 20 + k))))
        move = waves(flat, k) * [1, 1, 0]
        named["flat"].append((flat, flat + 0.5 * move))
    return named


class Toolkit:
    """The IPC toolkit: candidates, then the largest step."""

    def __init__(self, vertices, faces, method):
        import ipctk

        self.package, self.method = ipctk, method
        ipctk.set_num_threads(1)
        ipctk.set_logger_level(ipctk.LoggerLevel.error)
        self.mesh = ipctk.CollisionMesh(np.asfortranarray(vertices), ipctk.edges(faces), faces)

    def step(self, start, end):
        """(step, seconds of candidates, seconds of the narrow phase, number of candidates)."""
        start, end = np.asfortranarray(start), np.asfortranarray(end)
        begin = time.process_time()
        candidates = self.package.Candidates()
        candidates.build(self.mesh, start, end, 0.0)
        middle = time.process_time()
        ccd = self.package.TightInclusionCCD() if self.method == "inclusion" else self.package.AdditiveCCD()
        size = candidates.compute_collision_free_stepsize(self.mesh, start, end, 0.0, ccd)
        return size, middle - begin, time.process_time() - middle, len(candidates)

    def near(self, vertices, tolerance):
        """(number of collisions within the tolerance, seconds): candidates, and their distances."""
        vertices = np.asfortranarray(vertices)
        begin = time.process_time()
        candidates, collisions = self.package.Candidates(), self.package.NormalCollisions()
        candidates.build(self.mesh, vertices, tolerance / 2)
        collisions.build(candidates, self.mesh, vertices, tolerance)
        return len(collisions), time.process_time() - begin, len(candidates)


def draped(n, frame):
    """(vertices of a cloth, vertices and faces of a body under it): hills that grow from frame to frame; the cloth is 0.1 edges above."""
    def height(x, y):
        return 6 * np.sin(x / 17 + 0.02 * frame) * np.cos(y / 23 - 0.03 * frame)
    x, y = np.repeat(np.arange(n + 1.0), n + 1), np.tile(np.arange(n + 1.0), n + 1)
    coarse = n // 2
    u, v = np.repeat(np.linspace(0.3, n - 0.3, coarse + 1), coarse + 1), np.tile(np.linspace(0.2, n - 0.4, coarse + 1), coarse + 1)
    return np.stack([x, y, height(x, y) + 0.1], 1), np.stack([u, v, height(u, v)], 1), sheet(coarse).astype(np.int32)


def contact_scenes(n, frames):
    """(name, tolerance, [the vertices of each body in each frame], faces of each body)."""
    faces = sheet(n).astype(np.int32)
    rolls = [(rolled(n, 0.1 * k) + waves(rolled(n, 0.1 * k), k),) for k in range(frames)]
    for tolerance in (0.2, 0.5, 0.9):
        yield "rolled cloth", tolerance, rolls, (faces,)
    drapes = [draped(n, k) for k in range(frames)]
    for tolerance in (0.2, 0.5):
        yield "cloth on a body", tolerance, [frame[:2] for frame in drapes], (faces, drapes[0][2])


def measure_contacts(n, frames, peers):
    for name, tolerance, rows, faces in contact_scenes(n, frames + 1):
        bodies = [pl.Body(vertices, each) for vertices, each in zip(rows[0], faces, strict=True)]
        starts = np.cumsum([0, *map(len, rows[0])])
        both = Toolkit(np.concatenate(rows[0]), np.concatenate([f + k for f, k in zip(faces, starts, strict=False)]), "") if peers else None
        ours, theirs = [], []
        for k, frame in enumerate(rows):
            begin = time.process_time()
            for body, vertices in zip(bodies, frame, strict=True):
                body.update(vertices)
            found = [pl.self_within(body, tolerance, features=True) for body in bodies]
            found += [pl.within(*bodies, tolerance, features=True)] if len(bodies) == 2 else []
            seconds = time.process_time() - begin
            theirs.append(both.near(np.concatenate(frame), tolerance) if peers else (0, 0.0, 0))
            if k:
                ours.append(seconds)
        count, other, n_candidates = np.median(theirs[1:], axis=0)
        print(f"{name}, {sum(map(len, faces)):,} triangles, within {tolerance} edges: {1000 * np.median(ours):.1f} ms, "
              f"{sum(map(len, found)):,} pairs of features; IPC toolkit {1000 * other:.1f} ms, {n_candidates:,.0f} candidates, "
              f"{count:,.0f} collisions; {other / np.median(ours):.1f} ×", flush=True)


def measure_steps(n, frames, peers):
    faces = sheet(n).astype(np.int32)
    for name, rows in steps(n, frames + 1).items():
        body = pl.Body(rows[0][0], faces)
        methods = ("inclusion", "additive") if peers and name == "rolled" else ()
        toolkits = {method: Toolkit(rows[0][0], faces, method) for method in methods}
        ours, theirs, sizes = [], {method: [] for method in toolkits}, []
        for k, (start, end) in enumerate(rows):
            begin = time.process_time()
            body.update(start)
            updated = time.process_time()
            step = pl.self_step_size(body, end, check=False)
            stepped = time.process_time()
            impacts = pl.self_ccd(body, end)
            done = time.process_time()
            row = [step]
            for method, toolkit in toolkits.items():
                size, first, second, count = toolkit.step(start, end)
                theirs[method].append((first, second, count))
                row.append(size)
            if k:                                                       # the first frame compiles
                ours.append((updated - begin, stepped - updated, done - stepped))
                sizes.append(row)
        update, step, full = 1000 * np.median(ours, axis=0)
        print(f"{name}: {len(faces):,} triangles; update {update:.1f} ms, self_step_size {step:.1f} ms, self_ccd {full:.1f} ms; "
              f"{len(impacts)} impacts, {impacts.stats}; steps {np.round(sizes, 4).tolist()}", flush=True)
        for method, values in theirs.items():
            first, second, count = np.median(values[1:], axis=0)
            print(f"    IPC toolkit, {method}: candidates {1000 * first:.1f} ms + {1000 * second:.1f} ms, {count:,.0f} candidates; "
                  f"{(first + second) * 1000 / step:.1f} × the step, {(first + second) * 1000 / full:.1f} × self_ccd", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=224)
    parser.add_argument("--frames", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="without the IPC toolkit")
    parser.add_argument("--contacts", action="store_true")
    options = parser.parse_args()
    (measure_contacts if options.contacts else measure_steps)(options.n, options.frames, not options.alone)
