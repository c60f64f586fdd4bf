"""The answer of the image engine from a GPU. Geometry that is there stays there; that of the host is sent over first."""
from typing import Any

import numpy as np

from pliant.core import device, device_arrays, validate
from pliant.core.jit import silent
from pliant.core.threads import Reading
from pliant.image.api import pairs_of
from pliant.image.cuda import OnCuda, room_of
from pliant.image.options import Options
from pliant.image.pipeline import Clock, nothing, run
from pliant.image.surface import is_body
from pliant.query.collide.contacts import contacts_between
from pliant.results import Pairs


def on_device(place: int, surfaces: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: Options, clocked: bool) -> Pairs:
    """The answer from GPU `place`."""
    with device.on(place), room_of(place).taken() as room, silent():
        parts = [part_of(name, surface) for name, surface in surfaces.items()]
        validate.count_faces([len(faces) for _, faces in parts])
        loops, found = None, nothing()
        if all(len(rows) and len(faces) for rows, faces in parts):
            loops = OnCuda(room, parts, clocked, lambda: refuse(surfaces))
            found = run(loops, options, first, adjacent, Clock(loops.wait if clocked else None))
        pairs = pairs_of(found.keys, len(parts[0][1]) if len(parts) > 1 else 0, first)
        more = contacts_between(*corners_of(loops, pairs)) if contacts else {}
        image = found.image._replace(found=len(pairs), sent=loops.sent if loops else 0)
        return Pairs(device.need_cuda().to_device(pairs) if options.out == "device" else pairs, found.stats, **more, image=image)


def part_of(name: str, surface: Any) -> tuple[Any, Any]:
    """Vertices and faces on the GPU. What is in arrays that are there is looked at later."""
    if is_body(surface):
        with Reading(surface.guard):
            return sent(name, surface.placed_vertices()[0].reshape(-1, 3), surface.corners)
    if not device.is_device(surface[0]):
        return sent(name, *validate.mesh(surface[0], surface[1], name))
    return (device_arrays.device_array(f"{name}.vertices", surface[0], device_arrays.VERTICES),
            device_arrays.device_array(f"{name}.faces", surface[1], device_arrays.FACES))


def sent(name: str, rows: np.ndarray, faces: np.ndarray) -> tuple[Any, Any]:
    """Arrays of the host, on the GPU."""
    with device.memory(name, rows.nbytes + faces.nbytes):
        return device.need_cuda().to_device(rows), device.need_cuda().to_device(faces)


def refuse(surfaces: dict[str, Any]) -> None:
    """Raise what is wrong with the arrays."""
    for name, surface in surfaces.items():
        if not is_body(surface):
            rows = device_arrays.vertices(f"{name}.vertices", surface[0])
            device_arrays.faces(f"{name}.faces", surface[1], len(rows))


def corners_of(loops: Any, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, 9) twice: the corners of either face of each pair."""
    if not len(pairs):
        return np.empty((0, 9)), np.empty((0, 9))
    shift = 0 if loops.itself else loops.first_b
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1] + np.int64(shift)
    corners = loops.gathered(device.need_cuda().to_device(keys), 0, len(keys))[1]
    return np.ascontiguousarray(corners[:, :9]), np.ascontiguousarray(corners[:, 9:])
