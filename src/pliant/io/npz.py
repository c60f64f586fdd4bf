"""NPZ archives of NumPy: `faces` and `vertices`, or `faces_NAME` and `vertices_NAME` of several bodies.

Vertices are (n, 3), or (k, n, 3) in k frames, which may also be called `frames`; `rate` says how many are shown in a second. What is stored
plainly is read by going to where a frame is; what is compressed is unfolded from one frame to the next, and from the start for one that
comes before. So memory is that of a frame.

Invariants: nothing is unpickled; the size of an array is compared with that of its member, and that with the file, before any memory is
asked for; what unfolds too far is refused (APPNOTE.TXT of PKWARE, sections 4.3.7 and 4.4; the NPY format, NEP 1).
"""

from __future__ import annotations

import io
import math
import struct
import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import FileError
from pliant.io.animation import RATE, Animation, Frames, Mesh, Settings
from pliant.io.guard import examined, refuse, size_of
from pliant.io.part import doubles, in_range

MOST_UNFOLDED = 1 << 36  # bytes of all members together
MOST_HELD = 1 << 30  # bytes of an array, or of a frame of it, that is in memory at once; of all faces together
WIDE = 8  # bytes that a number takes in memory, whatever it takes in the file
MOST_FOLD, HARMLESS = 100, 1 << 26  # how many times its size a member may unfold to, and bytes up to which it may do so anyway
MOST_DIRECTORY = 1 << 22  # bytes that are read at once to find the members: some tens of thousands
MOST_BODIES = 1_000
HEAD = 1 << 14  # bytes in which the header of an array is
BLOCK = 1 << 16  # bytes that are taken and unfolded at once
RATES = 0.01, 1e5  # frames a second that are believed
KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: Path, settings: Settings) -> Animation:
    """The animation of an archive."""
    size = size_of(path)
    with examined(path):
        members = _members(path, size)
        pairs, left = _paired(path, list(members))
        arrays = {name: Member(path, members[name]) for pair in pairs.values() for name in pair}
        _held(path, [arrays[faces] for faces, _ in pairs.values()], size)
        rate = settings.rate or (_rate(Member(path, members["rate"])) if "rate" in members else RATE)
        actors = [_actor(path, name, arrays[faces], arrays[vertices]) for name, (faces, vertices) in pairs.items()]
        notes = (f"{path.name}: {', '.join(left[:5])}{' …' if len(left) > 5 else ''} left out",) if left else ()
    return Animation(path.stem, actors, max(actor.frames for actor in actors), rate, notes=notes, files=(path,))


class _Careful(io.FileIO):
    """A file that gives little at a time: an archive whose list of members is endless is refused, and not read."""

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = MOST_DIRECTORY + 1 if size is None or size < 0 else min(size, MOST_DIRECTORY + 1)
        found = super().read(wanted) or b""
        if len(found) > MOST_DIRECTORY:
            raise ValueError(f"holds a list of members of more than {MOST_DIRECTORY:,} bytes")
        return found


def _members(path: Path, size: int) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name, each of a believable size; `size`: of the file."""
    with _Careful(path) as file, zipfile.ZipFile(file) as archive:
        found = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    named = {member.filename.removesuffix(".npy"): member for member in found}
    if len(named) != len(found):
        raise refuse(path, "holds two members of one name")
    for name, member in named.items():
        fold, room = member.compress_type in KINDS and not member.flag_bits & 1, max(HARMLESS, MOST_FOLD * member.compress_size)
        if not fold:
            raise refuse(path, f"{name}: is encrypted, or compressed in another way than by deflate")
        if member.header_offset + member.compress_size > size or member.file_size > room:
            raise refuse(path, f"{name}: announces {member.file_size:,} bytes, in {member.compress_size:,} of the file's {size:,}")
    total = sum(member.file_size for member in found)
    if total > MOST_UNFOLDED:
        raise refuse(path, f"unfolds to {total:,} bytes, at most {MOST_UNFOLDED:,} are read")
    return named


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
    total, most = sum(WIDE * math.prod(each.shape) for each in faces), min(MOST_HELD, max(HARMLESS, MOST_FOLD * size))
    if total > most:
        raise refuse(path, f"holds faces of {total:,} bytes in all, of which at most {most:,} are held at once")


class _Place(NamedTuple):
    """How far a thread has unfolded a member."""

    unfold: Any  # a zlib decompressor
    taken: int  # bytes of the file
    given: int  # bytes of the member


class Member:
    """An array of an archive: its header is known, its numbers are read when they are asked for."""

    def __init__(self, path: Path, member: zipfile.ZipInfo) -> None:
        self.path, self.name, self._packed = path, member.filename.removesuffix(".npy"), member.compress_type != zipfile.ZIP_STORED
        self._size, self._length, self._threads = member.compress_size, member.file_size, threading.local()
        self._start = self._data(member)
        head = io.BytesIO(self._bytes(0, min(member.file_size, HEAD)))
        self._threads.place = None  # frames are read much later, if at all
        version = np.lib.format.read_magic(head)
        if version not in ((1, 0), (2, 0)):
            raise self.refuse(f"is of version {version}, expected 1.0 or 2.0")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, self.fortran, self.dtype = read(head)
        self._offset = head.tell()
        if self.dtype.hasobject or min(self.shape, default=0) < 0:
            raise self.refuse(f"is an array of {self.dtype}, shape {self.shape}; expected numbers")
        if self._offset + math.prod(self.shape) * self.dtype.itemsize != member.file_size:
            raise self.refuse(f"announces shape {self.shape} of {self.dtype}, and has {member.file_size:,} bytes")

    def refuse(self, message: str) -> FileError:
        return refuse(self.path, f"{self.name}: {message}")

    def _data(self, member: zipfile.ZipInfo) -> int:
        """Where the bytes of the member begin: after its local header, whose names may be longer than the directory's."""
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            head = file.read(30)
            if len(head) < 30 or not head.startswith(b"PK\3\4"):
                raise self.refuse("has no header where the list of members says")
            name, extra = struct.unpack("<HH", head[26:])
            start: int = member.header_offset + 30 + name + extra
            plain = member.file_size if not self._packed else member.compress_size
            if plain != member.compress_size or start + plain > file.seek(0, io.SEEK_END):
                raise self.refuse(f"announces {member.file_size:,} bytes, which are not there")
        return start

    def _bytes(self, start: int, count: int) -> bytes:
        """Some bytes of the member."""
        with self.path.open("rb") as file:
            if not self._packed:
                file.seek(self._start + start)
                found = file.read(count)
            else:
                found = self._unfolded(file, start, count)
        if len(found) != count:
            raise self.refuse("ends before all that it announces")
        return found

    def _unfolded(self, file: BinaryIO, start: int, count: int) -> bytes:
        place: _Place | None = getattr(self._threads, "place", None)
        if place is None or place.given > start:
            place = _Place(zlib.decompressobj(-zlib.MAX_WBITS), 0, 0)
        self._threads.place = None  # an error leaves none
        unfold, taken, given = place
        file.seek(self._start + taken)
        kept = list[bytes]()
        while given < start + count:
            fresh = unfold.unconsumed_tail
            if not fresh:
                fresh = file.read(min(BLOCK, self._size - taken))
                taken += len(fresh)
            piece = unfold.decompress(fresh, min(BLOCK, start - given if given < start else start + count - given))
            if not piece and (unfold.eof or not fresh):
                break
            if given >= start:
                kept.append(piece)
            given += len(piece)
        if given < self._length:  # at the end there is nothing more to unfold
            self._threads.place = _Place(unfold, taken, given)
        return b"".join(kept)

    def whole(self) -> NDArray[Any]:
        """All of the array."""
        return self._part(0, self.shape)

    def frame(self, number: int) -> NDArray[Any]:
        """One of the arrays along the first dimension."""
        return self._part(number, self.shape[1:])

    def _part(self, number: int, shape: tuple[int, ...]) -> NDArray[Any]:
        count, held = math.prod(shape) * self.dtype.itemsize, math.prod(shape) * max(self.dtype.itemsize, WIDE)
        most = min(MOST_HELD, max(HARMLESS, MOST_FOLD * self._size))
        if held > most:
            raise self.refuse(f"takes {held:,} bytes in memory, of which at most {most:,} are held at once")
        rows = np.frombuffer(self._bytes(self._offset + number * count, count), self.dtype)
        return rows.reshape(shape, order="F" if self.fortran else "C")


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
