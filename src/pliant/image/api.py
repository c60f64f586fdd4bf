"""`collide` and `self_collide` with engine="image": who is asked about, on which device, and the answer."""
from typing import Any

import numpy as np

from pliant.core import device, validate
from pliant.core.jit import silent
from pliant.core.sorting import sorted_pairs
from pliant.core.threads import Reading
from pliant.errors import DeviceError
from pliant.image.cpu import OnCpu
from pliant.image.options import Options, options_of
from pliant.image.pipeline import Clock, nothing, run
from pliant.image.surface import host_surface, is_body, mesh_of
from pliant.query.collide.contacts import contacts_of
from pliant.results import Pairs

NAME_BITS = 32


def between(a: Any, b: Any, first: bool, contacts: bool, given: dict[str, Any]) -> Pairs:
    """`collide` after the checks of its other options."""
    if a is b:
        raise ValueError("collide: a and b are the same body; self_collide(body) finds where a body meets itself")
    return asked({"a": a, "b": b}, first, contacts, True, options_of(given))


def within(body: Any, adjacent: str, first: bool, contacts: bool, given: dict[str, Any]) -> Pairs:
    """`self_collide` after the checks of its other options."""
    return asked({"body": body}, first, contacts, adjacent == "exact", options_of(given))


def asked(named: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: Options, clocked: bool = False) -> Pairs:
    """The answer for one surface or two, by the names of their arguments; with seconds by pass if it is to be `clocked`."""
    surfaces = {name: value if is_body(value) else mesh_of(name, value) for name, value in named.items()}
    place = place_of(surfaces, options)
    if place == device.HOST:
        return on_host(surfaces, first, contacts, adjacent, options, clocked)
    from pliant.image import api_cuda
    return api_cuda.on_device(place, surfaces, first, contacts, adjacent, options, clocked)


def place_of(surfaces: dict[str, Any], options: Options) -> Any:
    """Where to work: "cpu", or the number of a GPU. Arrays on a GPU are worked on there."""
    arrays = [(f"{name}.{what}", array) for name, surface in surfaces.items() if not is_body(surface)
              for what, array in zip(("vertices", "faces"), surface, strict=True)]
    bodies = [(name, ()) for name, surface in surfaces.items() if is_body(surface)]
    place = device.device_of(*arrays, *bodies)
    if place == device.HOST:
        place = device.current() if options.device == "cuda" else place
    elif options.device == "cpu":
        raise DeviceError(f'device: "cpu" was asked for, but {arrays[0][0]} is on GPU {place}; bring it over ({device.TO_HOST})')
    if options.out == "device" and place == device.HOST:
        raise DeviceError('out: "device" leaves pairs on a GPU, and the work is done on the host; ask device="cuda", or out="numpy"')
    return place


def on_host(surfaces: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: Options, clocked: bool) -> Pairs:
    """The answer from the CPU."""
    subjects = [host_surface(name, value) for name, value in surfaces.items()]
    validate.count_faces([len(subject.faces) for subject in subjects])
    with Reading(*(subject.guard for subject in subjects)), silent():
        found = nothing()
        if all(len(subject.faces) for subject in subjects):
            found = run(OnCpu(subjects), options, first, adjacent, Clock((lambda: None) if clocked else None))
        pairs = pairs_of(found.keys, len(subjects[0].faces) if len(subjects) > 1 else 0, first)
        more = contacts_of([(pairs, subjects[0], subjects[-1])]) if contacts else {}
        return Pairs(pairs, found.stats, **more, image=found.image._replace(found=len(pairs)))


def pairs_of(keys: np.ndarray, first_b: int, first: bool) -> np.ndarray:
    """(m, 2) int32, sorted, of keys f << 32 | g; faces of the second part begin at `first_b`; of all pairs the `first` alone."""
    pairs = sorted_pairs(keys, NAME_BITS - 1, NAME_BITS)
    pairs[:, 1] -= first_b
    return pairs[:1].copy() if first else pairs
