"""``pliant warm``: compile the default path now, so that the first query of a program does not wait for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.ends import screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pliant.body import Body

EXAMPLES = """\
Examples:

    pliant warm

    pliant warm --all
"""


def prepare_scene() -> float:
    """Run small queries through everything that bodies in a scene use by default; seconds it took."""
    import pliant

    start = time.perf_counter()
    a, b, first, faces = overlapping()
    scene = pliant.Scene([a, b])
    scene.collide()
    scene.collide(contacts=True)
    pliant.collide(pliant.Body(first, faces, policy="lazy"), b)  # what the default becomes where queries reach little
    return time.perf_counter() - start


def prepare() -> float:
    """The same for everything that the default options use."""
    import pliant

    start = time.perf_counter()
    prepare_scene()
    a, b, first, _ = overlapping()
    pliant.collide(a, b, contacts=True)
    pliant.collide(a, b, first=True)
    pliant.self_collide(a, contacts=True)
    pliant.cast(a, [[0.1, 0.2, -5.0]], [[0.0, 0.0, 1.0]])
    pliant.distance(a, b)
    pliant.within(a, b, 0.01)
    pliant.self_within(a, 0.01)
    pliant.closest(a, first)
    return time.perf_counter() - start


def overlapping() -> tuple[Body, Body, NDArray[np.float64], NDArray[np.int32]]:
    """Two bodies deep in each other, so that the exact stages run too, and vertices and faces of the first."""
    import pliant
    from pliant import shapes

    scene = shapes.bumpy_pair(320, 3)
    first, second = scene.frame(0)
    a, b = pliant.Body(first, scene.faces), pliant.Body(second, scene.faces)
    first, second = scene.frame(1)  # the middle of the pass
    a.update(first)
    b.update(second)
    return a, b, first, scene.faces


def prepare_more() -> float:
    """The same for bodies of other motions, as files of animations have them, and for the image engine; seconds it took."""
    import numpy as np

    import pliant
    from pliant import shapes

    start = time.perf_counter()
    scene = shapes.bumpy_pair(320, 3)
    (first, second), faces, still = scene.frame(1), scene.faces, np.eye(4)
    free = pliant.Body(first, faces)
    morph, blended, rigid = (pliant.Body.morph([first, second], faces), pliant.Body.blended(second, faces, np.ones((len(second), 1))),
                             pliant.Body.rigid(second, faces))  # fmt: skip
    morph.update([0.5, 0.5])
    blended.update(still[None])
    rigid.update(still)
    for body in (morph, blended, rigid):
        pliant.self_collide(body)
    bodies = [free, morph, blended, rigid]
    pliant.Scene(bodies).collide()
    pliant.Scene(bodies).within(0.01, self_pairs=True)
    pliant.collide(free, rigid, engine="image")
    pliant.self_collide(free, engine="image")
    return time.perf_counter() - start


def warm(
    everything: Annotated[bool, typer.Option("--all", help="Also other motions, as in files of animations, and the image engine.")] = False,
) -> None:
    """Compile the default kernels into the cache and say how long it took."""
    from pliant.core.jit import cache_state

    console = screen()
    with console.status("Compiling; about a minute when the cache is empty …"):
        seconds = prepare() + (prepare_more() if everything else 0.0)
    console.print(f"Ready after {seconds:.2f} s.")
    cache = cache_state()
    if cache.folder is None:
        console.print(f"Nothing was kept for the next process: {cache.reason}")


warm.__doc__ = f"{warm.__doc__}\n\n{EXAMPLES}"
