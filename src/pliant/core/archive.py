"""NPZ archives without pickle or compression, for files that may be hostile; written atomically.

The reader validates every member: exactly the requested ones, stored uncompressed (no zip bomb), no larger than their file, of the
requested dtype and number of dimensions.
"""
import contextlib
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np

from pliant.errors import FileError

META = "meta"
MAX_META_BYTES = 1 << 16                                                # bytes


def write(path, meta, arrays):
    """Write the JSON-able `meta` and the arrays: to a binary stream, or to a file, under a temporary name first."""
    text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with (contextlib.nullcontext(path) if is_stream(path) else atomic_file(path) as file,
          zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive):
        for name, array in {META: text, **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def is_stream(path):
    """Is this a binary stream rather than the path of a file?"""
    return isinstance(path, io.IOBase)


def label_of(path):
    """What messages call a file or a stream."""
    return "the stream" if is_stream(path) else os.fspath(path)


@contextlib.contextmanager
def atomic_file(path):
    """A temporary file to write bytes to; it replaces the path when everything is written."""
    path = Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def read(path, layout):
    """(meta, arrays) of a file or a binary stream; `layout` maps each name to (dtype, dimensions), and exactly these members must exist."""
    label = label_of(path)
    with contextlib.nullcontext(path) if is_stream(path) else open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            with zipfile.ZipFile(file) as archive:
                members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
                if set(members) != {META, *layout} or len(members) != len(archive.infolist()):
                    raise FileError(f"{label}: holds {sorted(members)}, expected {sorted({META, *layout})}")
                for member in members.values():
                    if member.compress_type != zipfile.ZIP_STORED or member.file_size > size:
                        raise FileError(f"{label}: member {member.filename} is compressed or larger than the file")
                arrays = {name: _array(archive, members[name], label, *kind) for name, kind in {META: (np.uint8, 1), **layout}.items()}
        except FileError:
            raise
        except Exception as error:                                      # hostile headers make the parsers below raise almost anything
            raise FileError(f"{label}: not a readable archive: {type(error).__name__} {error}") from None
    return _meta(arrays.pop(META), label), arrays


def _array(archive, member, label, dtype, dimensions):
    with archive.open(member) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    if array.dtype != np.dtype(dtype) or array.ndim != dimensions:
        found, wanted = f"{array.dtype} of {array.ndim} dimensions", f"{np.dtype(dtype)} of {dimensions}"
        raise FileError(f"{label}: {member.filename} is {found}, expected {wanted}")
    return np.ascontiguousarray(array)


def _meta(array, label):
    if len(array) > MAX_META_BYTES:
        raise FileError(f"{label}: its description is {len(array)} bytes long, at most {MAX_META_BYTES} are read")
    try:
        meta = json.loads(array.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise FileError(f"{label}: its description cannot be read: {error}") from None
    if not isinstance(meta, dict):
        raise FileError(f"{label}: its description is no table of names")
    return meta
