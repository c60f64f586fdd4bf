"""Arrays in NPZ archives, which may be hostile: found, examined, and read when they are asked for, whole or a frame at a time.

What is stored plainly is read by going to where a frame is; what is compressed is unfolded from one frame to the next, and from the start
for one that comes before. So memory is that of what is asked for.

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
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import FileError
from pliant.io.limits import refuse, size_of

MOST_UNFOLDED = 1 << 36  # bytes of all members together
MOST_HELD = 1 << 30  # bytes in memory at once: of a frame, or of a whole array unless its reader says otherwise
WIDE = 8  # bytes that a number takes in memory, whatever it takes in the file
MOST_FOLD, HARMLESS = 100, 1 << 26  # how many times its size a member may unfold to, and bytes up to which it may do so anyway
MOST_DIRECTORY = 1 << 22  # bytes that are read at once to find the members: some tens of thousands
HEAD = 1 << 14  # bytes in which the header of an array is
BLOCK = 1 << 16  # bytes that are taken and unfolded at once
KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def room(size: int) -> int:
    """Bytes that `size` bytes of a file may become."""
    return max(HARMLESS, MOST_FOLD * size)


class _Careful(io.FileIO):
    """A file that gives little at a time: an archive whose list of members is endless is refused, and not read."""

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = MOST_DIRECTORY + 1 if size is None or size < 0 else min(size, MOST_DIRECTORY + 1)
        found = super().read(wanted) or b""
        if len(found) > MOST_DIRECTORY:
            raise ValueError(f"holds a list of members of more than {MOST_DIRECTORY:,} bytes")
        return found


def members(path: Path) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name, each of a believable size."""
    size = size_of(path)
    with _Careful(path) as file, zipfile.ZipFile(file) as archive:
        found = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    named = {member.filename.removesuffix(".npy"): member for member in found}
    if len(named) != len(found):
        raise refuse(path, "holds two members of one name")
    for name, member in named.items():
        if member.compress_type not in KINDS or member.flag_bits & 1:
            raise refuse(path, f"{name}: is encrypted, or compressed in another way than by deflate")
        if member.header_offset + member.compress_size > size or member.file_size > room(member.compress_size):
            raise refuse(path, f"{name}: announces {member.file_size:,} bytes, in {member.compress_size:,} of the file's {size:,}")
    total = sum(member.file_size for member in found)
    if total > MOST_UNFOLDED:
        raise refuse(path, f"unfolds to {total:,} bytes, at most {MOST_UNFOLDED:,} are read")
    return named


class _Place(NamedTuple):
    """How far a thread has unfolded a member."""

    unfold: Any  # a zlib decompressor
    taken: int  # bytes of the file
    given: int  # bytes of the member


class Member:
    """An array of an archive: its header is known, its numbers are read when they are asked for."""

    def __init__(self, path: Path, member: zipfile.ZipInfo) -> None:
        self.path, self.name, self._packed = path, member.filename.removesuffix(".npy"), member.compress_type != zipfile.ZIP_STORED
        self._size, self._length, self._sum, self._threads = member.compress_size, member.file_size, member.CRC, threading.local()
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

    def _bytes(self, start: int, count: int) -> bytearray:
        """Some bytes of the member."""
        with self.path.open("rb") as file:
            if not self._packed:
                file.seek(self._start + start)
                found = bytearray(count)
                del found[file.readinto(found) :]
            else:
                found = self._unfolded(file, start, count)
        if len(found) != count:
            raise self.refuse("ends before all that it announces")
        return found

    def _unfolded(self, file: BufferedReader, start: int, count: int) -> bytearray:
        place: _Place | None = getattr(self._threads, "place", None)
        if place is None or place.given > start:
            place = _Place(zlib.decompressobj(-zlib.MAX_WBITS), 0, 0)
        self._threads.place = None  # an error leaves none
        unfold, taken, given = place
        file.seek(self._start + taken)
        kept = bytearray()
        while given < start + count:
            fresh = unfold.unconsumed_tail
            if not fresh:
                fresh = file.read(min(BLOCK, self._size - taken))
                taken += len(fresh)
            piece = unfold.decompress(fresh, min(BLOCK, start - given if given < start else start + count - given))
            if not piece and (unfold.eof or not fresh):
                break
            if given >= start:
                kept += piece
            given += len(piece)
        if given < self._length:  # at the end there is nothing more to unfold
            self._threads.place = _Place(unfold, taken, given)
        return kept

    def whole(self, most: int | None = None) -> NDArray[Any]:
        """All of the array, which may take `most` bytes in memory; unlike a frame it is compared with the checksum of its member."""
        self._held(self.shape, MOST_HELD if most is None else most)
        data = self._bytes(0, self._length)
        if zlib.crc32(data) != self._sum:
            raise self.refuse("is damaged: its checksum is not the one that is written")
        return self._array(memoryview(data)[self._offset :], self.shape)

    def frame(self, number: int) -> NDArray[Any]:
        """One of the arrays along the first dimension."""
        shape = self.shape[1:]
        self._held(shape, MOST_HELD)
        count = math.prod(shape) * self.dtype.itemsize
        return self._array(self._bytes(self._offset + number * count, count), shape)

    def _held(self, shape: tuple[int, ...], most: int) -> None:
        """Refuse numbers that take too much memory."""
        held, most = math.prod(shape) * max(self.dtype.itemsize, WIDE), min(most, room(self._size))
        if held > most:
            raise self.refuse(f"takes {held:,} bytes in memory, of which at most {most:,} are held at once")

    def _array(self, data: bytearray | memoryview, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.frombuffer(data, self.dtype).reshape(shape, order="F" if self.fortran else "C")
