"""NPZ archives of NumPy: `faces` and `vertices`, or `faces_NAME` and `vertices_NAME` of several bodies.

Vertices are (n, 3), or (k, n, 3) in k frames, which may also be called `frames`; `rate` says how many are shown in a second. Frames are
read one by one, faces at once (`archive`). So memory is that of a frame and of the faces of all bodies.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from pliant.io import archive
from pliant.io.animation import DEFAULT_RATE, Animation, FrameActor, Mesh, Settings
from pliant.io.archive import Member
from pliant.io.limits import RATE_RANGE, file_errors, refuse, size_of
from pliant.io.mesh_part import checked_faces, to_float64

MAX_BODIES = 1_000


def read_npz(path: Path, settings: Settings) -> Animation:
    """The animation of an archive."""
    size = size_of(path)
    with file_errors(path):
        members = archive.members(path)
        pairs, unused = _pair_arrays(path, list(members))
        arrays = {name: Member(path, members[name]) for pair in pairs.values() for name in pair}
        _check_face_memory(path, [arrays[faces] for faces, _ in pairs.values()], size)
        rate = _read_rate(Member(path, members["rate"])) if "rate" in members else DEFAULT_RATE
        actors = [_make_actor(path, name, arrays[faces], arrays[vertices]) for name, (faces, vertices) in pairs.items()]
        notes = (f"{path.name}: {', '.join(unused[:5])}{' …' if len(unused) > 5 else ''} left out",) if unused else ()
    return Animation(path.stem, actors, max(actor.frames for actor in actors), rate, notes=notes, files=(path,))


def _pair_arrays(path: Path, names: list[str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """By the name of each body its arrays of faces and of vertices; and the arrays that belong to none."""
    pairs, used, known = dict[str, tuple[str, str]](), {"rate"}, set(names)
    for faces in (name for name in names if name == "faces" or name.startswith("faces_")):
        end = faces.removeprefix("faces")
        vertex_names = [name for name in (f"vertices{end}", f"frames{end}") if name in known]
        if len(vertex_names) != 1:
            held = " and ".join(vertex_names) or "neither"
            raise refuse(path, f"holds {faces[:60]} and of vertices and frames {held[:120]}; expected one of the two")
        pairs[end.removeprefix("_") or path.stem] = faces, vertex_names[0]
        used |= {faces, vertex_names[0]}
    without_faces = [name for name in names if name not in used and name.partition("_")[0] in ("vertices", "frames")]
    if without_faces or not pairs:
        raise refuse(path, f"holds {without_faces[0][:60]} without faces" if without_faces
                     else "holds no faces; expected faces and vertices")
    if len(pairs) > MAX_BODIES:
        raise refuse(path, f"holds {len(pairs):,} bodies, at most {MAX_BODIES:,} are read")
    return pairs, [name[:60] for name in names if name not in used]


def _check_face_memory(path: Path, faces: list[Member], size: int) -> None:
    """Refuse faces that take too much memory together: those of all bodies are kept. `size`: of the file."""
    total = sum(archive.NUMBER_BYTES * math.prod(each.shape) for each in faces)
    most = min(archive.MAX_MEMORY, archive.max_inflated_bytes(size))
    if total > most:
        raise refuse(path, f"holds faces of {total:,} bytes in all, of which at most {most:,} are held at once")


def _read_rate(member: Member) -> float:
    rate = float(member.read_all()) if member.shape == () and member.dtype.kind in "fiu" else 0.0
    if not RATE_RANGE[0] <= rate <= RATE_RANGE[1]:
        raise member.refuse(f"expected a number from {RATE_RANGE[0]:g} to {RATE_RANGE[1]:g}")
    return rate


def _make_actor(path: Path, name: str, faces: Member, vertices: Member) -> FrameActor:
    if faces.dtype.kind not in "iu" or len(faces.shape) != 2 or faces.shape[1] != 3:
        raise faces.refuse(f"expected whole numbers of shape (f, 3), got {faces.dtype} of {faces.shape}")
    animated = len(vertices.shape) == 3
    if vertices.dtype.kind not in "fiu" or vertices.dtype.itemsize > 8 or vertices.shape[-1:] != (3,) or not 2 <= len(vertices.shape) <= 3:
        raise vertices.refuse(f"expected real numbers of shape (n, 3) or (k, n, 3), got {vertices.dtype} of {vertices.shape}")
    if animated and not vertices.shape[0]:
        raise vertices.refuse("has no frames")
    if animated and vertices.fortran:
        raise vertices.refuse("is in Fortran order, in which frames are not apart; save numpy.ascontiguousarray of it")
    corners = checked_faces(path, faces.read_all().astype(np.int64, copy=False), vertices.shape[-2])

    def read(frame: int) -> Mesh:
        with file_errors(path):
            rows = vertices.frame(frame) if animated else vertices.read_all()
            return to_float64(rows), corners

    return FrameActor(name, vertices.shape[0] if animated else 1, read, source=path)
