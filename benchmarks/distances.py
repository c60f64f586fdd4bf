"""Comparison with other libraries: distances, closest points, and pairs within a tolerance, in every frame of deforming meshes.

    python -m benchmarks.distances [--only apart near …] [--frames 48] [--thickness 0.2 0.5 1] [--policies lazy …] [--out distances.json]

apart      two bodies of 20,480 triangles that deform and never touch; update, then their distance
rigid      two such bodies that only move; their distance, the query alone
points     a body of 81,920 triangles that deforms; update, then its closest point to each of 100,000 points around and in it
near       the same for points within about 1 % of the radius of its surface
cloth      a folding cloth of 100,000 triangles; update, then all pairs of non-adjacent faces within a thickness

`benchmarks.harness` has the rules. Distances have to agree within 1e-9, or within 1e-6 with libraries in float32. Pairs on which libraries
differ are measured in plain float64 (`benchmarks.gaps`) and excused if their distance equals the thickness within that tolerance.
A thickness is a multiple of the mean edge length. Query points have the precision that a library takes, converted outside the clock.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks import peers, rigid
from benchmarks.gaps import mesh_gap, triangle_gaps
from benchmarks.harness import SHOWN, Peer, Run, alone, compare, finish, packed, parser_for, sorted_pairs, table_of
from benchmarks.nearness import IglPoints, Ipctk, Open3DPoints, Warp, WarpDistances, WarpPoints
from pliant.refit.policy import POLICIES
from pliant.shapes import BumpyPair, FoldingCloth, bumpy, bumpy_pair, folding_cloth

DOUBLE = 1e-9


class Apart(NamedTuple):
    """The standard pair of bodies, the second moved along the line of the centres to leave a gap of varying width."""

    faces: np.ndarray
    frames: int
    pair: BumpyPair

    def frame(self, k):
        """The vertices of both."""
        first, second = self.pair._replace(frames=self.frames).frame(k)
        along = second.mean(axis=0) - first.mean(axis=0)
        along /= np.linalg.norm(along)
        gap = 0.55 - 0.45 * np.cos(2 * np.pi * 2.3 * k / self.frames)  # 0.1 … 1
        return first, second + (gap + (first @ along).max() - (second @ along).min()) * along


class Placed(NamedTuple):
    """Two bodies in transforms that never repeat, at the same distances."""

    faces: np.ndarray
    frames: int
    first: np.ndarray
    second: np.ndarray

    def frame(self, k):
        """(vertices, vertices, transform, transform)."""
        rng = np.random.default_rng([k, self.frames])
        way = rng.standard_normal(3)
        gap = 0.55 - 0.45 * np.cos(2 * np.pi * 2.3 * k / self.frames)
        poses = [rigid.matrix(rigid.any_turn(rng), centre) for centre in (np.zeros(3), (2.16 + gap) / np.linalg.norm(way) * way)]
        return self.first, self.second, *poses


class Points(NamedTuple):
    """A body that deforms, and points: anywhere in 1.5 × its box, or near its surface, new ones in every frame."""

    faces: np.ndarray
    frames: int
    directions: np.ndarray
    count: int
    spread: float | None  # standard deviation of the distance to the surface; None: anywhere

    def frame(self, k):
        """(vertices, points)."""
        rng, vertices = np.random.default_rng([k, self.frames]), bumpy(self.directions, 4.0 * k / self.frames, 0.2, 0.5)
        if self.spread is None:
            low, high = vertices.min(axis=0), vertices.max(axis=0)
            return vertices, 0.5 * (low + high) + 1.5 * rng.uniform(-0.5, 0.5, (self.count, 3)) * (high - low)
        corners = vertices[self.faces[rng.integers(0, len(self.faces), self.count)]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        heights = self.spread * rng.standard_normal((self.count, 1)) / np.linalg.norm(normals, axis=1, keepdims=True)
        return vertices, np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), self.count), corners) + heights * normals


class Cloth(NamedTuple):
    """The folding cloth, and a thickness."""

    faces: np.ndarray
    frames: int
    cloth: FoldingCloth
    thickness: float

    def frame(self, k):
        """(vertices,)."""
        return (self.cloth._replace(frames=self.frames).frame(k),)


# --- answers -----------------------------------------------------------------------------------------------------------------

class Gaps(Run):
    """Answers are distances (n,): the difference is the largest of a frame."""

    def judge(self, k, answers, reference):
        mine, other = answers[self, k], answers[reference, k]
        self.pairs[k] = len(mine)
        self.differences[k] = float(np.abs(mine - other).max(initial=0.0))

    def summary(self, reference):
        row = super().summary(reference)
        if self.status == "ran":
            accuracy = max(self.peer.accuracy, reference.peer.accuracy)
            row["differing_frames"] = sum(not d <= accuracy for d in self.differences.values())
        return row


class Near(Run):
    """Answers are pairs of faces (m, 2); those at a distance equal to the thickness may differ, and are counted separately."""

    def __init__(self, peer):
        super().__init__(peer)
        self.excused = 0

    def judge(self, k, answers, reference):
        mine = answers[self, k]
        self.pairs[k] = len(mine)
        differing = sorted_pairs(np.setxor1d(packed(self.peer.common(mine)), packed(reference.peer.common(answers[reference, k]))))
        corners = self.peer.scene.frame(k)[0][self.peer.scene.faces[differing]]
        gaps = triangle_gaps(corners[:, 0], corners[:, 1])
        fine = np.abs(gaps - self.peer.scene.thickness) <= max(self.peer.accuracy, reference.peer.accuracy)
        if self.peer.blind or reference.peer.blind:
            fine |= gaps == 0
        self.excused += int(fine.sum())
        self.differences[k] = int((~fine).sum())
        self.examples += [(k, *pair) for pair in differing[~fine][: SHOWN - len(self.examples)].tolist()]

    def summary(self, reference):
        row = super().summary(reference)
        return row | ({"excused": self.excused} if self.status == "ran" else {})


# --- Pliant ------------------------------------------------------------------------------------------------------------------

class Pliant(Peer):
    """Pliant, through its public API; subclasses define the query."""

    name, module, policy, accuracy, blind = "Pliant", "pliant", "auto", DOUBLE, False

    def body(self, vertices, faces):
        return self.package.Body(vertices, faces, policy=self.policy)


class PliantApart(Pliant):
    """Two updates and one distance."""

    def setup(self, first, second, faces):
        self.bodies = self.body(first, faces), self.body(second, faces)

    def step(self, *vertices):
        for body, rows in zip(self.bodies, vertices, strict=True):
            body.update(rows)
        return self.package.distance(*self.bodies)

    def after(self, answer):
        return np.array([answer.distance])


class PliantRigid(PliantApart):
    """One distance; transforms are set before the clock starts."""

    def setup(self, first, second, pose_a, pose_b, faces):
        self.bodies = self.package.Body.rigid(first, faces), self.package.Body.rigid(second, faces)

    def before(self, first, second, *poses):
        for body, pose in zip(self.bodies, poses, strict=True):
            body.update(pose)

    def step(self, *frame):
        return self.package.distance(*self.bodies)


class PliantPoints(Pliant):
    """One update, and the closest point to each of many."""

    def setup(self, vertices, points, faces):
        self.target = self.body(vertices, faces)

    def step(self, vertices, points):
        self.target.update(vertices)
        return self.package.closest(self.target, points)

    def after(self, answer):
        return answer.distance


class PliantCloth(Pliant):
    """One update, and the pairs within the thickness, with their distances."""

    def setup(self, vertices, faces):
        self.target = self.body(vertices, faces)

    def step(self, vertices):
        self.target.update(vertices)
        return self.package.self_within(self.target, self.scene.thickness).faces


# --- libraries with distances of bodies; `benchmarks.nearness` has the others --------------------------------------------------

class Coal(peers.Coal):
    """Coal: BVHs of oriented boxes with swept spheres, designed for distances, refitted bottom-up; without a tolerance."""

    name, model, accuracy, bottom_up = "Coal, OBBRSS", "BVHModelOBBRSS", DOUBLE, True

    def setup(self, first, second, faces):
        super().setup(first, second, faces)
        self.request = exact_request(self.package)

    def step(self, first, second):
        self.update(first, second, self.bottom_up)
        result = self.package.DistanceResult()
        self.package.distance(self.a, self.still, self.b, self.still, self.request, result)
        return result

    def after(self, answer):
        return np.array([answer.min_distance])


class CoalTopDown(Coal):
    """The same refitted top-down: each volume fitted to its triangles. Slower refits, much faster queries."""

    name, bottom_up = "Coal, OBBRSS, top-down", False


class CoalBoxes(Coal):
    """The same with oriented boxes alone: the fastest combination found of update and query."""

    name, model = "Coal, OBB", "BVHModelOBB"


class CoalPlaced(rigid.Coal):
    """Coal's distance of rigid bodies."""

    accuracy = DOUBLE

    def setup(self, first, second, pose_a, pose_b, faces):
        super().setup(first, second, pose_a, pose_b, faces)
        self.request = exact_request(self.package)

    def before(self, *frame):
        super().before(*frame)
        self.result = self.package.DistanceResult()

    def step(self, *frame):
        self.package.distance(self.a, self.at_a, self.b, self.at_b, self.request, self.result)
        return self.result

    def after(self, answer):
        return np.array([answer.min_distance])


def exact_request(coal):
    """Coal's distance request without a tolerance. Closest points are always computed."""
    request = coal.DistanceRequest()
    request.rel_err = request.abs_err = 0.0
    return request


class Fcl(peers.Fcl):
    """FCL: both models rebuilt, as python-fcl cannot update them."""

    accuracy = DOUBLE

    def setup(self, first, second, faces):
        super().setup(first, second, faces)
        self.request = self.package.DistanceRequest(enable_nearest_points=True)

    def step(self, first, second):
        return self.package.distance(self._build(first), self._build(second), self.request, self.package.DistanceResult())

    def after(self, answer):
        return np.array([answer])


class Exhaustive(Peer):
    """No library: all pairs of faces that may be closest, in plain NumPy. Slow, and as accurate as float64."""

    name, module, accuracy = "NumPy, all candidates", "numpy", DOUBLE

    def step(self, first, second, *poses):
        if poses:
            first, second = (rigid.placed(rows, pose) for rows, pose in zip((first, second), poses, strict=True))
        return np.array([mesh_gap(first[self.faces], second[self.faces])])


# --- jobs --------------------------------------------------------------------------------------------------------------------

class Job(NamedTuple):
    """A job: a title, the default number of frames, titles and scenes by options, the kind of run, Pliant's class, those of other
    libraries."""

    title: str
    frames: int
    scenes: Callable
    kind: type
    pliant: type
    peers: dict


def apart_scenes(frames, options):
    """Bodies that deform."""
    pair = bumpy_pair(options.faces, frames)
    yield "", Apart(pair.faces, frames, pair)


def rigid_scenes(frames, options):
    """Bodies that do not."""
    pair = bumpy_pair(options.faces, frames)
    yield "", Placed(pair.faces, frames, bumpy(pair.directions, 1.0), bumpy(pair.directions, 9.0))


def points_scenes(frames, options):
    """Points anywhere."""
    pair = bumpy_pair(4 * options.faces, frames)
    yield f" to {options.points:,} points", Points(pair.faces, frames, pair.directions, options.points, None)


def near_scenes(frames, options):
    """Points near the surface."""
    for title, scene in points_scenes(frames, options):
        yield title + " near its surface", scene._replace(spread=0.01)


def cloth_scenes(frames, options):
    """One for each thickness."""
    cloth = folding_cloth(options.cloth, frames)
    corners = cloth.frame(0)[cloth.faces]
    side = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2).mean()
    for share in options.thickness:
        yield f" within {share:g} edge lengths", Cloth(cloth.faces, frames, cloth, float(share * side))


ON_PAIRS = {"coal": Coal, "coal-top-down": CoalTopDown, "coal-obb": CoalBoxes, "fcl": Fcl, "numpy": Exhaustive}
ON_POSES = {"coal": CoalPlaced, "numpy": Exhaustive}
ON_POINTS = {"warp": WarpPoints, "igl": IglPoints, "open3d": Open3DPoints}
ON_CLOTH = {"warp": Warp, "warp-distances": WarpDistances, "ipctk": Ipctk}
JOBS = {
    "apart": Job("update + distance", 48, apart_scenes, Gaps, PliantApart, ON_PAIRS),
    "rigid": Job("distance of rigid bodies, the query alone", 48, rigid_scenes, Gaps, PliantRigid, ON_POSES),
    "points": Job("update + closest points", 12, points_scenes, Gaps, PliantPoints, ON_POINTS),
    "near": Job("update + closest points", 12, near_scenes, Gaps, PliantPoints, ON_POINTS),
    "cloth": Job("update + all pairs", 12, cloth_scenes, Near, PliantCloth, ON_CLOTH),
}


def chosen(job, options):
    """The classes to run: Pliant, Pliant with other policies (rigid bodies have none), other libraries."""
    policies = options.policies if job.pliant is not PliantRigid else ()
    others = [type(job.pliant.__name__, (job.pliant,), {"name": f"Pliant, {policy}", "policy": policy}) for policy in policies]
    return [job.pliant, *others][: None if options.pliant else 0] + [job.peers[name] for name in options.peers if name in job.peers]


def results_of(options):
    """(title, result) of every job and scene of the options."""
    for name in options.only:
        job = JOBS[name]
        for title, scene in job.scenes(options.frames or job.frames, options):
            yield job.title + title, {"job": name} | compare(scene, chosen(job, options), options.budget, options.turn, job.kind)


def command_line():
    """The parser of the options."""
    parser = parser_for("distances", __doc__, dict.fromkeys(name for job in JOBS.values() for name in job.peers))
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS), help="jobs to run")
    parser.add_argument("--frames", type=int, help="distinct frames (48 of two bodies, 12 of one)")
    parser.add_argument("--faces", type=int, default=20_480, help="triangles of two bodies; points: four times as many")
    parser.add_argument("--points", type=int, default=100_000, help="number of points")
    parser.add_argument("--cloth", type=int, default=100_000, help="triangles of the cloth")
    parser.add_argument("--thickness", type=float, nargs="+", default=[0.2, 0.5, 1.0], help="thicknesses, in mean edge lengths")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=[], help="run Pliant with these policies as well")
    parser.set_defaults(turn=1, budget=60)
    return parser


def main():
    """The command line."""
    options = command_line().parse_args()
    alone(options.pin)
    console, results = Console(), []
    for title, result in results_of(options):
        results.append(result)
        console.print(table_of(result, title))
        for row in result["rows"]:
            for k, i, j in row.get("examples", ()):
                console.print(f"{row['library']}, frame {k}: faces {i} and {j}", highlight=False)
    finish(console, "distances", results, options)


if __name__ == "__main__":
    main()
