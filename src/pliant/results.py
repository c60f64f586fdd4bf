"""What queries give back: plain arrays with names, and the counters of the work behind them."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Stats(NamedTuple):
    """Counters of one query: the n of the cost function t = n_v c_v + n_p c_p + n_u c_u (thesis A 5.1), and how often exactness cost more.

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

    direction of the rays; size: pixels a side, at most the resolution asked for; depth: most faces on one ray; passes: of peeling;
    fragments: of faces on rays; rays: that are on; packed: faces left after pass 4; met: faces in pairs whose boxes overlap; tests: pairs
    of triangles tested; found: pairs that meet; missed: about how many pairs sampling may have missed; sent: bytes that came from the
    device; seconds: by pass, where they were measured.
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
    """Pairs of faces that meet: `faces` (m, 2) int32, sorted, each once; column 0 is a face of the first body, column 1 of the second.

    Asked for with `contacts=True`, else None, a row each: `segments` (m, 2, 3), the ends of the common part, in lexicographic order;
    `coplanar` (m,) bool: all six corners lie in one plane, and the segment is the longest chord of what they share; `depths` (m,): the
    length of the shortest move that parts the two faces; `normals` (m, 3): its direction, for the second face; `push_directions` (m, 2, 3):
    for either face the direction out of the other's surface and away from its own, by their normals.

    Of `within`: pairs that are near, with `distances` (m,) and, asked for with `points=True`, `points` (m, 2, 3), the nearest on each face.

    Asked for with `budget_ms`: `complete` is False if time was up before all was looked at, and then `unresolved` has two arrays of bool,
    one value per face of either body: True where there may be more pairs than those listed. Faces with False have all of theirs in the
    answer.

    Of engine="image": `image`, the counters of its passes.
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
    """How far apart two bodies are: `distance`, the nearest `points` (2, 3), one of each, and `faces` (2,) int32 on which they lie; of
    scenes also `bodies` (2,), their ids. Where there is nothing: inf, NaN and −1."""
    distance: float
    points: NDArray[np.float64]
    faces: NDArray[np.int32]
    stats: Stats
    bodies: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """What is nearest to each of n points: `distance` (n,), inf where there is nothing, negative inside if it was asked for `signed`;
    `point` (n, 3), NaN for nothing; `face` (n,) int32 and `body` (n,), the id in a scene, 0 for a body alone, both −1 for nothing; `uv`
    (n, 2), barycentric coordinates: weights of the second and third corner."""
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
    """When two bodies first meet: they do at `time`, they do not at `before`; `pairs` are the faces that meet at `time`."""
    time: float
    before: float
    pairs: Pairs


@dataclass(frozen=True, slots=True, eq=False)
class ScenePairs:
    """Pairs of faces of a scene that meet: `bodies` (m, 2) ids, the lower one first (the same twice: a body meets itself), `faces` (m, 2)
    int32, a face of each; sorted, each once. `stats` is the work of all; `tested` (p, 2) the ids of bodies whose trees were compared, and
    `counters` (p, 4) what each took, columns as in `Stats`; bodies that have not moved are answered from memory: zeros.

    With `contacts=True` also `segments`, `normals`, `depths`, `coplanar` and `push_directions`, as in `Pairs`. Of `within`: pairs that are
    near, with `distances` and, if asked for, `points`.

    Asked for with `budget_ms`: `complete` is False if time was up before all was looked at, and then `unresolved` (k, 2) has the ids of
    those `tested`, or still to be tested, that may have more pairs of faces than those listed. All others are answered in full.
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
    """What each of n rays hits first: `t` (n,), inf for a miss, in units of the direction; `face` (n,) int32, −1 for a miss; `body` (n,),
    the id in a scene, 0 for a body alone, −1 for a miss; `uv` (n, 2), barycentric coordinates: weights of the second and third corner."""
    t: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]
    stats: Stats

    @property
    def hit(self) -> NDArray[np.bool_]:
        """(n,): has the ray hit anything?"""
        return np.asarray(self.face >= 0)

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, slots=True, eq=False)
class AllHits:
    """All hits of many rays, a row each: `ray` (m,) says whose, the rest as in `Hits`. Sorted by ray, t, body and face."""
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
    """What one ray hits first; names as in `Hits`, and `point` (3,), where that is."""
    t: float
    face: int
    body: int
    uv: NDArray[np.float64]
    point: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VisibleFaces:
    """Faces of a body, or of a scene, that a frustum leaves: `body` (n,) the ids, `face` (n,) int32; sorted by body, then face.

    `stats`: n_v volumes compared with planes, n_p faces looked at one by one, n_u volumes updated, n_exact signs left to exact arithmetic.
    """
    body: NDArray[np.int64]
    face: NDArray[np.int32]
    stats: Stats

    def __len__(self) -> int:
        return len(self.face)
