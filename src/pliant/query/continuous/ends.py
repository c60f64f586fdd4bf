"""The ends of a motion: where the vertices of a body are now, and where a state that it could be updated to would put them."""
from typing import Any

import numpy as np

from pliant.core import validate
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError, PliantError
from pliant.motion.rigid import transform_vertices
from pliant.query.continuous.swept_tree import MovingBody
from pliant.query.target import QueryBody

NAMED_ERRORS = (MeshError, ArgumentError, ArgumentTypeError)


def end_vertices(name: str, body: QueryBody, end: Any) -> Any:
    """The world vertices of a body, flat, in the state that `body.update(end)` would set; None for None. A tuple is (state, transform)."""
    if end is None:
        return None
    state, transform = end if isinstance(end, tuple) and len(end) == 2 else (end, None)
    try:
        update = body._check_update(state, transform=transform)
        rows = body._motion.vertices_after(update.vertices, None)
        validate.check_finite("vertices", rows)
    except PliantError as error:
        kind = next((cls for cls in NAMED_ERRORS if isinstance(error, cls)), ArgumentError)
        raise kind(f"{name}: {str(error).removeprefix('update: ')}") from None
    flat = np.ascontiguousarray(rows, np.float64).reshape(-1)
    if update.matrix is None:
        return flat
    moved = np.empty_like(flat)
    transform_vertices(update.matrix, flat, moved)
    return moved


def moving(body: QueryBody, end: Any) -> MovingBody:
    """A body, whose lock is held, and its end vertices of `end_vertices`; None: it stands still."""
    start = body._world_vertices()[0]
    return MovingBody(body, start, start if end is None else end)
