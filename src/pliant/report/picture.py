"""A still picture of triangle meshes, in plain NumPy.

An orthographic rasteriser with deferred shading. Every face is cut into fragments (one per pixel centre it covers), the
nearest fragment of a pixel wins, and only winners are shaded. There are two layers: opaque faces, and over them the nearest
see-through face of each pixel.

Invariant: a fragment is one unsigned 64-bit key, depth in the high half and face in the low half, so that the smallest key is
the nearest face, ties go to the smallest index, and the picture does not depend on the order of the work.

Shapes: vertices (n, 3), faces (m, 3), colours (3,), (4,), (m, 3) or (m, 4) with values 0 … 1 in sRGB, image (h, w, 3) uint8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ArgumentError, MissingExtraError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mesh = tuple[ArrayLike, ArrayLike]

SUPERSAMPLE = 2  # samples per pixel and axis
VIEW_MARGIN = 0.07  # free space on each side, as a part of what is shown
FRAGMENT_BLOCK = 1 << 20  # fragments tested at a time: about 100 MB of temporaries
EMPTY_KEY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
DEPTH_STEPS = float(2**32 - 2)

# Lights in view space (x right, y up, z towards the eye): direction, colour.
KEY_LIGHT = ((-0.45, 0.70, 0.55), (1.00, 0.95, 0.86))
FILL_LIGHT = ((0.80, -0.10, 0.45), (0.20, 0.27, 0.40))
SKY, GROUND = (0.34, 0.37, 0.42), (0.20, 0.17, 0.15)
BACKDROP_TOP, BACKDROP_BOTTOM = (0.965, 0.970, 0.978), (0.790, 0.815, 0.845)


class Viewpoint(NamedTuple):
    """The direction and the extent of an orthographic view; z is up.

    azimuth, elevation : in degrees
    centre : the point in the middle of the picture; None: the center of all meshes
    width : of the picture, in units of the meshes; None: all meshes and a margin
    """

    azimuth: float = -58.0
    elevation: float = 24.0
    centre: tuple[float, float, float] | None = None
    width: float | None = None


class Layer(NamedTuple):
    """The visible face at each sample (-1 for none), and its depth in samples from the eye."""

    face: Indices
    depth: Floats


class FacePlanes(NamedTuple):
    """Affine functions of a sample's position, one row (x, y, constant) a face: barycentric coordinates of corners 1 and 2, and depth."""

    first: Floats
    second: Floats
    depth: Floats


class ProjectedMesh(NamedTuple):
    """All meshes as one, in view space."""

    vertices: Floats  # (n, 3) column, row, depth, in samples
    normals: Floats  # (n, 3) in view space
    faces: Indices  # (m, 3)
    planes: FacePlanes
    rgba: Floats  # (m, 4)
    body: Indices  # (m,) the mesh a face comes from


def draw(meshes: Sequence[Mesh], colours: Sequence[ArrayLike], size: int = 900, view: Viewpoint | None = None) -> NDArray[np.uint8]:
    """Draw meshes without a GPU: (size, size, 3) uint8.

    meshes : (vertices (n, 3), faces (f, 3)) each
    colours : for each mesh one color (3,), or one for each face (f, 3), from 0 to 1; a fourth number below 1 makes faces transparent
    size : of the square picture, in pixels
    view : a `Viewpoint`; None: all meshes
    """
    if len(meshes) != len(colours):
        raise ArgumentError(f"colours: {len(colours)} entries for {len(meshes)} meshes")
    vertices, faces, rgba, body = _join(meshes, colours)
    samples = size * SUPERSAMPLE
    image = _backdrop(samples)
    if not len(faces):
        return _to_pixels(image)
    projected = _project(vertices, faces, samples, view or Viewpoint())
    surface = ProjectedMesh(projected, _vertex_normals(projected, faces), faces, _face_planes(projected, faces), rgba, body)
    # The far wall of a see-through body stays solid: it shows as a bowl, with whatever intersects it.
    opaque = (rgba[:, 3] >= 1.0) | (_facing(projected, faces) <= 0.0)
    solid = _nearest_faces(surface, np.flatnonzero(opaque), samples)
    clear = _nearest_faces(surface, np.flatnonzero(~opaque), samples)
    hidden = clear.depth > solid.depth
    clear = Layer(np.where(hidden, -1, clear.face), np.where(hidden, np.inf, clear.depth))
    _shade_layer(image, solid, surface, np.ones(len(faces)))
    _shade_layer(image, clear, surface, rgba[:, 3])
    return _to_pixels(image)


def insert_detail(image: NDArray[np.uint8], detail: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """``image`` with ``detail``, a smaller square picture, framed in its emptiest corner."""
    size, side = len(image), len(detail)
    gap, frame = size // 40, max(2, size // 300)
    drawn = np.abs(image.astype(np.int64) - draw([], [], size)).max(axis=2) > 8
    places = [slice(gap, gap + side), slice(size - gap - side, size - gap)]
    rows, columns = min(((r, c) for r in places for c in places), key=lambda place: int(drawn[place].sum()))
    result = image.copy()
    result[rows.start - frame : rows.stop + frame, columns.start - frame : columns.stop + frame] = 255
    result[rows, columns] = detail
    return result


def save_picture(path: str | os.PathLike[str], image: NDArray[np.uint8]) -> Path:
    """Write a picture (h, w, 3) uint8 to a file, which appears when it is complete. Needs Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pictures need Pillow: pip install 'pliant[pictures]'") from error
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        Image.fromarray(image).save(unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


# ---- geometry ----------------------------------------------------------------------------------------------------------


def _join(meshes: Sequence[Mesh], colours: Sequence[ArrayLike]) -> tuple[Floats, Indices, Floats, Indices]:
    """All meshes as one: vertices, faces, a colour with opacity per face, and the mesh each face comes from."""
    all_vertices: list[Floats] = [np.empty((0, 3))]
    all_faces: list[Indices] = [np.empty((0, 3), np.int64)]
    all_colours: list[Floats] = [np.empty((0, 4))]
    start = 0
    for (mesh_vertices, mesh_faces), colour in zip(meshes, colours, strict=True):
        v = np.asarray(mesh_vertices, np.float64).reshape(-1, 3)
        f = np.asarray(mesh_faces, np.int64).reshape(-1, 3)
        c = np.asarray(colour, np.float64)
        c = np.broadcast_to(c, (len(f), c.shape[-1]))
        if c.shape[1] == 3:
            c = np.column_stack([c, np.ones(len(f))])
        all_vertices.append(v)
        all_faces.append(f + start)
        all_colours.append(c)
        start += len(v)
    body = np.repeat(np.arange(len(all_faces)) - 1, [len(f) for f in all_faces])
    return np.concatenate(all_vertices), np.concatenate(all_faces), np.concatenate(all_colours), body


def _project(vertices: Floats, faces: Indices, samples: int, view: Viewpoint) -> Floats:
    """Vertices as (column, row, depth), all in samples; depth grows away from the eye."""
    a, e = np.radians([view.azimuth, view.elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    eye = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    up = np.cross(eye, right)
    rotation = np.stack([right, -up, -eye], axis=1)
    rotated = vertices @ rotation
    used = rotated[np.unique(faces)]
    low, high = used.min(axis=0), used.max(axis=0)
    centre = 0.5 * (low + high) if view.centre is None else np.asarray(view.centre) @ rotation
    width = view.width or float((high - low)[:2].max()) * (1.0 + 2.0 * VIEW_MARGIN) or 1.0
    projected: Floats = (rotated - centre) * (samples / width)
    projected[:, :2] += 0.5 * samples
    return projected


def _face_planes(projected: Floats, faces: Indices) -> FacePlanes:
    p0, p1, p2 = (projected[faces[:, k]] for k in range(3))
    e1, e2 = p1 - p0, p2 - p0
    area = e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0]
    flat = np.abs(area) < 1e-12  # edge-on: covers no pixel centre
    inverse = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, area))
    first = np.stack([e2[:, 1], -e2[:, 0]], axis=1) * inverse[:, None]
    second = np.stack([-e1[:, 1], e1[:, 0]], axis=1) * inverse[:, None]
    depth = first * e1[:, 2:] + second * e2[:, 2:]

    def plane_through(gradient: Floats, value: Floats) -> Floats:
        return np.column_stack([gradient, value - (gradient * p0[:, :2]).sum(axis=1)])

    zero = np.where(flat, -1.0, 0.0)  # a weight of -1 everywhere rejects the face
    return FacePlanes(plane_through(first, zero), plane_through(second, zero), plane_through(depth, p0[:, 2]))


def _facing(projected: Floats, faces: Indices) -> Floats:
    """Positive for faces whose corners run counter-clockwise as the eye sees them: the outside of a closed body."""
    p0, p1, p2 = (projected[faces[:, k], :2] for k in range(3))
    e1, e2 = p1 - p0, p2 - p0
    return e1[:, 1] * e2[:, 0] - e1[:, 0] * e2[:, 1]  # rows grow downwards


def _vertex_normals(projected: Floats, faces: Indices) -> Floats:
    """Normals in view space, weighted by area; zero where faces cancel."""
    corner = projected * (1.0, -1.0, -1.0)  # rows grow downwards, depth away from the eye
    p0, p1, p2 = (corner[faces[:, k]] for k in range(3))
    face_normal = np.cross(p1 - p0, p2 - p0)
    normals = np.zeros_like(projected)
    for k in range(3):
        np.add.at(normals, faces[:, k], face_normal)
    return _normalize(normals)


# ---- visibility --------------------------------------------------------------------------------------------------------


def _nearest_faces(surface: ProjectedMesh, chosen: Indices, samples: int) -> Layer:
    """The nearest of the ``chosen`` faces at every sample."""
    keys = np.full(samples * samples, EMPTY_KEY)
    max_depth = float(np.abs(surface.vertices[:, 2]).max()) + 1.0
    for pixel, depth, face in _fragments(surface, chosen, samples):
        steps = np.clip((depth + max_depth) / (2.0 * max_depth), 0.0, 1.0) * DEPTH_STEPS
        np.minimum.at(keys, pixel, (steps.astype(np.uint64) << np.uint64(32)) | face.astype(np.uint64))
    hit = keys != EMPTY_KEY
    face = np.where(hit, (keys & np.uint64(0xFFFF_FFFF)).astype(np.int64), -1)
    depth = np.where(hit, (keys >> np.uint64(32)).astype(np.float64) / DEPTH_STEPS * 2.0 * max_depth - max_depth, np.inf)
    return Layer(face.reshape(samples, samples), depth.reshape(samples, samples))


def _fragments(surface: ProjectedMesh, chosen: Indices, samples: int) -> Iterator[tuple[Indices, Floats, Indices]]:
    """Blocks of (pixel, depth, face): the pixel centres inside each face, from the rectangle around it."""
    planes = surface.planes
    corner = surface.vertices[surface.faces[chosen]][:, :, :2] - 0.5
    low = np.clip(np.ceil(corner.min(axis=1)), 0, samples).astype(np.int64)
    high = np.clip(np.floor(corner.max(axis=1)), -1, samples - 1).astype(np.int64)
    width, height = np.maximum(high - low + 1, 0).T
    count = width * height
    ends = np.cumsum(count)
    start = 0
    while start < len(chosen):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + FRAGMENT_BLOCK, side="right")))
        block = slice(start, stop)
        face = np.repeat(np.arange(start, stop), count[block])
        place = np.arange(len(face)) - np.repeat(ends[block] - count[block] - done, count[block])
        row, column = np.divmod(place, width[face])
        column += low[face, 0]
        row += low[face, 1]
        face = chosen[face]
        x, y = column + 0.5, row + 0.5
        w1 = _evaluate_planes(planes.first, face, x, y)
        w2 = _evaluate_planes(planes.second, face, x, y)
        inside = (w1 >= 0.0) & (w2 >= 0.0) & (w1 + w2 <= 1.0)
        face = face[inside]
        yield (row * samples + column)[inside], _evaluate_planes(planes.depth, face, x[inside], y[inside]), face
        start = stop


def _evaluate_planes(plane: Floats, face: Indices, x: Floats, y: Floats) -> Floats:
    row = plane[face]
    return row[:, 0] * x + row[:, 1] * y + row[:, 2]


# ---- shading -----------------------------------------------------------------------------------------------------------


def _shade_layer(image: Floats, layer: Layer, surface: ProjectedMesh, opacity: Floats) -> None:
    """Shade the samples of ``layer`` and lay them over ``image`` (linear light), by the ``opacity`` of each face."""
    row, column = np.nonzero(layer.face >= 0)
    if not len(row):
        return
    face = layer.face[row, column]
    x, y = column.astype(np.float64) + 0.5, row.astype(np.float64) + 0.5
    w1, w2 = _evaluate_planes(surface.planes.first, face, x, y)[:, None], _evaluate_planes(surface.planes.second, face, x, y)[:, None]
    n0, n1, n2 = (surface.normals[surface.faces[face, k]] for k in range(3))
    normal = _normalize((1.0 - w1 - w2) * n0 + w1 * n1 + w2 * n2)
    normal *= np.where(normal[:, 2:] < 0.0, -1.0, 1.0)  # both sides of a face are lit
    grazing = (1.0 - normal[:, 2]) ** 3
    alpha, own_opacity = opacity[face], surface.rgba[face, 3]
    shade = (1.0 - 0.55 * grazing) * _ambient_occlusion(layer.depth)[row, column] * _outline(layer, surface.body)[row, column]
    shade *= np.where(own_opacity < alpha, 0.85, 1.0)  # inside a bowl
    colour = _srgb_to_linear(surface.rgba[face, :3]) * _diffuse(normal) * shade[:, None] + 0.10 * _specular(normal)[:, None]
    cover = (alpha + (1.0 - alpha) * 0.2 * grazing)[:, None]  # seen at a grazing angle a thin wall covers more
    image[row, column] += (colour - image[row, column]) * cover


def _diffuse(normal: Floats) -> Floats:
    sky = 0.5 + 0.5 * normal[:, 1:2]
    total = np.asarray(GROUND) + (np.asarray(SKY) - np.asarray(GROUND)) * sky
    for direction, colour in (KEY_LIGHT, FILL_LIGHT):
        total = total + np.maximum(normal @ _normalize(np.array(direction)), 0.0)[:, None] * np.asarray(colour)
    return np.asarray(total)


def _specular(normal: Floats) -> Floats:
    halfway = _normalize(_normalize(np.array(KEY_LIGHT[0])) + np.array([0.0, 0.0, 1.0]))
    shine: Floats = np.maximum(normal @ halfway, 0.0) ** 40
    return shine


def _ambient_occlusion(depth: Floats) -> Floats:
    """Darker where the surroundings are nearer to the eye than the sample: creases and the seam between bodies."""
    is_covered = np.isfinite(depth)
    radius = max(2, len(depth) // 40)
    weight = _blur(is_covered.astype(np.float64), radius)
    mean_depth = _blur(np.where(is_covered, depth, 0.0), radius) / np.maximum(weight, 1e-9)
    return 1.0 - 0.55 * np.clip((np.where(is_covered, depth, 0.0) - mean_depth) / (1.5 * radius), 0.0, 1.0)


def _outline(layer: Layer, body: Indices) -> Floats:
    """A thin darker line where one body ends, against another or against the backdrop."""
    owner = np.where(layer.face >= 0, body[layer.face], -1)
    edge = np.zeros(owner.shape, bool)
    for axis in (0, 1):
        for step in (-1, 1):
            edge |= owner != np.roll(owner, step, axis)
    return np.where(edge, 0.55, 1.0)


def _blur(values: Floats, radius: int) -> Floats:
    """Mean over a square of 2 radius + 1 samples, the border repeated; twice, which hides the corners of the square."""
    for axis in (0, 1, 0, 1):
        pad = [(radius + 1, radius) if k == axis else (0, 0) for k in (0, 1)]
        total = np.cumsum(np.pad(values, pad, mode="edge"), axis=axis)
        n = values.shape[axis]
        width = 2 * radius + 1
        values = (np.take(total, np.arange(width, n + width), axis) - np.take(total, np.arange(n), axis)) / width
    return values


def _backdrop(samples: int) -> Floats:
    """A vertical gradient, a little darker towards the corners."""
    t = np.linspace(0.0, 1.0, samples)
    top, bottom = _srgb_to_linear(np.array(BACKDROP_TOP)), _srgb_to_linear(np.array(BACKDROP_BOTTOM))
    column = top + (bottom - top) * (t**1.3)[:, None]
    from_middle = (t - 0.5) ** 2
    corner = 1.0 - 0.28 * (from_middle[:, None] + from_middle[None, :])
    return column[:, None, :] * corner[:, :, None]


def _to_pixels(image: Floats) -> NDArray[np.uint8]:
    """Samples to pixels: mean in linear light, then sRGB."""
    side = len(image) // SUPERSAMPLE
    mean: Floats = image.reshape(side, SUPERSAMPLE, side, SUPERSAMPLE, 3).mean(axis=(1, 3))
    clipped = np.clip(mean, 0.0, 1.0)
    encoded = np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)
    return np.round(encoded * 255.0).astype(np.uint8)


def _srgb_to_linear(srgb: Floats) -> Floats:
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _normalize(vectors: Floats) -> Floats:
    length: Any = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
