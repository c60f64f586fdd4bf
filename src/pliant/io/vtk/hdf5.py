"""Arrays of HDF5 files that may be hostile: only what is stored in the file itself, and not more than it can hold.

HDF5 can refer to other files by external links, external storage and virtual datasets; each step of a path is examined, and these are
refused before they are followed. A dataset may announce any shape without storing it: its size is compared with what is stored, as far as
deflate can stretch that. Other filters are refused, so that no plugin is loaded for them. The library unfolds a compressed chunk to the end
of its stream, whatever size the chunk has; so each is unfolded here first, as far as its size and not further.

The HDF5 library is written in C and has had faults with damaged files; what is refused here comes before it reads data, not before it reads
headers. So it runs in a process of its own (`apart`), which serves `Arrays`.
"""

from __future__ import annotations

import math
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.io.limits import examined, refuse, size_of
from pliant.io.subprocess_server import Answer, allow

STRETCH = 1032  # what deflate makes of a byte at most (zlib, technical details)
UNFOLDED, LEAST_UNFOLDED = 100, 1 << 24  # times the bytes of a file that an array may have; and always so many bytes
WIDTH = 8  # bytes of a number in memory, whatever it is stored in
DEFLATE, SHUFFLE, CHECKSUM = FILTERS = (1, 2, 3)  # numbers of filters; the checksum is Fletcher's
CHECKSUM_BYTES = 4
MOST_CHUNKS = 100_000
TIMES = 3 * UNFOLDED  # bytes of memory for one of a file: an array, its chunks as they are unfolded, and as the library keeps them


def h5py() -> Any:
    """The library, which is optional."""
    try:
        import h5py as library
    except ImportError:
        raise ImportError("reading HDF5 files needs h5py: pip install 'pliant[vtk]'") from None
    return library


class Arrays:
    """What a process of its own is asked for."""

    def __init__(self) -> None:
        h5py()  # loaded before anything is limited

    def read_array(self, path: str, name: str) -> Answer:
        """The dataset of this name."""
        return None, (read_array(Path(path), name),)


def read_array(path: Path, name: str) -> NDArray[np.generic]:
    """The dataset of this name, such as /Mesh/0/mesh/geometry: numbers in at most two dimensions."""
    library, size = h5py(), size_of(path)
    allow(size, TIMES)
    with examined(path), library.File(path, "r") as file:
        return _checked(path, name, _found(library, path, file, name), size)


def _found(library: Any, path: Path, file: Any, name: str) -> Any:
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


def _checked(path: Path, name: str, dataset: Any, size: int) -> NDArray[np.generic]:
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
    if stored > size or bytes_ > stored * (STRETCH if filters else 1):
        raise refuse(path, f"{name[:80]!r} announces {bytes_:,} bytes, of which {stored:,} are stored")
    held, most = dataset.size * WIDTH, max(UNFOLDED * size, LEAST_UNFOLDED)
    if held > most:
        raise refuse(path, f"{name[:80]!r} takes {held:,} bytes in memory, of which a file of {size:,} may take {most:,}")
    if dataset.chunks is not None:
        _check_chunks(path, name, dataset, filters, size)
    values: NDArray[np.generic] = dataset[()]
    return values


def _check_chunks(path: Path, name: str, dataset: Any, filters: list[int], size: int) -> None:
    """Refuse chunks that take more memory than a dataset may, as they are or unfolded. Filters are in the order in which they were applied:
    behind deflate there may be a checksum only, so that the bytes of a chunk begin with what deflate has made."""
    length = math.prod(dataset.chunks) * dataset.dtype.itemsize
    count = math.prod(-(-rows // each) for rows, each in zip(dataset.shape, dataset.chunks, strict=True))
    if length > max(UNFOLDED * size, LEAST_UNFOLDED) or count > MOST_CHUNKS:
        raise refuse(path, f"{name[:80]!r} has {count:,} chunks of {length:,} bytes, which is too much for {size:,} bytes")
    if DEFLATE not in filters:
        return
    place = filters.index(DEFLATE)
    if set(filters[place + 1 :]) - {CHECKSUM}:
        raise refuse(path, f"{name[:80]!r} has filters behind deflate")
    most = length + CHECKSUM_BYTES * filters[:place].count(CHECKSUM)
    kept: dict[tuple[int, ...], Any] = {}

    def note(stored: Any) -> bool | None:
        kept[stored.chunk_offset] = stored
        return len(kept) > MOST_CHUNKS or None  # anything but None ends it

    dataset.id.chunk_iter(note)  # asked for one by one, each chunk is looked for among all
    for start in product(*(range(0, rows, each) for rows, each in zip(dataset.shape, dataset.chunks, strict=True))):
        stored = kept.get(start)
        if stored is None or stored.filter_mask >> place & 1:  # not stored at all, or without deflate
            continue
        if stored.size > size or len(zlib.decompressobj().decompress(dataset.id.read_direct_chunk(start)[1], most + 1)) > most:
            raise refuse(path, f"{name[:80]!r}: the chunk at {start} unfolds to more than its {most:,} bytes")
