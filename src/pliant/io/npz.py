"""NPZ archives of NumPy: `faces` and `vertices`, or `faces_NAME` and `vertices_NAME` of several bodies.

Vertices are (n, 3), or (k, n, 3) in k frames, which may also be called `frames`; `rate` says how many are shown in a second. Frames are
read one by one, faces at once (`archive`). So memory is that of a frame and of the faces of all bodies.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from pliant.io import archive
from pliant.io.animation import RATE, Animation, Frames, Mesh, Settings
from pliant.io.archive import Member
from pliant.io.limits import RATES, examined, refuse, size_of
from pliant.io.mesh_part import doubles, in_range

MOST_BODIES = 1_000


def read_npz(path: Path, settings: Settings) -> Animation:
    """The animation of an archive."""
    size = size_of(path)
    with examined(path):
        members = archive.members(path)
        pairs, left = _paired(path, list(members))
        arrays = {name: Member(path, members[name]) for pair in pairs.values() for name in pair}
        _held(path, [arrays[faces] for faces, _ in pairs.values()], size)
        rate = settings.rate or (_rate(Member(path, members["rate"])) if "rate" in members else RATE)
        actors = [_actor(path, name, arrays[faces], arrays[vertices]) for name, (faces, vertices) in pairs.items()]
        notes = (f"{path.name}: {', '.join(left[:5])}{' …' if len(left) > 5 else ''} left out",) if left else ()
    return Animation(path.stem, actors, max(actor.frames for actor in actors), rate, notes=notes, files=(path,))


def _paired(path: Path, names: list[str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """By the name of each body its arrays of faces and of vertices; and the arrays that belong to none."""
    pairs, used, known = dict[str, tuple[str, str]](), {"rate"}, set(names)
    for faces in (name for name in names if name == "faces" or name.startswith("faces_")):
        end = faces.removeprefix("faces")
        moving = [name for name in (f"vertices{end}", f"frames{end}") if name in known]
        if len(moving) != 1:
            held = " and ".join(moving) or "neither"
            raise refuse(path, f"holds {faces[:60]} and of vertices and frames {held[:120]}; expected one of the two")
        pairs[end.removeprefix("_") or path.stem] = faces, moving[0]
        used |= {faces, moving[0]}
    alone = [name for name in names if name not in used and name.partition("_")[0] in ("vertices", "frames")]
    if alone or not pairs:
        raise refuse(path, f"holds {alone[0][:60]} without faces" if alone else "holds no faces; expected faces and vertices")
    if len(pairs) > MOST_BODIES:
        raise refuse(path, f"holds {len(pairs):,} bodies, at most {MOST_BODIES:,} are read")
    return pairs, [name[:60] for name in names if name not in used]


def _held(path: Path, faces: list[Member], size: int) -> None:
    """Refuse faces that take too much memory together: those of all bodies are kept. `size`: of the file."""
    total, most = sum(archive.WIDE * math.prod(each.shape) for each in faces), min(archive.MOST_HELD, archive.room(size))
    if total > most:
        raise refuse(path, f"holds faces of {total:,} bytes in all, of which at most {most:,} are held at once")


def _rate(member: Member) -> float:
    rate = float(member.whole()) if member.shape == () and member.dtype.kind in "fiu" else 0.0
    if not RATES[0] <= rate <= RATES[1]:
        raise member.refuse(f"expected a number from {RATES[0]:g} to {RATES[1]:g}")
    return rate


def _actor(path: Path, name: str, faces: Member, vertices: Member) -> Frames:
    if faces.dtype.kind not in "iu" or len(faces.shape) != 2 or faces.shape[1] != 3:
        raise faces.refuse(f"expected whole numbers of shape (f, 3), got {faces.dtype} of {faces.shape}")
    moving = len(vertices.shape) == 3
    if vertices.dtype.kind not in "fiu" or vertices.dtype.itemsize > 8 or vertices.shape[-1:] != (3,) or not 2 <= len(vertices.shape) <= 3:
        raise vertices.refuse(f"expected real numbers of shape (n, 3) or (k, n, 3), got {vertices.dtype} of {vertices.shape}")
    if moving and not vertices.shape[0]:
        raise vertices.refuse("has no frames")
    if moving and vertices.fortran:
        raise vertices.refuse("is in Fortran order, in which frames are not apart; save numpy.ascontiguousarray of it")
    corners = in_range(path, faces.whole().astype(np.int64, copy=False), vertices.shape[-2])

    def read(frame: int) -> Mesh:
        with examined(path):
            rows = vertices.frame(frame) if moving else vertices.whole()
            return doubles(rows), corners

    return Frames(name, vertices.shape[0] if moving else 1, read, source=path)
