"""Opening USD files that may be hostile: every layer that a stage is composed of is known, and inside the folder, before it is composed.

Sublayers, references and payloads are followed layer by layer. Each must be a relative name of a file beside or below the first one, or of
a member of the same package (.usdz, a zip archive without compression: USD, "Usdz File Format Specification"). Value clips and names that
are expressions are refused, since they open files later. Nothing is asked of a network; USD alone cannot, without plugins.

How many prims references unfold to is counted first (`size.py`). USD is a large library in C++, which a file that was damaged on purpose
may crash: it runs in a process of its own (`subprocess_client.py`), one for each file that is read.
"""

from __future__ import annotations

import os
import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pliant.errors import MissingExtraError
from pliant.io.limits import file_errors, refuse, resolve_inside, size_of
from pliant.io.subprocess_server import BASE_MEMORY, allow_resources
from pliant.io.usd.size import Layers, count_prims

MAX_LAYER_BYTES = 1 << 32  # of one layer
MAX_LAYERS = 10_000
SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
BYTES_PER_PRIM = 1000  # bytes of a file that a prim counts as, where time and memory are allowed: composing one takes 15 µs and 1.3 kB
MEMORY_FACTOR = 48  # bytes of memory for one of a file: faces, which are compressed in it, take 20 to 30
RESERVED_MEMORY = 1 << 29  # bytes of address space that the library reserves for paths at its first layer, and hardly uses: 400 MB


def import_pxr() -> Any:
    """The package pxr, which is optional."""
    try:
        import pxr
        from pxr import Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt  # noqa: F401 (loads them as attributes)
    except ImportError:
        raise MissingExtraError("reading USD files needs usd-core: pip install 'pliant[usd]'") from None
    return pxr


@contextmanager
def usd_errors(path: Path) -> Iterator[Any]:
    """The library. What it prints is kept from the terminal, what it raises becomes a `FileError` of one line."""
    pxr = import_pxr()
    with file_errors(path), _silence_warnings(pxr):
        try:
            yield pxr
        except pxr.Tf.ErrorException as error:
            found = re.search(r" : '(.*)'\s*$", str(error), re.DOTALL)
            raise refuse(path, found[1] if found else str(error)) from None


@contextmanager
def _silence_warnings(pxr: Any) -> Iterator[None]:
    """Warnings of this thread go nowhere, if this version of the library can catch them."""
    if not hasattr(pxr.Tf, "DiagnosticTrap"):
        yield
        return
    with pxr.Tf.DiagnosticTrap() as trap:
        try:
            yield
        finally:
            trap.Clear()


class OpenStage(NamedTuple):
    """A stage."""

    stage: Any
    files: tuple[Path, ...]  # all that it is composed of
    size: int  # bytes of these, with something for each prim: what time and memory are allowed for


def allow_bytes(size: int) -> None:
    """Allow time and memory for so many bytes."""
    allow_resources(size, MEMORY_FACTOR, BASE_MEMORY + RESERVED_MEMORY)


def open_stage(pxr: Any, path: Path) -> OpenStage:
    """The stage of a file."""
    is_package, files = path.suffix.lower() == ".usdz", {path.resolve(): None}
    layers, references = dict[str, Any](), dict[tuple[str, str], str]()
    waiting, size = [_first_member(path)] if is_package else [str(path.resolve())], 0
    while waiting:
        name = waiting.pop()
        if name in layers:
            continue
        if len(layers) >= MAX_LAYERS:
            raise refuse(path, f"is composed of more than {MAX_LAYERS:,} layers")
        size += size_of(path if is_package else Path(name), MAX_LAYER_BYTES)
        allow_bytes(size)
        layers[name] = layer = _open_layer(pxr, path, name)
        for dependency in filter(None, layer.GetCompositionAssetDependencies()):  # without a name, it is in the same layer
            found = references[name, dependency] = _resolve_member(path, name, dependency) if is_package else _resolve_file(path, name,
                                                                                                                            dependency)
            if not is_package:
                files[Path(found)] = None
            waiting.append(found)
    first = next(iter(layers))
    size += BYTES_PER_PRIM * count_prims(path, Layers(layers, references), first)
    allow_bytes(size)
    stage = pxr.Usd.Stage.Open(layers[first])
    if stage is None:
        raise refuse(path, "cannot be opened as a stage")
    _check_layers(path, stage, {each.realPath for each in layers.values()})
    return OpenStage(stage, tuple(files), size)


def _open_layer(pxr: Any, path: Path, name: str) -> Any:
    """A layer that says nothing which leads to files later."""
    layer = pxr.Sdf.Layer.FindOrOpen(name)
    if layer is None:
        raise refuse(path, f"{os.path.basename(name)[:80]} cannot be opened")
    clips: list[str] = []

    def visit(at: Any) -> None:
        spec = layer.GetPrimAtPath(at)
        if spec and any(spec.HasInfo(key) for key in ("clips", "clipSets")):
            clips.append(str(at))

    layer.Traverse(pxr.Sdf.Path.absoluteRootPath, visit)
    if clips:
        raise refuse(path, f"{clips[0][:80]} has value clips, which are not read")
    return layer


def _check_reference(path: Path, name: str) -> None:
    """Refuse names that do not mean a file of just that name."""
    if any(sign in name for sign in ("`", ":", "[", "\0", "<")) or name.startswith(("/", "\\", "~")):
        raise refuse(path, f"refers to {name[:80]!r}; expected the name of a file in its own folder")
    if Path(name).suffix.lower() not in SUFFIXES[:3]:
        raise refuse(path, f"refers to {name[:80]!r}; expected a layer, {', '.join(SUFFIXES[:3])}")


def _resolve_file(path: Path, layer: str, name: str) -> str:
    """The file that a layer refers to. It must be there: a missing one would be looked for in other places."""
    _check_reference(path, name)
    wanted = os.path.normpath(Path(layer).parent / name)
    found = resolve_inside(path, os.path.relpath(wanted, path.parent.resolve()))
    if not found.is_file():
        raise refuse(path, f"refers to {name[:80]!r}, which is not there")
    return str(found)


def _first_member(path: Path) -> str:
    """The layer that a package shows: its first member. None may be compressed, so that nothing unfolds."""
    size_of(path, MAX_LAYER_BYTES)
    members = _members(path)
    if not members or not members[0].lower().endswith(SUFFIXES[:3]):
        raise refuse(path, "is a package whose first member is no layer")
    return f"{path.resolve()}[{members[0]}]"


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise refuse(path, f"not a package: {error}") from None
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
        raise refuse(path, "is a package with compressed or encrypted members")
    return [member.filename for member in members]


def _resolve_member(path: Path, layer: str, name: str) -> str:
    """The member of a package that a layer in it refers to."""
    _check_reference(path, name)
    base = posixpath.dirname(layer.rpartition("[")[2].removesuffix("]"))
    found = posixpath.normpath(posixpath.join(base, name))
    if found not in _members(path):
        raise refuse(path, f"refers to {name[:80]!r}, which is not in the package")
    return f"{path.resolve()}[{found}]"


def _check_layers(path: Path, stage: Any, paths: set[str]) -> None:
    """Refuse a stage that is composed of anything else after all."""
    for layer in stage.GetUsedLayers():
        if not layer.anonymous and layer.realPath not in paths:
            raise refuse(path, f"is composed of {layer.identifier[:80]!r} too, which was not expected")
