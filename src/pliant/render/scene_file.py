"""A show described in a file, `scene.toml`: materials, lights, a camera with key frames, bodies of `pliant.shapes` or from NPZ files.

Everything in the file is examined; what is wrong is a `FileError` of one line that names the table and the key.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import shapes
from pliant.core import validate_table
from pliant.core.validate_table import Table, flag, integer_between, number_between, point, text, unchecked
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.render import npz
from pliant.render.animation import Actor, AnimatedScene, CameraPose
from pliant.render.camera import MAX_PICTURE_SIDE
from pliant.render.frames import Settings
from pliant.render.keyframes import interpolate
from pliant.render.materials import Light, Material, Sky

Floats = NDArray[np.float64]
VerticesAt = Callable[[int], Floats]

MATERIAL_KINDS = ("diffuse", "glossy", "mirror", "glass")
SHAPES = ("sphere", "bumpy", "arms", "sheet", "cloth")
MAX_FRAMES, MAX_BODIES, MAX_LIGHTS, MAX_KEYS = 1_000_000, 1_000, 64, 10_000
MAX_COORDINATE = 1e12  # coordinates and scales
OUTPUT_KEYS = {field.name for field in fields(Settings)} - {"width", "height"}


def read_scene(path: str | os.PathLike[str]) -> AnimatedScene:
    """The show that a file describes."""
    top = validate_table.read_toml(Path(path), "description of a scene")
    head = top.table("show")
    frames, rate = head.get("frames", integer_between(1, MAX_FRAMES), 1), head.get("rate", number_between(0.01, 1000), 25.0)
    poster = head.get("poster", integer_between(0, frames - 1), 0)
    settings = _read_settings(top.table("output"))
    sky_table, light_tables = top.table("sky"), top.tables("light", MAX_LIGHTS)
    sky = sky_table.make(Sky, **sky_table.values(dict.fromkeys((field.name for field in fields(Sky)), unchecked)))
    lights = [table.make(Light, **table.values(dict.fromkeys((field.name for field in fields(Light)), unchecked)),
                         **_require(table, "position"))
              for table in light_tables]  # fmt: skip
    camera_at = _read_camera(top.table("camera"))
    materials = {name: _read_material(top.table("material").table(name)) for name in top.table("material").content}
    actors = [_read_actor(table, materials, frames, rate) for table in top.tables("body", MAX_BODIES)]
    if not actors:
        raise top.refuse("body: missing; expected at least one table [[body]]")
    for table in (head, sky_table, *light_tables, top):
        table.refuse_unknown_keys()
    return AnimatedScene(Path(path).stem, frames, actors, lights, sky, camera_at, rate, poster, settings)


def _require(table: Table, key: str) -> dict[str, Any]:
    """Nothing, if the key is there."""
    if key not in table:
        raise table.refuse(f"{key}: missing")
    return {}


def _read_settings(table: Table) -> dict[str, Any]:
    """What the file says about pictures, examined as `Settings` are."""
    values: dict[str, Any] = {}
    if "size" in table:
        values["width"], values["height"] = table.get("size", _picture_size)
    values |= table.values(dict.fromkeys(sorted(OUTPUT_KEYS), unchecked))
    table.known.add("size")
    table.make(Settings, **values)
    table.refuse_unknown_keys()
    return values


def _picture_size(key: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(each) is int and 0 < each <= MAX_PICTURE_SIDE for each in value):
        raise ArgumentTypeError(f"{key}: expected [width, height], pixels from 1 to {MAX_PICTURE_SIDE}, got {value!r:.60}")
    return value[0], value[1]


def _read_material(table: Table) -> Material:
    kind = table.get("kind", validate_table.choice(MATERIAL_KINDS))
    names = [field.name for field in fields(Material)]
    values = table.values(dict.fromkeys(names, unchecked))
    table.refuse_unknown_keys()
    if kind in ("diffuse", "glossy") and "colour" not in values:
        raise table.refuse("colour: missing")
    makers: dict[str, Callable[..., Material]] = {name: getattr(Material, name) for name in MATERIAL_KINDS}
    return table.make(makers[kind], **values)


def _read_camera(table: Table) -> Callable[[int], CameraPose]:
    """The camera: standing, or on a smooth way through key frames."""
    angle, up = table.get("field_of_view", number_between(0.01, 179), 40.0), table.get("up", point, (0.0, 0.0, 1.0))
    keys = table.tables("key", MAX_KEYS)
    if keys and ("eye" in table or "look_at" in table):
        raise table.refuse("eye: given beside key frames; expected one or the other")
    stops = [(key.get("frame", integer_between(0, MAX_FRAMES)), key.get("eye", point), key.get("look_at", point),
              key.get("field_of_view", number_between(0.01, 179), angle)) for key in keys]  # fmt: skip
    stops = stops or [(0, table.get("eye", point), table.get("look_at", point), angle)]
    _check_rising(table, [stop[0] for stop in stops])
    for each in (*keys, table):
        each.refuse_unknown_keys()
    times = np.array([stop[0] for stop in stops], np.float64)
    rows = np.array([[*eye, *look_at, degrees] for _, eye, look_at, degrees in stops])
    for key, stop in zip(keys or [table], stops, strict=True):
        key.make(CameraPose(stop[1], stop[2], stop[3], up).camera, width=1, height=1)

    def pose_at(frame: int) -> CameraPose:
        x, y, z, u, v, w, degrees = interpolate(times, rows, frame).tolist()
        return CameraPose((x, y, z), (u, v, w), min(max(degrees, 0.01), 179.0), up)

    return pose_at


def _check_rising(table: Table, frames: list[int]) -> None:
    if any(after <= before for before, after in pairwise(frames)):
        raise table.refuse(f"key: expected frames in rising order, got {frames[:20]}")


def _read_actor(table: Table, materials: dict[str, Material], frames: int, rate: float) -> Actor:
    material = table.get("material", validate_table.choice(materials))
    if ("shape" in table) == ("file" in table):
        raise table.refuse("shape: expected either a shape or a file, and not both")
    shape_at, faces, moves = _file_mesh(table) if "file" in table else _procedural_mesh(table, frames, rate)
    scale, turn, spin = (table.get(key, number_between(-MAX_COORDINATE, MAX_COORDINATE), default) for key,
                         default in (("scale", 1.0), ("turn", 0.0), ("spin", 0.0)))
    if scale == 0:
        raise table.refuse("scale: expected another number than 0")
    keys = table.tables("key", MAX_KEYS)
    stops = [(key.get("frame", integer_between(0, MAX_FRAMES)), key.get("position", point)) for key in keys]
    if keys and "position" in table:
        raise table.refuse("position: given beside key frames; expected one or the other")
    stops = stops or [(0, table.get("position", point, (0.0, 0.0, 0.0)))]
    _check_rising(table, [stop[0] for stop in stops])
    for each in (*keys, table):
        each.refuse_unknown_keys()
    times, positions = np.array([stop[0] for stop in stops], np.float64), np.array([stop[1] for stop in stops])
    if np.abs(positions).max() > MAX_COORDINATE:
        raise table.refuse(f"position: expected coordinates up to {MAX_COORDINATE:g}")

    def shape(frame: int) -> Floats:
        angle = np.radians(turn + spin * frame / rate)
        matrix = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        rows: Floats = scale * shape_at(frame) @ matrix.T + interpolate(times, positions, frame)
        return rows

    return Actor(faces, materials[material], shape, moves or spin != 0 or len(stops) > 1)


def _procedural_mesh(table: Table, frames: int, rate: float) -> tuple[VerticesAt, NDArray[np.int32], bool]:
    """A shape of `pliant.shapes` as a function of the frame, its faces, and whether it changes."""
    name = table.get("shape", validate_table.choice(SHAPES))
    if name == "sheet":
        cells = table.get("cells", integer_between(1, 2_000), 1)
        vertices, faces = shapes.sheet(cells, cells)
        return lambda frame: vertices - (0.5, 0.5, 0.0), faces, False
    if name == "cloth":
        cloth = shapes.folding_cloth(table.get("faces", integer_between(100, 4_000_000), 20_000), max(frames, 2))
        return cloth.frame, cloth.faces, True
    count = table.get("faces", integer_between(320, max(shapes.SUBDIVISIONS)), 5_120)
    if count not in shapes.SUBDIVISIONS:
        raise table.refuse(f"faces: expected one of {', '.join(map(str, shapes.SUBDIVISIONS))}, got {count}")
    directions, faces = shapes.icosphere(shapes.SUBDIVISIONS[count])
    if name == "sphere":
        return lambda frame: directions, faces, False
    speed, phase = table.get("speed", number_between(-1e6, 1e6), 1.0), table.get("phase", number_between(-1e6, 1e6), 0.0)
    if name == "arms":
        body_number = table.get("number", integer_between(0, 1_000_000), 0)
        return lambda frame: shapes.armed(directions, phase + speed * frame / rate, body_number), faces, True
    amplitude, pitch = table.get("amplitude", number_between(0, 0.9), 0.08), table.get("pitch", number_between(0, 100), 1.0)
    return lambda frame: shapes.bumpy(directions, phase + speed * frame / rate, amplitude, pitch), faces, True


def _file_mesh(table: Table) -> tuple[VerticesAt, NDArray[np.int32], bool]:
    """A mesh of an NPZ file beside the description. Beyond its last frame it stays as it is, or begins again."""
    name, loop = table.get("file", text), table.get("loop", flag, False)
    shapes, faces = table.get("file", lambda key, value: _read_npz(key, table.file.parent / name))
    if np.abs(shapes).max(initial=0.0) > MAX_COORDINATE:
        raise table.refuse(f"file: {name}: expected coordinates up to {MAX_COORDINATE:g}")
    return lambda frame: shapes[frame % len(shapes) if loop else min(frame, len(shapes) - 1)], faces, len(shapes) > 1


def _read_npz(key: str, path: Path) -> tuple[Floats, NDArray[np.int32]]:
    try:
        return npz.read_mesh(path)
    except ValueError as error:
        raise ArgumentError(f"{key}: {error}") from None
