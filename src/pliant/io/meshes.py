"""Files of one mesh, or several, that do not move: OBJ, PLY, STL and OFF.

What is kept is positions, triangles and names. Polygons become triangles (`polygons.py`). Vertices keep the order of the file, none are
merged, those that no face uses stay; only STL, which has no vertices of its own, gets one for each place (`mesh_part.welded_part`). No
reader opens another file.

They are read here and not by trimesh (5.2), which takes relative indices of an OBJ from the end of the file, splits vertices at seams,
refuses binary PLY whose polygons differ, and passes over short faces of an OFF.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pliant.io.animation import DEFAULT_RATE, Animation, FrameActor, Mesh, Settings
from pliant.io.limits import file_errors, refuse
from pliant.io.mesh_part import MeshPart, welded_part
from pliant.io.polygons import crossing_note
from pliant.io.text.obj import read_obj
from pliant.io.text.off import read_off
from pliant.io.text.ply import read_ply
from pliant.io.text.stl import read_stl


def read_parts(path: Path) -> list[MeshPart]:
    """The parts of a file; none, if it has no faces."""
    with file_errors(path):
        return PART_READERS[path.suffix.lower()](path)


def read_mesh(path: Path, settings: Settings) -> Animation:
    """A file as an animation of one frame: an actor for each part."""
    parts = [welded_part(part) for part in read_parts(path)]
    if not parts:
        raise refuse(path, "holds no faces")
    actors = [FrameActor(part.name, 1, _static_frame(part), source=path, polygon_of_face=part.polygon_of_face) for part in parts]
    for actor, part in zip(actors, parts, strict=True):
        actor.take_materials(part.materials, part.material_of_face)
    notes = tuple(note for part in parts for note in crossing_note(part.name, part.crossing))
    return Animation(path.stem, actors, 1, settings.rate or DEFAULT_RATE, notes=notes, files=(path,))


def _static_frame(part: MeshPart) -> Callable[[int], Mesh]:
    return lambda frame: (part.vertices, part.faces)


PART_READERS: dict[str, Callable[[Path], list[MeshPart]]] = {".obj": read_obj, ".ply": read_ply, ".stl": read_stl, ".off": read_off}
