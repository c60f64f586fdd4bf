"""Export and import of compiled kernels in one file, for containers, CI and workers of one processor class.

It is a ZIP archive of the cache folder (`core/cache.py`) with a manifest: the digest of the sources, versions, the target processor and its
features, and a SHA-256 of every file. An archive that does not match this machine is refused. A digest is no authentication: the files are
machine code in Numba's format, so importing an archive means running its code, and only a person may request it.
"""
import hashlib
import json
import os
import re
import secrets
import zipfile
from pathlib import Path

import numba
from llvmlite import binding

from pliant.core.cache import CacheState
from pliant.errors import FileError

FORMAT, MANIFEST = 1, "pliant-kernels.json"
FILE_NAME = re.compile(r"[A-Za-z0-9_.<>-]{1,255}\.nb[ic]")
MAX_FILES, MAX_BYTES = 20_000, 1 << 30
MANIFEST_KEYS = ("format", "digest", "numba", "triple", "processor", "features")


def local_manifest(state):
    """The manifest that an archive must have to match this program and machine."""
    features = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(binding.get_host_cpu_features().items()))
    return {"format": FORMAT, "digest": state.folder.name, "numba": numba.__version__, "triple": binding.get_process_triple(),
            "processor": binding.get_host_cpu_name(), "features": features}


def export_kernels(path: Path, state: CacheState) -> int:
    """Write all cached kernels to an archive; returns the number of files."""
    sources = sorted(source for source in state.folder.iterdir() if FILE_NAME.fullmatch(source.name))
    contents = {source.name: source.read_bytes() for source in sources}
    manifest = local_manifest(state) | {"files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}}
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest))
            for name, content in contents.items():
                archive.writestr(name, content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return len(contents)


def import_kernels(path: Path, state: CacheState) -> int:
    """Copy the kernels of an archive into the cache; returns the number of files. Nothing is written unless the whole archive is valid."""
    try:
        with zipfile.ZipFile(path) as archive:
            contents = check_contents(path, archive, local_manifest(state))
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise FileError(f"{path}: no archive of kernels: {error}") from error
    for name, content in contents.items():
        temporary = state.folder / f".{name}.{secrets.token_hex(4)}"
        try:
            temporary.write_bytes(content)
            os.replace(temporary, state.folder / name)
        finally:
            temporary.unlink(missing_ok=True)
    return len(contents)


def check_contents(path, archive, expected):
    """{name: bytes} of an archive that matches this program and machine."""
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) > MAX_FILES or sum(info.file_size for info in infos.values()) > MAX_BYTES:
        raise FileError(f"{path}: more than {MAX_FILES:,} files, or {MAX_BYTES >> 20:,} MiB: no archive of kernels")
    if MANIFEST not in infos:
        raise FileError(f"{path}: no archive of kernels: it has no {MANIFEST}")
    try:
        manifest = json.loads(read_member(archive, infos[MANIFEST]))
        files = manifest["files"]
        found = {name: manifest[name] for name in MANIFEST_KEYS}
        valid = all(isinstance(name, str) and isinstance(value, str) for name, value in files.items())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: {MANIFEST} cannot be read: {error}") from error
    for name in MANIFEST_KEYS:
        if found[name] != expected[name]:
            raise FileError(f"{path}: {name}: these kernels are for {found[name]!r}, here it is {expected[name]!r}")
    if not valid or set(files) != set(infos) - {MANIFEST}:
        raise FileError(f"{path}: the files are not those that {MANIFEST} lists")
    contents = {}
    for name, digest in files.items():
        if not FILE_NAME.fullmatch(name) or name.startswith("."):
            raise FileError(f"{path}: {name!r} is no name of a kernel")
        contents[name] = read_member(archive, infos[name])
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            raise FileError(f"{path}: {name} is damaged: its digest is another one")
    return contents


def read_member(archive, info):
    """The bytes of one member, which must have the announced length."""
    with archive.open(info) as member:
        content = member.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise FileError(f"{info.filename} is not as long as it says")
    return content
