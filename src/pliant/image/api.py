"""`collide` and `self_collide` with engine="image": who is asked about, on which device, and the answer."""
from typing import Any

from pliant.core import device, validate
from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, DeviceError
from pliant.image.cpu import CpuEngine
from pliant.image.options import CheckedOptions, check_options
from pliant.image.pipeline import PassTimer, empty_result, run_pipeline, unpack_pairs
from pliant.image.surface import as_subject, is_body, mesh_arguments
from pliant.query.collide.contacts import contacts_of
from pliant.results import ContactPairs, Pairs


def collide(a: Any, b: Any, first: bool, contacts: bool, image_options: dict[str, Any]) -> Pairs:
    """`collide` after the checks of its other options."""
    if a is b:
        raise ArgumentError("collide: a and b are the same body; self_collide(body) finds its self-intersections")
    return query({"a": a, "b": b}, first, contacts, True, check_options(image_options))


def self_collide(body: Any, adjacent: str, first: bool, contacts: bool, image_options: dict[str, Any]) -> Pairs:
    """`self_collide` after the checks of its other options."""
    return query({"body": body}, first, contacts, adjacent == "exact", check_options(image_options))


def query(arguments: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: CheckedOptions, timed: bool = False) -> Pairs:
    """The answer for one surface or two, by the names of their arguments; with seconds by pass if it is `timed`."""
    surfaces = {name: value if is_body(value) else mesh_arguments(name, value) for name, value in arguments.items()}
    target = device_for(surfaces, options)
    if target == device.HOST:
        return on_host(surfaces, first, contacts, adjacent, options, timed)
    from pliant.image import api_cuda
    return api_cuda.on_device(target, surfaces, first, contacts, adjacent, options, timed)


def device_for(surfaces: dict[str, Any], options: CheckedOptions) -> Any:
    """Where to work: "cpu", or the number of a GPU. Arrays on a GPU are worked on there."""
    arrays = [(f"{name}.{what}", array) for name, surface in surfaces.items() if not is_body(surface)
              for what, array in zip(("vertices", "faces"), surface, strict=True)]
    bodies = [(name, ()) for name, surface in surfaces.items() if is_body(surface)]
    target = device.device_of(*arrays, *bodies)
    if target == device.HOST:
        target = device.current_device() if options.device == "cuda" else target
    elif options.device == "cpu":
        raise DeviceError(f'device: "cpu" was asked for, but {arrays[0][0]} is on GPU {target}; bring it over ({device.COPY_TO_HOST_HINT})')
    if options.out == "device" and target == device.HOST:
        raise DeviceError('out: "device" leaves pairs on a GPU, and the work is done on the host; ask device="cuda", or out="numpy"')
    return target


def on_host(surfaces: dict[str, Any], first: bool, contacts: bool, adjacent: bool, options: CheckedOptions, timed: bool) -> Pairs:
    """The answer from the CPU."""
    subjects = [as_subject(name, value) for name, value in surfaces.items()]
    validate.check_face_count([len(subject.faces) for subject in subjects])
    with ReadLock(*(subject._guard for subject in subjects)), ignore_float_errors():
        result = empty_result()
        if all(len(subject.faces) for subject in subjects):
            result = run_pipeline(CpuEngine(subjects), options, first, adjacent, PassTimer((lambda: None) if timed else None))
        pairs = unpack_pairs(result.keys, len(subjects[0].faces) if len(subjects) > 1 else 0, first)
        contact_arrays = contacts_of([(pairs, subjects[0], subjects[-1])]) if contacts else {}
        return (ContactPairs if contacts else Pairs)(pairs, result.stats, **contact_arrays, image=result.image._replace(found=len(pairs)))
