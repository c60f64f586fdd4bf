"""The answer of the image engine from a GPU. Geometry that is there stays there; that of the host is sent over first."""
from typing import Any

import numpy as np

from pliant.core import device, device_arrays, validate
from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.image.cuda import CudaEngine, buffers_of
from pliant.image.options import CheckedOptions
from pliant.image.pipeline import PassTimer, empty_result, run_pipeline, unpack_pairs
from pliant.image.surface import is_body
from pliant.query.collide.contacts import triangle_contacts
from pliant.results import ContactPairs, Pairs


def on_device(number: int, surfaces: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: CheckedOptions,
              timed: bool) -> Pairs:
    """The answer from GPU `number`."""
    with device.device_context(number), buffers_of(number).acquire() as buffers, ignore_float_errors():
        parts = [device_part(name, surface) for name, surface in surfaces.items()]
        validate.check_face_count([len(faces) for _, faces in parts])
        engine, result = None, empty_result()
        if all(len(rows) and len(faces) for rows, faces in parts):
            engine = CudaEngine(buffers, parts, timed, lambda: raise_invalid(surfaces))
            result = run_pipeline(engine, options, first, adjacent, PassTimer(engine.wait if timed else None))
        pairs = unpack_pairs(result.keys, len(parts[0][1]) if len(parts) > 1 else 0, first)
        contact_arrays = triangle_contacts(*pair_corners(engine, pairs)) if contacts else {}
        image = result.image._replace(found=len(pairs), sent=engine.sent if engine else 0)
        found = device.require_cuda().to_device(pairs) if options.out == "device" else pairs
        return (ContactPairs if contacts else Pairs)(found, result.stats, **contact_arrays, image=image)


def device_part(name: str, surface: Any) -> tuple[Any, Any]:
    """Vertices and faces on the GPU. What is in arrays that are there is looked at later."""
    if is_body(surface):
        with ReadLock(surface._guard):
            return to_device(name, surface._world_vertices()[0].reshape(-1, 3), surface._welded_faces)
    if not device.is_device_array(surface[0]):
        return to_device(name, *validate.mesh(surface[0], surface[1], name))
    return (device_arrays.to_device_array(f"{name}.vertices", surface[0], device_arrays.VERTICES),
            device_arrays.to_device_array(f"{name}.faces", surface[1], device_arrays.FACES))


def to_device(name: str, rows: np.ndarray, faces: np.ndarray) -> tuple[Any, Any]:
    """Arrays of the host, on the GPU."""
    with device.report_out_of_memory(name, rows.nbytes + faces.nbytes):
        return device.require_cuda().to_device(rows), device.require_cuda().to_device(faces)


def raise_invalid(surfaces: dict[str, Any]) -> None:
    """Raise what is wrong with the arrays."""
    for name, surface in surfaces.items():
        if not is_body(surface):
            rows = device_arrays.vertices(f"{name}.vertices", surface[0])
            device_arrays.faces(f"{name}.faces", surface[1], len(rows))


def pair_corners(engine: Any, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, 9) twice: the corners of either face of each pair."""
    if not len(pairs):
        return np.empty((0, 9)), np.empty((0, 9))
    shift = 0 if engine.is_self else engine.first_b
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1] + np.int64(shift)
    corners = engine.gather_corners(device.require_cuda().to_device(keys), 0, len(keys))[1]
    return np.ascontiguousarray(corners[:, :9]), np.ascontiguousarray(corners[:, 9:])
