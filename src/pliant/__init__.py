"""Pliant: exact, fast collision, distance and ray queries among triangle meshes that deform every frame.

    import pliant as pl

    cloth, tool = pl.Body(vertices, faces), pl.Body(other_vertices, other_faces)
    cloth.update(vertices)
    pl.collide(cloth, tool).faces

Names are imported at first use: `import pliant` costs milliseconds.
"""
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DeviceMemoryError,
    FileError,
    MeshError,
    MissingExtraError,
    PliantError,
    StaleResultError,
    TooManyPairsError,
    UnknownIdError,
)

if TYPE_CHECKING:
    from pliant.body import Body
    from pliant.core.threads import set_threads, threads
    from pliant.image.compact import compact
    from pliant.io.read import read
    from pliant.motion.elastic import Elastic
    from pliant.motion.meshless import MeshlessNodes
    from pliant.motion.skeleton import Skeleton
    from pliant.query.collide.first_contact import first_contact
    from pliant.query.collide.self_collide import self_collide
    from pliant.query.collide.two_bodies import collide
    from pliant.query.continuous.ccd import ccd, self_ccd
    from pliant.query.continuous.single import ccd_edge_edge, ccd_point_triangle
    from pliant.query.continuous.step_size import self_step_size, step_size
    from pliant.query.frustum import frustum_cull
    from pliant.query.options import Traversal
    from pliant.query.proximity.closest import closest
    from pliant.query.proximity.distance import distance, self_distance
    from pliant.query.proximity.inside import inside
    from pliant.query.proximity.within import self_within, within
    from pliant.query.ray.cast import cast, cast_all, occluded, pick
    from pliant.results import (
        AllHits,
        Closest,
        ContactPairs,
        Distance,
        DistancePairs,
        FeaturePairs,
        FirstContact,
        Hit,
        Hits,
        Impacts,
        Inside,
        Pairs,
        PointPairs,
        SceneContactPairs,
        SceneDistancePairs,
        SceneImpacts,
        ScenePairs,
        Stats,
        VisibleFaces,
    )
    from pliant.scene import Scene
    from pliant.uniform_grid import UniformGrid
    from pliant.vertex_order import ReorderedMesh, reorder_vertices

__version__ = "0.1.0"
__all__ = ["AllHits", "ArgumentError", "ArgumentTypeError", "Body", "Closest", "ContactPairs", "DeviceError", "DeviceMemoryError",
           "Distance", "DistancePairs", "Elastic", "FeaturePairs", "FileError", "FirstContact", "Hit", "Hits", "Impacts", "Inside",
           "MeshError", "MeshlessNodes", "MissingExtraError", "Pairs", "PliantError", "PointPairs", "ReorderedMesh", "Scene",
           "SceneContactPairs", "SceneDistancePairs", "SceneImpacts", "ScenePairs", "Skeleton", "StaleResultError", "Stats",
           "TooManyPairsError", "Traversal", "UniformGrid", "UnknownIdError", "VisibleFaces", "cast", "cast_all", "ccd", "ccd_edge_edge",
           "ccd_point_triangle", "closest", "collide", "compact", "distance", "first_contact", "frustum_cull", "inside", "occluded", "pick",
           "read", "reorder_vertices", "self_ccd", "self_collide", "self_distance", "self_step_size", "self_within", "set_threads",
           "step_size", "threads", "within"]

_NAMES = {
    "body": ("Body",),
    "core.threads": ("set_threads", "threads"),
    "image.compact": ("compact",),
    "io.read": ("read",),
    "motion.elastic": ("Elastic",),
    "motion.meshless": ("MeshlessNodes",),
    "motion.skeleton": ("Skeleton",),
    "query.collide.first_contact": ("first_contact",),
    "query.collide.self_collide": ("self_collide",),
    "query.collide.two_bodies": ("collide",),
    "query.continuous.ccd": ("ccd", "self_ccd"),
    "query.continuous.single": ("ccd_edge_edge", "ccd_point_triangle"),
    "query.continuous.step_size": ("self_step_size", "step_size"),
    "query.frustum": ("frustum_cull",),
    "query.options": ("Traversal",),
    "query.proximity.closest": ("closest",),
    "query.proximity.distance": ("distance", "self_distance"),
    "query.proximity.inside": ("inside",),
    "query.proximity.within": ("self_within", "within"),
    "query.ray.cast": ("cast", "cast_all", "occluded", "pick"),
    "results": ("AllHits", "Closest", "ContactPairs", "Distance", "DistancePairs", "FeaturePairs", "FirstContact", "Hit", "Hits", "Impacts",
                "Inside", "Pairs", "PointPairs", "SceneContactPairs", "SceneDistancePairs", "SceneImpacts", "ScenePairs", "Stats",
                "VisibleFaces"),
    "scene": ("Scene",),
    "uniform_grid": ("UniformGrid",),
    "vertex_order": ("ReorderedMesh", "reorder_vertices"),
}
_ROOMS = ("check", "io", "render", "report", "shapes", "tune")         # for users too, but not imported by `import pliant`
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        hint = f"; import pliant.{name} first" if name in _ROOMS else ""
        raise AttributeError(f"module 'pliant' has no attribute {name!r}{hint}", name=name, obj=sys.modules[__name__])
    value = getattr(import_module(f"pliant.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
