"""Arrays of HDF5 files that may be hostile: only what is stored in the file itself, and not more than it can hold.

HDF5 can refer to other files by external links, external storage and virtual datasets; each step of a path is examined, and these are
refused before they are followed. A dataset may announce any shape without storing it: its size is compared with what is stored, as far as
deflate can stretch that. Other filters are refused, so that no plugin is loaded for them. The library unfolds a compressed chunk to the end
of its stream, whatever size the chunk has; so each is unfolded here first, as far as its size and not further.

The HDF5 library is written in C and has had faults with damaged files; what is refused here comes before it reads data, not before it reads
headers. So it runs in a process of its own (`subprocess_client.py`), which serves `Hdf5Service`.
"""

from __future__ import annotations

import math
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import MissingExtraError
from pliant.io.limits import file_errors, refuse, size_of
from pliant.io.subprocess_server import Response, allow_resources

MAX_DEFLATE_RATIO = 1032  # what deflate makes of a byte at most (zlib, technical details)
MAX_RATIO, RATIO_EXEMPT_BYTES = 100, 1 << 24  # times the bytes of a file that an array may have; and always so many bytes
NUMBER_BYTES = 8  # bytes of a number in memory, whatever it is stored in
DEFLATE, SHUFFLE, CHECKSUM = FILTERS = (1, 2, 3)  # numbers of filters; the checksum is Fletcher's
CHECKSUM_BYTES = 4
MAX_CHUNKS = 100_000
MEMORY_FACTOR = 3 * MAX_RATIO  # bytes of memory for one of a file: an array, its chunks as they are unfolded, and as the library keeps them


def import_h5py() -> Any:
    """The library, which is optional."""
    try:
        import h5py as library
    except ImportError:
        raise MissingExtraError("reading HDF5 files needs h5py: pip install 'pliant[vtk]'") from None
    return library


class Hdf5Service:
    """What a process of its own is asked for."""

    def __init__(self) -> None:
        import_h5py()  # loaded before anything is limited

    def read_array(self, path: str, name: str) -> Response:
        """The dataset of this name."""
        return None, (read_array(Path(path), name),)


def read_array(path: Path, name: str) -> NDArray[np.generic]:
    """The dataset of this name, such as /Mesh/0/mesh/geometry: numbers in at most two dimensions."""
    library, size = import_h5py(), size_of(path)
    allow_resources(size, MEMORY_FACTOR)
    with file_errors(path), library.File(path, "r") as file:
        return _read_checked(path, name, _find_dataset(library, path, file, name), size)


def _find_dataset(library: Any, path: Path, file: Any, name: str) -> Any:
    """The dataset at the end of a path whose every step is in this file."""
    at, steps = file, [step for step in name.split("/") if step]
    for step in steps:
        link = at.get(step, getlink=True) if isinstance(at, library.Group) and step not in (".", "..") else None
        if not isinstance(link, library.HardLink):
            raise refuse(path, f"has no {name[:80]!r} of its own; links are not followed")
        at = at[step]
    if not isinstance(at, library.Dataset):
        raise refuse(path, f"{name[:80]!r} is not a dataset")
    return at


def _read_checked(path: Path, name: str, dataset: Any, size: int) -> NDArray[np.generic]:
    """The numbers of a dataset that is stored where it says, and is not larger than that."""
    if dataset.is_virtual or dataset.external:
        raise refuse(path, f"{name[:80]!r} is stored in other files, which are not read")
    if dataset.dtype.kind not in "iuf" or not 1 <= len(dataset.shape or ()) <= 2:
        raise refuse(path, f"{name[:80]!r} holds {dataset.dtype} of shape {dataset.shape}, expected numbers in one or two dimensions")
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not set(filters) <= set(FILTERS):
        raise refuse(path, f"{name[:80]!r} is compressed by filter {max(set(filters) - set(FILTERS))}; expected deflate or none")
    bytes_, stored = dataset.size * dataset.dtype.itemsize, int(dataset.id.get_storage_size())
    if stored > size or bytes_ > stored * (MAX_DEFLATE_RATIO if filters else 1):
        raise refuse(path, f"{name[:80]!r} announces {bytes_:,} bytes, of which {stored:,} are stored")
    needed, maximum = dataset.size * NUMBER_BYTES, max(MAX_RATIO * size, RATIO_EXEMPT_BYTES)
    if needed > maximum:
        raise refuse(path, f"{name[:80]!r} takes {needed:,} bytes in memory, of which a file of {size:,} may take {maximum:,}")
    if dataset.chunks is not None:
        _check_chunks(path, name, dataset, filters, size)
    values: NDArray[np.generic] = dataset[()]
    return values


def _check_chunks(path: Path, name: str, dataset: Any, filters: list[int], size: int) -> None:
    """Refuse chunks that take more memory than a dataset may, as they are or unfolded. Filters are in the order in which they were applied:
    behind deflate there may be a checksum only, so that the bytes of a chunk begin with what deflate has made."""
    length = math.prod(dataset.chunks) * dataset.dtype.itemsize
    count = math.prod(-(-rows // each) for rows, each in zip(dataset.shape, dataset.chunks, strict=True))
    if length > max(MAX_RATIO * size, RATIO_EXEMPT_BYTES) or count > MAX_CHUNKS:
        raise refuse(path, f"{name[:80]!r} has {count:,} chunks of {length:,} bytes, which is too much for {size:,} bytes")
    if DEFLATE not in filters:
        return
    deflate_position = filters.index(DEFLATE)
    if set(filters[deflate_position + 1 :]) - {CHECKSUM}:
        raise refuse(path, f"{name[:80]!r} has filters behind deflate")
    maximum = length + CHECKSUM_BYTES * filters[:deflate_position].count(CHECKSUM)
    chunks: dict[tuple[int, ...], Any] = {}

    def collect(stored: Any) -> bool | None:
        chunks[stored.chunk_offset] = stored
        return len(chunks) > MAX_CHUNKS or None  # anything but None ends it

    dataset.id.chunk_iter(collect)  # asked for one by one, each chunk is looked for among all
    for start in product(*(range(0, rows, each) for rows, each in zip(dataset.shape, dataset.chunks, strict=True))):
        stored = chunks.get(start)
        if stored is None or stored.filter_mask >> deflate_position & 1:  # not stored at all, or without deflate
            continue
        if stored.size > size or len(zlib.decompressobj().decompress(dataset.id.read_direct_chunk(start)[1], maximum + 1)) > maximum:
            raise refuse(path, f"{name[:80]!r}: the chunk at {start} unfolds to more than its {maximum:,} bytes")
