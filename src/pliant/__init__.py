"""Pliant: what touches what among triangle meshes that change shape every frame. Exact, and fast.

    import pliant as pl

    cloth, tool = pl.Body(vertices, faces), pl.Body(other_vertices, other_faces)
    cloth.update(vertices)
    pl.collide(cloth, tool).faces

Names are imported when they are first used: `import pliant` costs milliseconds.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.errors import DeviceError, DeviceMemoryError, FileError, MeshError, PliantError, TooManyPairsError

if TYPE_CHECKING:
    from pliant.body import Body
    from pliant.core.threads import set_threads, threads
    from pliant.motion.elastic import Elastic
    from pliant.motion.meshless import Nodes
    from pliant.motion.skeleton import Skeleton
    from pliant.query.collide.first_contact import first_contact
    from pliant.query.collide.self_collide import self_collide
    from pliant.query.collide.two_bodies import collide
    from pliant.query.frustum import visible
    from pliant.query.proximity.closest import closest
    from pliant.query.proximity.distance import distance, self_distance
    from pliant.query.proximity.within import self_within, within
    from pliant.query.ray.cast import cast, cast_all, occluded, pick
    from pliant.results import AllHits, Closest, FirstContact, Hit, Hits, Pairs, ScenePairs, Separation, Stats, Visible
    from pliant.scene import Scene
    from pliant.uniform_grid import Grid

__version__ = "0.1.0"
__all__ = ["AllHits", "Body", "Closest", "DeviceError", "DeviceMemoryError", "Elastic", "FileError", "FirstContact", "Grid", "Hit", "Hits",
           "MeshError", "Nodes", "Pairs", "PliantError", "Scene", "ScenePairs", "Separation", "Skeleton", "Stats",
           "TooManyPairsError", "Visible", "cast", "cast_all", "closest", "collide", "distance", "first_contact",
           "occluded", "pick", "self_collide", "self_distance", "self_within", "set_threads", "threads", "visible",
           "within"]

_HOME = {"AllHits": "results", "Body": "body", "Closest": "results", "closest": "query.proximity.closest",
         "Elastic": "motion.elastic", "Nodes": "motion.meshless", "Skeleton": "motion.skeleton",
         "FirstContact": "results", "Grid": "uniform_grid", "Hit": "results", "Hits": "results",
         "Pairs": "results", "Scene": "scene", "ScenePairs": "results", "Stats": "results", "cast": "query.ray.cast",
         "cast_all": "query.ray.cast", "occluded": "query.ray.cast", "pick": "query.ray.cast", "collide": "query.collide.two_bodies",
         "first_contact": "query.collide.first_contact", "self_collide": "query.collide.self_collide", "set_threads": "core.threads",
         "threads": "core.threads", "Visible": "results", "visible": "query.frustum", "Separation": "results",
         "distance": "query.proximity.distance", "self_distance": "query.proximity.distance",
         "self_within": "query.proximity.within", "within": "query.proximity.within"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    value = getattr(import_module(f"pliant.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
