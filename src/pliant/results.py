"""Results of queries: named plain arrays, and the counters of the work behind them."""
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, StaleResultError


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _FacePairs:
    """What `Pairs` and `ScenePairs` share: optional arrays with a row for each pair of faces, explained there."""
    segments: NDArray[np.float64] | None = None
    normals: NDArray[np.float64] | None = None
    depths: NDArray[np.float64] | None = None
    coplanar: NDArray[np.bool_] | None = None
    push_directions: NDArray[np.float64] | None = None
    distances: NDArray[np.float64] | None = None
    points: NDArray[np.float64] | None = None
    complete: bool = True

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.faces)                                          # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        """Is there a pair?"""
        return len(self) > 0

    def __repr__(self) -> str:
        arrays = [name for name in _FacePairs.__slots__ if getattr(self, name) is not None and name != "complete"]
        return f"{type(self).__name__}({', '.join([f'{len(self)} pairs', *arrays, *([] if self.complete else ['incomplete'])])})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pairs(_FacePairs):
    """Pairs of intersecting faces: `faces` (m, 2) int32, sorted, each once; column 0 is a face of the first body, column 1 of the second.
    `stats` counts the work.

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
    unresolved: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
    image: ImageStats | None = None


class ContactPairs(Pairs):
    """`Pairs` of a query with `contacts=True`: the fields of contacts are arrays, never None."""
    __slots__ = ()
    segments: NDArray[np.float64]
    normals: NDArray[np.float64]
    depths: NDArray[np.float64]
    coplanar: NDArray[np.bool_]
    push_directions: NDArray[np.float64]


class DistancePairs(Pairs):
    """`Pairs` of `within` and `self_within`: `distances` is an array, never None."""
    __slots__ = ()
    distances: NDArray[np.float64]


class PointPairs(DistancePairs):
    """`DistancePairs` of a query with `points=True`: `points` is an array, never None."""
    __slots__ = ()
    points: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """The distance of two bodies: `distance`, the closest `points` (2, 3), one of each, and `faces` (2,) int32 on which they lie; of scenes
    also `bodies` (2,), their ids. Without faces: inf, NaN and −1."""
    distance: float
    points: NDArray[np.float64]
    faces: NDArray[np.int32]
    stats: Stats
    bodies: NDArray[np.int64] | None = None


class Surface(Protocol):
    """A body, a scene or a grid, for results that refer to its faces: `_version` changes with every update."""
    _version: int

    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces of the bodies with these ids."""


def surface_version(target: object) -> int:
    """The version of what a query is about to read, for `HitTriangles`; 0 for anything else, which the query refuses."""
    return int(getattr(target, "_version", 0))


class HitTriangles:
    """The triangles of the rows of a result, gathered when `point` or `normal` is first read.

    The surface must not have been updated between the query and that moment; later updates change nothing.
    """

    def __init__(self, surface: Surface, version: int, body: NDArray[np.int64], face: NDArray[np.int32]) -> None:
        self._surface, self._version, self._rows = surface, version, (body, face)
        self._gathered: NDArray[np.float64] | None = None

    def gather(self) -> NDArray[np.float64]:
        """(n, 3, 3) float64, NaN for rows without a face."""
        if self._gathered is None:
            if self._surface._version != self._version:
                raise StaleResultError("point, normal: the surface was updated after this query; read them before the next update")
            body, face = self._rows
            triangles, found = np.full((len(face), 3, 3), np.nan), face >= 0
            triangles[found] = self._surface._world_triangles(body[found], face[found])
            self._gathered = triangles
        return self._gathered

    def points(self, uv: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 3): the points with these barycentric coordinates."""
        first, second, third = np.moveaxis(self.gather(), 1, 0)
        u, v = uv[:, :1], uv[:, 1:]
        return np.asarray((1 - u - v) * first + u * second + v * third)

    def normals(self) -> NDArray[np.float64]:
        """(n, 3): unit normals, by the right-hand rule over the vertices; NaN for rows without a face and for faces without area."""
        triangles = self.gather()
        edges = triangles[:, 1:] - triangles[:, :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            edges = edges / np.abs(edges).max(axis=2, keepdims=True)    # products of lengths neither overflow nor underflow
            normals = np.cross(edges[:, 0], edges[:, 1])
            return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False)
class _SurfacePoints:
    """What results with a point of a surface in each row share."""
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]
    stats: Stats
    _triangles: HitTriangles = field(repr=False)

    @property
    def normal(self) -> NDArray[np.float64]:
        """(n, 3): unit normals of the faces, by the right-hand rule over their vertices, computed when first read, before the next update;
        NaN for rows without a face and for faces without area."""
        return self._triangles.normals()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.face)

    def __repr__(self) -> str:
        found = int((self.face >= 0).sum())
        return f"{type(self).__name__}({len(self)} rows, {found} with a face)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closest(_SurfacePoints):
    """The closest point of a mesh to each of n points: `distance` (n,), inf where there is none, negative inside with `signed`; `point`
    (n, 3), NaN for none; `face` (n,) int32 and `body` (n,), the id in a scene, 0 for a single body, both −1 for none; `uv` (n, 2),
    barycentric coordinates: weights of the second and third corner."""
    distance: NDArray[np.float64]
    point: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inside:
    """Which of n points are inside a mesh: `inside` (n,) bool, points on the surface included; `winding_number` (n,), NaN on the surface;
    `on_surface` (n,) bool; `error` (n,), a bound on the error of the winding number, 0 for closed meshes. `stats`: n_v volumes and
    clusters of faces compared with points, n_p faces, n_u volumes updated, n_exact faces left to exact or float64 arithmetic."""
    inside: NDArray[np.bool_]
    winding_number: NDArray[np.float64]
    on_surface: NDArray[np.bool_]
    error: NDArray[np.float64]
    stats: Stats

    def __len__(self) -> int:
        """The number of points."""
        return len(self.inside)

    def __repr__(self) -> str:
        return f"Inside({len(self)} points, {int(self.inside.sum())} inside)"


@dataclass(frozen=True, slots=True, eq=False)
class FirstContact:
    """The first contact of two bodies: they intersect at `time`, not at `before`; `pairs` are the faces that intersect at `time`."""
    time: float
    before: float
    pairs: Pairs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScenePairs(_FacePairs):
    """Pairs of intersecting faces of a scene: `bodies` (m, 2) ids, the lower one first (the same twice for self-collisions), `faces`
    (m, 2) int32, a face of each; sorted, each once. `stats` is the work of all; `tested` (p, 2) the ids of bodies whose BVHs were
    compared, and `counters` (p, 4) the work of each, columns as in `Stats`; zeros for bodies that have not moved, whose result is cached.

    With `contacts=True` also `segments`, `normals`, `depths`, `coplanar` and `push_directions`, as in `Pairs`. Of `within`: pairs within
    the tolerance, with `distances` and, with `points=True`, `points`.

    Of `collide(body, scene)` and `within(body, scene, …)`: column 0 is the body, with the id −1 if it is not in the scene.

    With `budget_ms`: `complete` is False if time was up before all pairs were tested, and then `unresolved` (k, 2) has the ids of
    those `tested`, or still to be tested, that may have more pairs of faces than those listed. All others are complete.
    """
    bodies: NDArray[np.int64]
    faces: NDArray[np.int32]
    stats: Stats
    tested: NDArray[np.int64]
    counters: NDArray[np.int64]
    unresolved: NDArray[np.int64] | None = None


class SceneContactPairs(ScenePairs):
    """`ScenePairs` of a query with `contacts=True`: the fields of contacts are arrays, never None."""
    __slots__ = ()
    segments: NDArray[np.float64]
    normals: NDArray[np.float64]
    depths: NDArray[np.float64]
    coplanar: NDArray[np.bool_]
    push_directions: NDArray[np.float64]


class SceneDistancePairs(ScenePairs):
    """`ScenePairs` of `within`: `distances` is an array, never None."""
    __slots__ = ()
    distances: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _RayHits(_SurfacePoints):
    """What `Hits` and `AllHits` share."""
    t: NDArray[np.float64]

    @property
    def point(self) -> NDArray[np.float64]:
        """(n, 3): the points that were hit, computed when first read, before the next update; NaN for misses."""
        return self._triangles.points(self.uv)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hits(_RayHits):
    """The first hit of each of n rays: `t` (n,), inf for a miss, in units of the direction; `face` (n,) int32, −1 for a miss; `body` (n,),
    the id in a scene, 0 for a single body, −1 for a miss; `uv` (n, 2), barycentric coordinates: weights of the second and third corner."""

    @property
    def hit(self) -> NDArray[np.bool_]:
        """(n,): whether the ray has hit anything."""
        return np.asarray(self.face >= 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AllHits(_RayHits):
    """All hits of many rays, a row each: `ray` (m,) is the ray's row, the rest as in `Hits`. Sorted by ray, t, body and face."""
    ray: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """The first hit of one ray; names as in `Hits`, and `point` (3,), its position."""
    t: float
    face: int
    body: int
    uv: NDArray[np.float64]
    point: NDArray[np.float64]
    _triangles: HitTriangles = field(repr=False)

    @property
    def normal(self) -> NDArray[np.float64]:
        """(3,): the unit normal of the face, as in `Hits`."""
        return np.asarray(self._triangles.normals()[0])


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class _FeatureRows:
    """What `FeaturePairs` and `Impacts` share: a row for each pair of features of a first and a second body.

    `kinds` (m,) int8: 0 vertex and face, 1 face and vertex, 2 two edges. `features` (m, 2) int32: vertices, faces, or rows of `body.edges`.
    `vertices` (m, 4) int32: the vertices of both, those of the first feature first. `weights` (m, 4): the sum of the four points times
    their weights is the gap, from the closest point of the first feature to that of the second. `normals` (m, 3): unit vectors along the
    gap, for the second feature; zeros where features touch that have no normal. `closest` (m, 2) int8: where the closest point is on
    each feature, 0 on a vertex, 1 inside an edge, 2 inside a face. `faces` (m, 2) int32: the lowest face that has each feature.
    """
    kinds: NDArray[np.int8]
    features: NDArray[np.int32]
    vertices: NDArray[np.int32]
    weights: NDArray[np.float64]
    normals: NDArray[np.float64]
    closest: NDArray[np.int8]
    faces: NDArray[np.int32]
    stats: Stats
    n_vertices: tuple[int, int] = field(default=(0, 0), repr=False)
    is_self: bool = False

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.kinds)

    def __bool__(self) -> bool:
        """Is there a pair?"""
        return len(self) > 0

    def __repr__(self) -> str:
        counts = np.bincount(self.kinds, minlength=3)
        return f"{type(self).__name__}({counts[0] + counts[1]} pairs of a vertex and a face, {counts[2]} of two edges)"

    def csr(self, body: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of each vertex, as compressed rows: those of vertex v are pairs[begins[v] : begins[v + 1]], ascending.

        body : 0 for vertices of the first body, 1 for the second; pairs of one body with itself have both features in its rows
        """
        if isinstance(body, (bool, np.bool_)) or not isinstance(body, (int, np.integer)) or body not in (0, 1):
            raise ArgumentError(f"body: expected 0 for the first body or 1 for the second, got {body!r}")
        n_first = np.array([1, 3, 2])[self.kinds][:, None]              # vertices of the first feature
        wanted = np.ones(self.vertices.shape, np.bool_) if self.is_self else (np.arange(4) >= n_first) == bool(body)
        rows, columns = np.nonzero(wanted)
        vertices = self.vertices[rows, columns]
        order = np.argsort(vertices, kind="stable")
        vertices, rows = vertices[order], rows[order]
        again = (vertices[1:] == vertices[:-1]) & (rows[1:] == rows[:-1])  # a face without area may have a vertex twice
        vertices, rows = np.delete(vertices, np.flatnonzero(again)), np.delete(rows, np.flatnonzero(again))
        return np.searchsorted(vertices, np.arange(self.n_vertices[body] + 1)), rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class FeaturePairs(_FeatureRows):
    """Pairs of features within a tolerance, each once, sorted by kind and features, with `distances` (m,) and `points`
    (m, 2, 3), the closest on each feature."""
    distances: NDArray[np.float64]
    points: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Impacts(_FeatureRows):
    """Pairs of features that collide between two states, each once, sorted by time, then by kind and features. `times` (m,), from 0 to 1:
    not later than the first contact, and at most 2**-40 before it. `weights`, `normals` and `closest` are of that time."""
    times: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class SceneImpacts(Impacts):
    """`Impacts` of a scene: `bodies` (m, 2), the ids of both, the lower one first, or the same twice."""
    bodies: NDArray[np.int64]

    def csr(self, body: int = 0) -> NoReturn:
        """Refused: vertices of different bodies have the same numbers. Ask for two bodies, with `pliant.ccd`."""
        raise ArgumentError("csr: the impacts of a scene are of many bodies, whose vertices have the same numbers; select rows by .bodies, "
                            "or ask pliant.ccd and pliant.self_ccd for the bodies that are needed")
