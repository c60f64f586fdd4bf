"""Results of queries: named plain arrays, and the counters of the work behind them."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Stats(NamedTuple):
    """Counters of one query: the n of the cost function t = n_v c_v + n_p c_p + n_u c_u (thesis A 5.1), and how often filters failed.

    n_v: pairs of volumes tested; n_p: pairs of triangles tested; n_u: volumes updated, by this query or for it;
    n_exact: pairs of triangles that the filters left to exact arithmetic.
    """
    n_v: int = 0
    n_p: int = 0
    n_u: int = 0
    n_exact: int = 0

    def __add__(self, other: "Stats") -> "Stats":  # type: ignore[override]
        """The sum of two."""
        if not isinstance(other, Stats):
            return NotImplemented
        return Stats(*(a + b for a, b in zip(self, other, strict=True)))


class Passes(NamedTuple):
    """Seconds that each pass of the image engine took."""
    sample: float = 0.0
    merge: float = 0.0
    separate: float = 0.0
    pack: float = 0.0
    test: float = 0.0


class ImageStats(NamedTuple):
    """What the image engine did (paper G, Table 1).

    direction: of the rays; size: pixels a side, at most the resolution asked for; depth: most faces on one ray; passes: of peeling;
    fragments: of faces on rays; rays: active rays; packed: faces left after pass 4; met: faces in pairs whose boxes overlap; tests: pairs
    of triangles tested; found: intersecting pairs; missed: an estimate of the pairs that sampling missed; sent: bytes copied from the
    device; seconds: by pass, where measured.
    """
    direction: tuple[float, float, float]
    size: int
    depth: int = 0
    passes: int = 0
    fragments: int = 0
    rays: int = 0
    packed: int = 0
    met: int = 0
    tests: int = 0
    found: int = 0
    missed: float = 0.0
    sent: int = 0
    seconds: Passes = Passes()


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of intersecting faces: `faces` (m, 2) int32, sorted, each once; column 0 is a face of the first body, column 1 of the second.

    With `contacts=True`, else None, a row per pair: `segments` (m, 2, 3), the ends of the intersection, in lexicographic order;
    `coplanar` (m,) bool: all six corners lie in one plane, and the segment is the longest chord of the intersection; `depths` (m,): the
    minimum translation distance of the two faces; `normals` (m, 3): its direction, for the second face; `push_directions` (m, 2, 3): for
    either face the direction out of the other's surface and away from its own, by their normals.

    Of `within`: pairs within the tolerance, with `distances` (m,) and, with `points=True`, `points` (m, 2, 3), the closest on each face.

    With `budget_ms`: `complete` is False if time was up before all pairs were tested, and then `unresolved` has two arrays of bool,
    one value per face of either body: True where there may be more pairs than those listed. All pairs of a face with False are in the
    result.

    With engine="image": `image`, the counters of its passes.
    """
    faces: NDArray[np.int32]
    stats: Stats
    segments: NDArray[np.float64] | None = None
    normals: NDArray[np.float64] | None = None
    depths: NDArray[np.float64] | None = None
    coplanar: NDArray[np.bool_] | None = None
    push_directions: NDArray[np.float64] | None = None
    distances: NDArray[np.float64] | None = None
    points: NDArray[np.float64] | None = None
    complete: bool = True
    unresolved: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
    image: ImageStats | None = None

    def __len__(self) -> int:
        return len(self.faces)

    def __bool__(self) -> bool:
        return len(self.faces) > 0


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """The distance of two bodies: `distance`, the closest `points` (2, 3), one of each, and `faces` (2,) int32 on which they lie; of scenes
    also `bodies` (2,), their ids. Without faces: inf, NaN and −1."""
    distance: float
    points: NDArray[np.float64]
    faces: NDArray[np.int32]
    stats: Stats
    bodies: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """The closest point of a mesh to each of n points: `distance` (n,), inf where there is none, negative inside with `signed`; `point`
    (n, 3), NaN for none; `face` (n,) int32 and `body` (n,), the id in a scene, 0 for a single body, both −1 for none; `uv` (n, 2),
    barycentric coordinates: weights of the second and third corner."""
    distance: NDArray[np.float64]
    point: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]
    stats: Stats

    def __len__(self) -> int:
        return len(self.distance)


@dataclass(frozen=True, slots=True, eq=False)
class FirstContact:
    """The first contact of two bodies: they intersect at `time`, not at `before`; `pairs` are the faces that intersect at `time`."""
    time: float
    before: float
    pairs: Pairs


@dataclass(frozen=True, slots=True, eq=False)
class ScenePairs:
    """Pairs of intersecting faces of a scene: `bodies` (m, 2) ids, the lower one first (the same twice for self-collisions), `faces`
    (m, 2) int32, a face of each; sorted, each once. `stats` is the work of all; `tested` (p, 2) the ids of bodies whose BVHs were
    compared, and `counters` (p, 4) the work of each, columns as in `Stats`; zeros for bodies that have not moved, whose result is cached.

    With `contacts=True` also `segments`, `normals`, `depths`, `coplanar` and `push_directions`, as in `Pairs`. Of `within`: pairs within
    the tolerance, with `distances` and, with `points=True`, `points`.

    With `budget_ms`: `complete` is False if time was up before all pairs were tested, and then `unresolved` (k, 2) has the ids of
    those `tested`, or still to be tested, that may have more pairs of faces than those listed. All others are complete.
    """
    bodies: NDArray[np.int64]
    faces: NDArray[np.int32]
    stats: Stats
    tested: NDArray[np.int64]
    counters: NDArray[np.int64]
    segments: NDArray[np.float64] | None = None
    normals: NDArray[np.float64] | None = None
    depths: NDArray[np.float64] | None = None
    coplanar: NDArray[np.bool_] | None = None
    push_directions: NDArray[np.float64] | None = None
    distances: NDArray[np.float64] | None = None
    points: NDArray[np.float64] | None = None
    complete: bool = True
    unresolved: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.faces)

    def __bool__(self) -> bool:
        return len(self.faces) > 0


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The first hit of each of n rays: `t` (n,), inf for a miss, in units of the direction; `face` (n,) int32, −1 for a miss; `body` (n,),
    the id in a scene, 0 for a single body, −1 for a miss; `uv` (n, 2), barycentric coordinates: weights of the second and third corner."""
    t: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]
    stats: Stats

    @property
    def hit(self) -> NDArray[np.bool_]:
        """(n,): whether the ray has hit anything."""
        return np.asarray(self.face >= 0)

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, slots=True, eq=False)
class AllHits:
    """All hits of many rays, a row each: `ray` (m,) is the ray's row, the rest as in `Hits`. Sorted by ray, t, body and face."""
    ray: NDArray[np.int64]
    t: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]
    stats: Stats

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """The first hit of one ray; names as in `Hits`, and `point` (3,), its position."""
    t: float
    face: int
    body: int
    uv: NDArray[np.float64]
    point: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VisibleFaces:
    """Faces of a body, or of a scene, that frustum culling leaves: `body` (n,) the ids, `face` (n,) int32; sorted by body, then face.

    `stats`: n_v volumes compared with planes, n_p faces tested one by one, n_u volumes updated, n_exact signs left to exact arithmetic.
    """
    body: NDArray[np.int64]
    face: NDArray[np.int32]
    stats: Stats

    def __len__(self) -> int:
        return len(self.face)
