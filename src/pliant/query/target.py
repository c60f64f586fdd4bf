"""What queries accept: a body, a group of bodies, a target of rays. The classes themselves are above this layer and derive from these."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core.device import check_on_host
from pliant.core.threads import ReadWriteLock
from pliant.errors import ArgumentTypeError
from pliant.query.options import ManyOptions
from pliant.results import Distance, SceneDistancePairs, ScenePairs, Stats
from pliant.typing import MeshLike

QUERIES = ("cast", "cast_all", "ccd", "closest", "collide", "distance", "first_contact", "frustum_cull", "inside", "occluded", "pick",
           "self_ccd", "self_collide", "self_distance", "self_step_size", "self_within", "step_size", "within")


class QueryTarget:
    """A target of queries. Queries are functions: their names, looked up as methods, raise an error that shows the call."""

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name in QUERIES:
                kind = type(self).__name__
                raise AttributeError(f"{kind} has no method {name!r}; call pliant.{name}({kind.lower()}, …)", name=name, obj=self)
            return object.__getattribute__(self, name)                  # raises what it raised before


class QueryBody(QueryTarget, ABC):
    """One body, as queries see it: `pliant.Body` is one."""
    _guard: ReadWriteLock
    _options: Any
    _motion: Any
    _welded_faces: NDArray[np.int32]
    _matrix: NDArray[np.float64] | None
    _distance_cache: WeakKeyDictionary[Any, Any]
    _border_cap: Any
    _swept_arrays: list[Any]
    _version: int

    @property
    @abstractmethod
    def faces(self) -> NDArray[np.int32]:
        """(f, 3) vertex indices."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of faces."""

    @abstractmethod
    def _bvh_at(self, scale: float) -> Any:
        """The BVH for coordinates times this power of two."""

    @abstractmethod
    def _world_vertices(self) -> tuple[NDArray[np.float64], bool, float]:
        """World vertices, flat; whether they are in the filters' range; a bound on their rounding error."""

    @abstractmethod
    def _world_box(self) -> NDArray[np.float64]:
        """(2, 3): a box around the vertices, computed without touching them; it may be loose."""

    @abstractmethod
    def _topology(self) -> Any:
        """Which faces share vertices."""

    @property
    @abstractmethod
    def edges(self) -> NDArray[np.int32]:
        """(e, 2) vertex indices."""

    @abstractmethod
    def _check_update(self, vertices: Any = None, *, transform: Any = None) -> Any:
        """Validate the arguments of `update`, which changes nothing."""

    @abstractmethod
    def _mesh_features(self) -> Any:
        """Edges, and the owners of edges and vertices: MeshFeatures."""

    @abstractmethod
    def _feature_tree(self) -> Any:
        """(tree, MeshFeatures, LeafFeatures): the features that the leaves of the tree own."""

    @abstractmethod
    def _open_edges(self) -> Any:
        """Which edges have no face on one side: OpenEdges."""

    @abstractmethod
    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces."""


class BodyGroup(QueryTarget, ABC):
    """Bodies with ids: `pliant.Scene` is one."""
    _version: int
    _ray_targets: Any                                                   # a RayTargetCache (`query/ray/target_cache.py`)

    @abstractmethod
    def _members_with_faces(self) -> tuple[list[Any], list[int], list[int]]:
        """Bodies with faces, their ids and masks of rays."""

    @abstractmethod
    def _collide_body(self, body: Any, scene_first: bool, options: ManyOptions) -> ScenePairs:
        """The pairs of one body with those of the group."""

    @abstractmethod
    def _within_body(self, body: Any, scene_first: bool, tolerance: float, points: bool) -> SceneDistancePairs:
        """Pairs of faces of one body and of the group within a tolerance."""

    @abstractmethod
    def _distance_between(self, a: Any, b: Any) -> Distance:
        """The distance of the nearest bodies of a and b, of which one is the group."""

    @abstractmethod
    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces."""


class RayTarget(QueryTarget, ABC):
    """Something that traces rays by itself, without a BVH: `pliant.UniformGrid` is one."""
    _version: int

    @abstractmethod
    def _trace(self, rays: Any, kind: int) -> tuple[Any, NDArray[Any], Stats]:
        """The hits of all rays."""

    @abstractmethod
    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces."""


SurfaceLike: TypeAlias = QueryBody | MeshLike | tuple[ArrayLike, ArrayLike]


def check_body(name: str, value: object) -> None:
    """Refuse what is not a body, and say which call takes it."""
    if isinstance(value, QueryBody):
        return
    if isinstance(value, BodyGroup):
        raise ArgumentTypeError(f"{name}: expected a Body, got a Scene; scene.collide(), scene.within(tolerance) and scene.distance() "
                                "query its bodies, scene[id] is one of them, and scene.collide(self_pairs=True) adds self-intersections")
    for part in value if isinstance(value, tuple) else (value, getattr(value, "vertices", None)):
        check_on_host(name, part)
    is_mesh = isinstance(value, tuple) or hasattr(value, "vertices")
    other = '; only collide and self_collide with engine="image" take meshes' if is_mesh else ""
    raise ArgumentTypeError(f"{name}: expected a Body, got {type(value).__name__}; make one with pliant.Body(vertices, faces){other}")
