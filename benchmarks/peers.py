"""Side by side with other libraries: two deforming meshes, every frame, all intersecting pairs of faces.

    python -m benchmarks.peers             all peers, four sizes, 200 frames; --help tells the rest
    python -m benchmarks.peers --build     building a tree, against Embree

Timed is the whole job of a frame: float64 vertices (n, 3) of both bodies go in, sorted pairs (m, 2) int32 come out,
in the fastest way that each library's Python interface was found to offer. The rules:

- one process, one thread, one core (pinned unless --no-pin); every frame is a new one, made outside the clock;
- libraries take turns of --turn frames, and their order rotates, so that noise hits all alike; with --turn 1 every
  library finds the caches full of the others, with more it finds its own, as in a loop that uses one library;
- warm-up frames (compilation, first allocations) do not count and are not among the frames that do;
- a library too slow for --budget runs on every j-th frame; its ratio is taken over exactly those frames;
- answers are compared pair by pair with those of the reference: Pliant, or else the first library that runs.
"""

import argparse
import gc
import json
import os
import platform
import re
import sys
import time
from importlib import import_module, metadata, util
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from pliant.shapes import bumpy_pair

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "PLIANT_THREADS")
DISTRIBUTIONS = ("pliant", "numpy", "numba", "warp-lang", "coal", "python-fcl", "libigl", "embreex")
MANY = 10_000_000  # "all contacts", for libraries that want a number
RAY = np.array([[[0, 0, -9]], [[0, 0, 1]]], np.float32)  # origin and direction, (1, 3) each: makes Embree build
NEEDLE = np.array([[0, 0, -9], [0, 0, 9], [0, 1e-9, 0]])  # makes Pliant refit


def sorted_pairs(keys):
    """Pairs (m, 2) int32 in lexical order from keys (m,) int64 that hold the first face in their upper half."""
    keys = np.sort(keys)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def packed(pairs):
    """The keys (m,) int64 of pairs (m, 2)."""
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    return pairs[:, 0] << 32 | pairs[:, 1]


class Peer:
    """What the harness asks of a library: also a `name` to show, and a `module`, imported as `self.package`."""

    def setup(self, vertices_a, vertices_b, faces):
        """Build whatever lasts over frames. Not timed."""
        self.faces = faces

    def before(self, vertices_a, vertices_b):
        """What a frame needs but is not part of the job. Not timed. Then comes `step`, which is: vertices in, pairs (m, 2) out."""


class Pliant(Peer):
    """The library itself, as a user calls it: two updates and one query."""

    name, module = "Pliant", "pliant"

    def setup(self, vertices_a, vertices_b, faces):
        self.a, self.b = self.package.Body(vertices_a, faces), self.package.Body(vertices_b, faces)

    def step(self, vertices_a, vertices_b):
        self.a.update(vertices_a)
        self.b.update(vertices_b)
        return self.package.collide(self.a, self.b).faces


class Warp(Peer):
    """NVIDIA Warp on the CPU: refit one mesh, then one box query per triangle of the other, in a kernel of our own.

    Warp has float32 box queries and a triangle test, but no query between two meshes. `wp.Mesh` and `wp.Bvh`, leaves
    of 1 … 8 and its builders came within 10 % of each other. What matters is that neighbouring threads take neighbouring
    triangles: faces sorted along a space-filling curve, once, are 1.5 × as fast at 20,480 faces, 2.3 × at 327,680.

    `wp.intersect_tri_tri` calls triangles coplanar by an absolute tolerance, 1e-6: plainly used on these spheres it
    reports 13 % pairs too many at 20,480 faces, six times as many at 327,680. Hence positions relative to a corner,
    zoomed to sides of about 16: that costs no time and leaves only what float32 positions cannot tell.
    """

    name, module = "Warp, sorted faces", "warp"
    sort_faces = True

    def setup(self, vertices_a, vertices_b, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        order = space_order(vertices_a[faces].mean(axis=1)) if self.sort_faces else np.arange(len(faces))
        points_a = wp.array(vertices_a.astype(np.float32), dtype=wp.vec3)
        points_b = wp.array(vertices_b.astype(np.float32), dtype=wp.vec3)
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        self.mesh = wp.Mesh(points_b, corners)
        side = np.linalg.norm(vertices_a[faces[:, 0]] - vertices_a[faces[:, 1]], axis=1).mean()
        zoom = 2.0 ** np.round(np.log2(16 / side))  # a power of two loses no bits
        inputs = [self.mesh.id, zoom, points_a, points_b, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)  # recorded: 0.1 ms less a frame
        # NumPy views of Warp's own memory: assigning to them converts to float32 and hands over in one pass.
        self.a, self.b, self.count, self.found = (x.numpy() for x in (points_a, points_b, count, found))

    def step(self, vertices_a, vertices_b):
        self.a[:], self.b[:], self.count[0] = vertices_a, vertices_b, 0
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than there is room for")
        return sorted_pairs(self.found[: self.count[0]])


class WarpUnsorted(Warp):
    """The same with the faces in the order in which they come."""

    name, sort_faces = "Warp, faces as given", False


def warp_kernel(wp):
    """The Warp kernel: thread i appends what triangle i of A meets in mesh B to `found`, as packed pairs."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64))

    @wp.kernel
    def all_pairs(mesh: wp.uint64, zoom: float, a: vectors, b: vectors, corners: ints, order: longs, count: ints, found: longs):
        i = wp.tid()
        p, q, r = a[corners[3 * i]], a[corners[3 * i + 1]], a[corners[3 * i + 2]]
        query = wp.mesh_query_aabb(mesh, wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
        here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
        j = int(0)  # noqa: UP018, RUF046 - what makes it a variable in Warp
        while wp.mesh_query_aabb_next(query, j):
            u, v, w = b[corners[3 * j]], b[corners[3 * j + 1]], b[corners[3 * j + 2]]
            if wp.intersect_tri_tri(here, q_local, r_local, zoom * (u - p), zoom * (v - p), zoom * (w - p)) > 0:
                k = wp.atomic_add(count, 0, 1)
                if k < found.shape[0]:
                    found[k] = wp.lshift(order[i], wp.int64(32)) | order[j]

    return all_pairs


def space_order(points):
    """The order (n,) of points (n, 3) along a Morton curve of 1,024 cells a side."""
    low, high = points.min(axis=0), points.max(axis=0)
    cells = ((points - low) / (high - low).max() * 1023).astype(np.int64)
    bits = [(cells[:, axis] >> bit & 1) << (3 * bit + axis) for bit in range(10) for axis in range(3)]
    return np.argsort(np.sum(bits, axis=0), kind="stable")


class Coal(Peer):
    """Coal: trees of oriented boxes, refitted bottom-up, all contacts as pairs.

    Of OBB and OBBRSS models, refitted bottom-up, top-down or built anew, this was the fastest. The binding takes new
    vertices only one by one or as its own vector type: hand it a prepared vector, then write the real positions through
    the view that `vertices()` gives. Contact geometry is switched off; the pairs are reported all the same.
    """

    name, module = "Coal", "coal"

    def setup(self, vertices_a, vertices_b, faces):
        self.request, self.still = self.package.CollisionRequest(), self.package.Transform3s()
        self.request.num_max_contacts, self.request.enable_contact = MANY, False
        self.outline = self.package.StdVec_Vec3s()
        self.outline.extend(list(vertices_a))
        self.a, self.b = self.package.BVHModelOBB(), self.package.BVHModelOBB()
        for model, vertices in ((self.a, vertices_a), (self.b, vertices_b)):
            model.beginModel(len(faces), len(vertices))
            model.addVertices(vertices)
            model.addTriangles(faces.astype(np.int64))
            require(model.endModel() == 0, "Coal did not build")

    def step(self, vertices_a, vertices_b):
        for model, vertices in ((self.a, vertices_a), (self.b, vertices_b)):
            model.beginReplaceModel()
            model.replaceSubModel(self.outline)
            model.vertices()[:] = vertices
            require(model.endReplaceModel(True, True) == 0, "Coal did not refit")  # refit, bottom-up
        result = self.package.CollisionResult()
        self.package.collide(self.a, self.still, self.b, self.still, self.request, result)
        return sorted_pairs(packed([(c.b1, c.b2) for c in result.getContacts()]))


class Fcl(Peer):
    """FCL: python-fcl has no update, so both models are built anew. With contact geometry some pairs come twice."""

    name, module = "FCL", "fcl"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces = faces.tolist()  # plain lists are quicker to loop over
        self.request = self.package.CollisionRequest(num_max_contacts=MANY, enable_contact=False)

    def _build(self, vertices):
        model = self.package.BVHModel()
        model.beginModel(len(self.faces), len(vertices))
        model.addSubModel(vertices, self.faces)
        require(model.endModel() == 0, "FCL did not build")
        return self.package.CollisionObject(model)

    def step(self, vertices_a, vertices_b):
        result = self.package.CollisionResult()
        self.package.collide(self._build(vertices_a), self._build(vertices_b), self.request, result)
        return sorted_pairs(packed([(c.b1, c.b2) for c in result.contacts]))


class Igl(Peer):
    """libigl with CGAL: `intersect_other`, detecting only. Exact arithmetic, no state between frames."""

    name, module = "libigl (CGAL, exact)", "igl.copyleft.cgal"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces = faces.astype(np.int64)

    def step(self, vertices_a, vertices_b):
        answer = self.package.intersect_other(vertices_a, self.faces, vertices_b, self.faces, detect_only=True)
        return sorted_pairs(packed(answer[0]))


PEERS = {"warp": Warp, "warp-unsorted": WarpUnsorted, "coal": Coal, "fcl": Fcl, "igl": Igl}


class PliantBuild(Peer):
    """A body from vertices and faces, checks and copies included, and one query, so that nothing lazy is left out."""

    name, module = "Pliant", "pliant"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces, self.probe = faces, self.package.Body(NEEDLE, [[0, 1, 2]])

    def step(self, vertices_a, vertices_b):
        return self.package.collide(self.package.Body(vertices_a, self.faces), self.probe, first=True).faces


class EmbreeBuild(Peer):
    """Embree builds at the first ray: only that is timed, not the binding's copy of the mesh, which takes longer."""

    name, module = "Embree", "embreex.mesh_construction"

    def before(self, vertices_a, vertices_b):
        self.scene = import_module("embreex.rtcore_scene").EmbreeScene()
        self.mesh = self.package.TriangleMesh(self.scene, vertices_a.astype(np.float32), self.faces)

    def step(self, vertices_a, vertices_b):
        return [(self.scene.run(*RAY)[0], 0)]


def require(condition, complaint):
    """Stop when a library declines: a model that was not updated would only look fast."""
    if not condition:
        raise RuntimeError(complaint)


class Run:
    """One library on one scene: its state, its times and how its answers differ from the reference's."""

    def __init__(self, peer):
        self.peer, self.status, self.stride = peer, "ran", 1
        self.times, self.pairs, self.differences = {}, {}, {}  # frame -> seconds, number of pairs, pairs that differ

    def prepare(self, pair, budget):
        """Set up and warm up on frames of their own; choose the stride that keeps the run within `budget` seconds."""
        if util.find_spec(self.peer.module.partition(".")[0]) is None:
            self.status = "not installed"
            return
        try:
            self.peer.package = import_module(self.peer.module)
            others = pair._replace(frames=pair.frames + 1)  # other moments than those that count
            self.peer.setup(*others.frame(0), pair.faces)
            seconds = [self.step(others.frame(int(q * pair.frames)))[0] for q in (0.25, 0.5, 0.75)]
            self.stride = max(1, int(np.ceil(np.mean(seconds[1:]) * pair.frames / budget)))
        except Exception as error:  # one broken library must not hide the others: the table and the exit status tell
            self.status = f"failed: {type(error).__name__}: {error}"

    def step(self, vertices):
        """Seconds and answer of one frame."""
        self.peer.before(*vertices)
        start = time.perf_counter()
        answer = self.peer.step(*vertices)
        return time.perf_counter() - start, answer

    def summary(self, reference):
        """Figures for the table and for JSON. `ratio` is this library's time over the reference's, same frames."""
        row = {"library": self.peer.name, "status": self.status}
        if self.status != "ran":
            return row
        seconds, differences = list(self.times.values()), list(self.differences.values())
        return row | {
            "best_ms": 1e3 * min(seconds),
            "median_ms": 1e3 * float(np.median(seconds)),
            "sum_s": sum(seconds),
            "ratio": sum(seconds) / sum(reference.times[k] for k in self.times),
            "every": self.stride,
            "frames": len(self.times),
            "differing_frames": sum(d > 0 for d in differences),
            "largest_difference": max(differences),
            "total_pairs": sum(self.pairs.values()),
            "pairs": list(self.pairs.values()),
            "times_ms": [round(1e3 * t, 4) for t in seconds],
        }


def compare(faces, frames, peers, budget, turn):
    """Run libraries (classes, Pliant first) on one size, in turns of so many frames; a dict with one row for each."""
    pair = bumpy_pair(faces, frames)
    runs = [Run(peer()) for peer in peers]
    for run in runs:
        run.prepare(pair, budget)
    active = [run for run in runs if run.status == "ran"]
    if active:
        active[0].stride = 1  # the reference has to answer every frame
    gc.collect()
    gc.disable()  # as timeit does: a collection would hit whoever is next
    for k in range(0, frames if active else 0, turn):
        take_turns(active, k // turn, {i: pair.frame(i) for i in range(k, min(k + turn, frames))})
    gc.enable()
    rows = [run.summary(active[0] if active else None) for run in runs]
    return {"faces": faces, "frames": frames, "reference": active[0].peer.name if active else "none", "rows": rows}


def take_turns(runs, number, vertices):
    """These frames for every library, each time another one first; then compare with the reference, runs[0]."""
    answers = {}
    for run in runs[number % len(runs) :] + runs[: number % len(runs)]:
        for k in vertices:
            if k % run.stride == 0:
                run.times[k], answers[run, k] = run.step(vertices[k])
    for (run, k), answer in answers.items():
        run.pairs[k] = len(answer)
        run.differences[k] = len(np.setxor1d(packed(answers[runs[0], k]), packed(answer)))


def table_of(result, job):
    """The rich table of one size."""
    scene = f"{result['faces']:,} triangles a mesh, {result['frames']} frames"
    table = Table("library", title=f"{scene}: {job}; ratio to {result['reference']}")
    for title in ("best ms", "median ms", "sum s", "ratio", "frames", "frames that differ", "most", "answers"):
        table.add_column(title, justify="right")
    for row in result["rows"]:
        if row["status"] != "ran":
            table.add_row(f"{row['library']}: {row['status']}")
            continue
        cells = [f"{row[name]:.3f}" for name in ("best_ms", "median_ms", "sum_s", "ratio")]
        cells.append(str(row["frames"]) + (f" (1 in {row['every']})" if row["every"] > 1 else ""))
        cells += [f"{row[name]:,}" for name in ("differing_frames", "largest_difference", "total_pairs")]
        table.add_row(row["library"], *cells)
    return table


def hardware(pinned):
    """The machine in words."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = re.findall(r"model name\s*: (.*)", info) or [platform.processor() or platform.machine()]
    return f"{models[0]}, {os.cpu_count()} cores, one thread, {'one core pinned' if pinned else 'not pinned'}"


def versions():
    """Version of every library that matters; what is absent says so."""
    present = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in metadata.distributions()}
    return {name: present.get(name, "not installed") for name in DISTRIBUTIONS} | {"python": platform.python_version()}


def main():
    """The command line; the exit status is 1 if an installed library failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.partition("\n")[0])
    parser.add_argument("--faces", type=int, nargs="+", help="triangles a mesh: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, help="frames of the animation (200; 10 with --build)")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="whom to compare Pliant with")
    parser.add_argument("--pliant", action=argparse.BooleanOptionalAction, default=True, help="run Pliant itself")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--budget", type=float, default=15, help="seconds a library may take for one size")
    parser.add_argument("--turn", type=int, default=20, help="frames that a library runs before the next one does")
    parser.add_argument("--build", action="store_true", help="compare building a tree instead, with Embree")
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in POOLS) or (options.pin and len(os.sched_getaffinity(0)) > 1):
        # Start again on one core and with pools of one thread: importing NumPy has already made a pool.
        if options.pin:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the last core: interrupts prefer the first
        os.execve(sys.executable, sys.orig_argv, os.environ | dict.fromkeys(POOLS, "1"))

    peers, job = [Pliant, *map(PEERS.get, options.peers)], "update + all pairs"
    if options.build:
        peers, job = [PliantBuild, EmbreeBuild], "build"
    frames = options.frames or (10 if options.build else 200)
    results, console = [], Console()
    for faces in options.faces or [1_280, 20_480, 81_920, 327_680][options.build :]:
        results.append(compare(faces, frames, peers[not options.pliant :], options.budget, options.turn))
        console.print(table_of(results[-1], job))
    console.print(hardware(options.pin), ", ".join(f"{k} {v}" for k, v in versions().items()), sep="\n", highlight=False)
    if options.out:
        report = {"job": job, "hardware": hardware(options.pin), "versions": versions(), "results": results}
        Path(options.out).write_text(json.dumps(report, indent=1), encoding="utf-8")
    sys.exit(any(row["status"].startswith("failed") for result in results for row in result["rows"]))


if __name__ == "__main__":
    main()
