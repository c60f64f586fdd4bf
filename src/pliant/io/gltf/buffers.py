"""Numbers of a glTF file: buffers, views of them, and accessors, also sparse ones (glTF 2.0, section 3.6).

Only the bytes that an accessor needs are read, so that textures in the same file cost nothing. Any alignment will do.

Invariant: before memory is asked for, what an accessor announces is compared with the bytes that are there, and all that was read so far
with the size of the files: a small file cannot unfold into a large animation.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from pliant.io.animation import Floats
from pliant.io.gltf.document import COMPRESSION_EXTENSIONS, CONVERSION_HINT, Document, Entry
from pliant.io.limits import refuse, resolve_inside, size_of

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

COMPONENT_TYPES = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
DATA_URIS = ("data:application/octet-stream;base64,", "data:application/gltf-buffer;base64,")
BASE_MEMORY, MEMORY_FACTOR = 1 << 26, 16  # what is read may take so many bytes of memory, and this many more for each byte of the files
MAX_STRIDE = 252


class Accessors:
    """The accessors of a document; `files`: those that were read."""

    def __init__(self, document: Document) -> None:
        self.document, self.path = document, document.file
        self.files: list[Path] = [self.path]
        self._file_bytes, self._spent = size_of(self.path), 0
        self._buffers: dict[int, tuple[Path | bytes, int, int]] = {}
        self._float_cache: dict[int, Floats] = {}  # what `floats` has read: meshes may share vertices

    def spend(self, numbers: int, what: str) -> None:
        """Refuse so many more numbers if files of this size have no business with them."""
        self._spent += 8 * numbers
        if self._spent > BASE_MEMORY + MEMORY_FACTOR * self._file_bytes:
            raise refuse(self.path, f"{what}: unfolds {self._file_bytes:,} bytes of files to {self._spent:,} or more")

    def count(self, index: int) -> int:
        """Elements of an accessor."""
        return self.document.get("accessors", index).integer("count")

    def floats(self, index: int, kind: str) -> Floats:
        """(count, width) float64, finite, read-only: an accessor of this type, such as "VEC3"; normalised integers as fractions."""
        entry = self.document.get("accessors", index)
        if index not in self._float_cache or self._float_cache[index].shape[1] != WIDTHS[kind]:
            self._float_cache[index] = self._floats(entry, kind)
            self._float_cache[index].flags.writeable = False
        return self._float_cache[index]

    def _floats(self, entry: Entry, kind: str) -> Floats:
        rows = self._elements(entry, kind)
        with np.errstate(invalid="ignore"):  # of signalling NaN
            made = rows.astype(np.float64)
        if rows.dtype.kind == "f":
            bad = ~np.isfinite(made).all(axis=1)
            if bad.any():
                row = int(bad.argmax())
                raise refuse(self.path, f"{entry.name}: element {row} is {made[row].tolist()}, expected finite numbers")
        elif entry.flag("normalized"):
            made = np.maximum(made / np.iinfo(rows.dtype).max, -1.0)
        return made

    def integers(self, index: int, kind: str) -> Indices:
        """(count, width) int64: an accessor of unsigned integers."""
        entry = self.document.get("accessors", index)
        rows = self._elements(entry, kind)
        if rows.dtype.kind != "u":
            raise entry.refuse("componentType", f"expected unsigned integers, got {rows.dtype}")
        return rows.astype(np.int64)

    def _elements(self, entry: Entry, kind: str) -> NDArray[Any]:
        found = entry.text("type")
        if found != kind:
            raise entry.refuse("type", f"expected {kind}, got {found[:20]!r}")
        count, dtype = entry.integer("count"), self._component(entry)
        stored = self._view(entry, count, WIDTHS[kind], dtype) if "bufferView" in entry else None
        self.spend(count * WIDTHS[kind], entry.name)
        rows = np.zeros((count, WIDTHS[kind]), dtype) if stored is None else stored
        if "sparse" in entry:
            rows = self._apply_sparse(entry.entry("sparse"), rows)
        return rows

    def _component(self, entry: Entry) -> np.dtype[Any]:
        code = entry.integer("componentType")
        if code not in COMPONENT_TYPES:
            raise entry.refuse("componentType", f"expected one of {', '.join(map(str, COMPONENT_TYPES))}, got {code}")
        return np.dtype(COMPONENT_TYPES[code]).newbyteorder("<")

    def _apply_sparse(self, sparse: Entry, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows of which a few are others (section 3.6.2.3)."""
        count, index_entry = sparse.integer("count", maximum=len(rows)), sparse.entry("indices")
        dtype = self._component(index_entry)
        if dtype.kind != "u":
            raise index_entry.refuse("componentType", f"expected unsigned integers, got {dtype}")
        indices = self._view(index_entry, count, 1, dtype)[:, 0].astype(np.int64)
        if count and (indices[-1] >= len(rows) or (np.diff(indices) <= 0).any()):
            raise refuse(self.path, f"{index_entry.name}: expected rising indices below {len(rows)}")
        made = rows.copy()
        made[indices] = self._view(sparse.entry("values"), count, rows.shape[1], rows.dtype)
        return made

    def _view(self, entry: Entry, count: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """(count, width) elements of the buffer view that an entry names, from its offset on."""
        view = self.document.get("bufferViews", self.document.required_index(entry, "bufferView", "bufferViews"))
        begin, length = view.integer("byteOffset", 0), view.integer("byteLength")
        offset, size = entry.integer("byteOffset", 0), width * dtype.itemsize
        stride = view.integer("byteStride", size, size, max(MAX_STRIDE, size))
        needed = (count - 1) * stride + size if count else 0
        if offset + needed > length:
            raise entry.refuse("count", f"{count:,} elements need {offset + needed:,} bytes, but {view.name} has {length:,}")
        raw = self._bytes(view, begin, length, offset, needed)
        return np.ndarray((count, width), dtype, raw, strides=(stride, dtype.itemsize)) if count else np.zeros((0, width), dtype)

    def _bytes(self, view: Entry, begin: int, length: int, offset: int, needed: int) -> bytes:
        """What a view has from an offset on."""
        index = self.document.required_index(view, "buffer", "buffers")
        if index not in self._buffers:
            self._buffers[index] = self._buffer(self.document.get("buffers", index))
        source, first, present = self._buffers[index]
        if begin + length > present:
            raise view.refuse("byteLength", f"ends at byte {begin + length:,}, but buffers[{index}] has {present:,}")
        at = first + begin + offset
        if isinstance(source, bytes):
            return source[at : at + needed]
        try:
            with source.open("rb") as file:
                file.seek(at)
                raw = file.read(needed)
        except OSError as error:
            raise refuse(source, f"cannot be read: {error.strerror}") from None
        if len(raw) < needed:
            raise refuse(source, f"ends before byte {at + needed:,}")
        return raw

    def _buffer(self, buffer: Entry) -> tuple[Path | bytes, int, int]:
        """Where a buffer is: a file or bytes, where it begins in it, and its length."""
        length, uri = buffer.integer("byteLength"), buffer.text("uri")
        if uri.startswith("data:"):
            return self._decode_uri(buffer, uri, length), 0, length
        if "uri" in buffer:
            return self._external_file(buffer, uri, length), 0, length
        if self.document.blob is None or buffer.name != "buffers[0]":
            raise buffer.refuse("uri",
                                "missing, and there is no chunk for it; "
                                f"with {' or '.join(COMPRESSION_EXTENSIONS[1:])} it is a file {CONVERSION_HINT}")
        begin, present = self.document.blob
        if length > present:
            raise buffer.refuse("byteLength", f"announces {length:,} bytes, but the binary chunk has {present:,}")
        return self.path, begin, length

    def _decode_uri(self, buffer: Entry, uri: str, length: int) -> bytes:
        head = next((head for head in DATA_URIS if uri.startswith(head)), None)
        if head is None:
            raise buffer.refuse("uri", f"expected data in base64 as octet-stream or gltf-buffer, got {uri[:60]!r}")
        try:
            raw = base64.b64decode(uri[len(head) :], validate=True)
        except (binascii.Error, ValueError):
            raise buffer.refuse("uri", "its base64 is damaged") from None
        if len(raw) < length:
            raise buffer.refuse("byteLength", f"announces {length:,} bytes, but its URI has {len(raw):,}")
        return raw

    def _external_file(self, buffer: Entry, uri: str, length: int) -> Path:
        """A file in the same folder or below it; percent signs as RFC 3986 has them."""
        found = resolve_inside(self.path, unquote(uri))
        present = size_of(found)
        if length > present:
            raise buffer.refuse("byteLength", f"announces {length:,} bytes, but {found.name} has {present:,}")
        if found not in self.files:
            self.files.append(found)
            self._file_bytes += present
        return found
