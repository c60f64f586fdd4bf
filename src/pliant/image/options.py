"""What can be asked of the image engine, checked in one place."""
from typing import Any, NamedTuple, TypedDict

import numpy as np

from pliant.core import validate, validate_views
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.image.merge import MAX_SIZE

MODES, REST_MODES, DEVICES, OUTPUTS = ("conservative", "sampled"), ("mark", "drop"), ("cpu", "cuda"), ("numpy", "device")
MAX_PASSES = 1 << 16


class ImageOptions(TypedDict, total=False):
    """Keywords of `collide` and `self_collide` with engine="image"; see there."""
    resolution: int
    mode: str
    passes: int | None
    rest: str
    direction: Any
    closed: bool | None
    device: str | None
    out: str


class CheckedOptions(NamedTuple):
    """The same, checked. `ends`: peel from both ends, or from the near one alone, which only experiments do."""
    resolution: int = 1024
    mode: str = "conservative"
    passes: int | None = None
    rest: str = "mark"
    direction: np.ndarray | None = None
    closed: bool | None = None
    device: str | None = None
    out: str = "numpy"
    ends: int = 2


def check_options(image_options: dict[str, Any]) -> CheckedOptions:
    """Checked Options."""
    unknown = sorted(set(image_options) - set(ImageOptions.__annotations__))
    if unknown:
        raise ArgumentTypeError(f'{unknown[0]}: no such option with engine="image"; it has {", ".join(ImageOptions.__annotations__)}')
    options = CheckedOptions(**image_options)
    options = options._replace(
        mode=validate.choice("mode", options.mode, MODES),
        rest=validate.choice("rest", options.rest, REST_MODES),
        resolution=validate.integer("resolution", options.resolution, range(1, MAX_SIZE + 1)),
        passes=None if options.passes is None else validate.integer("passes", options.passes, range(1, MAX_PASSES + 1)),
        direction=None if options.direction is None else validate_views.direction("direction", options.direction),
        closed=None if options.closed is None else validate.flag("closed", options.closed),
        device=None if options.device is None else validate.choice("device", options.device, DEVICES),
        out=validate.choice("out", options.out, OUTPUTS))
    if options.mode == "conservative" and options.rest == "drop":
        raise ArgumentError('rest: "drop" omits faces, which mode="conservative" never does; use mode="sampled"')
    if options.mode == "conservative" and options.passes is not None:
        raise ArgumentError('passes: an option of mode="sampled"; mode="conservative" samples all layers')
    return options
