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

MAX_INFLATED = 1 << 36  # bytes of all members together
MAX_MEMORY = 1 << 30  # bytes in memory at once: of a frame, or of a whole array unless its reader says otherwise
NUMBER_BYTES = 8  # bytes that a number takes in memory, whatever it takes in the file
MAX_RATIO, RATIO_EXEMPT_BYTES = 100, 1 << 26  # how many times its size a member may unfold to, and bytes up to which it may do so anyway
MAX_DIRECTORY = 1 << 22  # bytes that are read at once to find the members: some tens of thousands
HEADER_BYTES = 1 << 14  # bytes in which the header of an array is
BLOCK_BYTES = 1 << 16  # bytes that are taken and unfolded at once
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def max_inflated_bytes(size: int) -> int:
    """Bytes that `size` bytes of a file may become."""
    return max(RATIO_EXEMPT_BYTES, MAX_RATIO * size)


class _BoundedFile(io.FileIO):
    """A file that gives little at a time: an archive whose list of members is endless is refused, and not read."""

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = MAX_DIRECTORY + 1 if size is None or size < 0 else min(size, MAX_DIRECTORY + 1)
        found = super().read(wanted) or b""
        if len(found) > MAX_DIRECTORY:
            raise ValueError(f"holds a list of members of more than {MAX_DIRECTORY:,} bytes")
        return found


def members(path: Path) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name, each of a believable size."""
    size = size_of(path)
    with _BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
        found = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    by_name = {member.filename.removesuffix(".npy"): member for member in found}
    if len(by_name) != len(found):
        raise refuse(path, "holds two members of one name")
    for name, member in by_name.items():
        if member.compress_type not in COMPRESSIONS or member.flag_bits & 1:
            raise refuse(path, f"{name}: is encrypted, or compressed in another way than by deflate")
        if member.header_offset + member.compress_size > size or member.file_size > max_inflated_bytes(member.compress_size):
            raise refuse(path, f"{name}: announces {member.file_size:,} bytes, in {member.compress_size:,} of the file's {size:,}")
    total = sum(member.file_size for member in found)
    if total > MAX_INFLATED:
        raise refuse(path, f"unfolds to {total:,} bytes, at most {MAX_INFLATED:,} are read")
    return by_name


class _InflatePosition(NamedTuple):
    """How far a thread has unfolded a member."""

    decompressor: Any  # a zlib decompressor
    bytes_read: int  # bytes of the file
    bytes_inflated: int  # bytes of the member


class Member:
    """An array of an archive: its header is known, its numbers are read when they are asked for."""

    def __init__(self, path: Path, member: zipfile.ZipInfo) -> None:
        self.path, self.name, self._is_compressed = path, member.filename.removesuffix(".npy"), member.compress_type != zipfile.ZIP_STORED
        self._stored_size, self._inflated_size = member.compress_size, member.file_size
        self._crc, self._thread_local = member.CRC, threading.local()
        self._start = self._data_offset(member)
        head = io.BytesIO(self._read_bytes(0, min(member.file_size, HEADER_BYTES)))
        self._thread_local.place = None  # frames are read much later, if at all
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

    def _data_offset(self, member: zipfile.ZipInfo) -> int:
        """Where the bytes of the member begin: after its local header, whose names may be longer than the directory's."""
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            head = file.read(30)
            if len(head) < 30 or not head.startswith(b"PK\3\4"):
                raise self.refuse("has no header where the list of members says")
            name, extra = struct.unpack("<HH", head[26:])
            start: int = member.header_offset + 30 + name + extra
            stored = member.file_size if not self._is_compressed else member.compress_size
            if stored != member.compress_size or start + stored > file.seek(0, io.SEEK_END):
                raise self.refuse(f"announces {member.file_size:,} bytes, which are not there")
        return start

    def _read_bytes(self, start: int, count: int) -> bytearray:
        """Some bytes of the member."""
        with self.path.open("rb") as file:
            if not self._is_compressed:
                file.seek(self._start + start)
                found = bytearray(count)
                del found[file.readinto(found) :]
            else:
                found = self._inflate(file, start, count)
        if len(found) != count:
            raise self.refuse("ends before all that it announces")
        return found

    def _inflate(self, file: BufferedReader, start: int, count: int) -> bytearray:
        position: _InflatePosition | None = getattr(self._thread_local, "place", None)
        if position is None or position.bytes_inflated > start:
            position = _InflatePosition(zlib.decompressobj(-zlib.MAX_WBITS), 0, 0)
        self._thread_local.place = None  # an error leaves none
        decompressor, bytes_read, bytes_inflated = position
        file.seek(self._start + bytes_read)
        output = bytearray()
        while bytes_inflated < start + count:
            compressed = decompressor.unconsumed_tail
            if not compressed:
                compressed = file.read(min(BLOCK_BYTES, self._stored_size - bytes_read))
                bytes_read += len(compressed)
            piece = decompressor.decompress(compressed,
                                            min(BLOCK_BYTES,
                                                start - bytes_inflated if bytes_inflated < start else start + count - bytes_inflated))
            if not piece and (decompressor.eof or not compressed):
                break
            if bytes_inflated >= start:
                output += piece
            bytes_inflated += len(piece)
        if bytes_inflated < self._inflated_size:  # at the end there is nothing more to unfold
            self._thread_local.place = _InflatePosition(decompressor, bytes_read, bytes_inflated)
        return output

    def read_all(self, maximum: int | None = None) -> NDArray[Any]:
        """All of the array, which may take `most` bytes in memory; unlike a frame it is compared with the checksum of its member."""
        self._check_memory(self.shape, MAX_MEMORY if maximum is None else maximum)
        data = self._read_bytes(0, self._inflated_size)
        if zlib.crc32(data) != self._crc:
            raise self.refuse("is damaged: its checksum is not the one that is written")
        return self._array(memoryview(data)[self._offset :], self.shape)

    def frame(self, number: int) -> NDArray[Any]:
        """One of the arrays along the first dimension."""
        shape = self.shape[1:]
        self._check_memory(shape, MAX_MEMORY)
        count = math.prod(shape) * self.dtype.itemsize
        return self._array(self._read_bytes(self._offset + number * count, count), shape)

    def _check_memory(self, shape: tuple[int, ...], maximum: int) -> None:
        """Refuse numbers that take too much memory."""
        needed, maximum = math.prod(shape) * max(self.dtype.itemsize, NUMBER_BYTES), min(maximum, max_inflated_bytes(self._stored_size))
        if needed > maximum:
            raise self.refuse(f"takes {needed:,} bytes in memory, of which at most {maximum:,} are held at once")

    def _array(self, data: bytearray | memoryview, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.frombuffer(data, self.dtype).reshape(shape, order="F" if self.fortran else "C")
