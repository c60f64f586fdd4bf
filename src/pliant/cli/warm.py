"""``pliant warm``: compile kernels now, on all cores, so that no first query waits for them; or import them from a file."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.errors import make_console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from pliant.body import Body

EXAMPLES = """\
Examples:

    pliant warm

    pliant warm --all --export kernels.zip

    pliant warm --import kernels.zip
"""


def overlapping_bodies() -> tuple[Body, Body, NDArray[np.float64], NDArray[np.int32]]:
    """Two deeply overlapping bodies, and vertices and faces of the first."""
    import pliant
    from pliant import shapes

    scene = shapes.bumpy_pair(320, 3)
    first, second = scene.frame(0)
    a, b = pliant.Body(first, scene.faces), pliant.Body(second, scene.faces)
    first, second = scene.frame(1)  # halfway through the pass
    a.update(first)
    b.update(second)
    return a, b, first, scene.faces


def compile_scene() -> None:
    """Compile the default kernels of scenes, and the policy that `auto` switches to where queries reach few volumes."""
    import pliant

    a, b, first, faces = overlapping_bodies()
    pliant.Scene([a, b]).collide()
    pliant.collide(pliant.Body(first, faces, policy="lazy"), b)
    pliant.collide(a, b, first=True)


def compile_contacts() -> None:
    """Compile contacts, of two bodies and in scenes, without the search for pairs."""
    import numpy as np

    from pliant.query.collide.contacts import contacts_of

    a, b, *_ = overlapping_bodies()
    contacts_of([(np.zeros((1, 2), np.int32), a, b)])


def compile_self() -> None:
    """Compile self-collision."""
    import pliant

    pliant.self_collide(overlapping_bodies()[0], contacts=True)


def compile_rays() -> None:
    """Compile ray queries, from few to many rays."""
    import pliant

    a = overlapping_bodies()[0]
    pliant.cast(a, [[0.1, 0.2, -5.0]], [[0.0, 0.0, 1.0]])
    pliant.cast_all(a, [[0.1, 0.2, -5.0]], [[0.0, 0.0, 1.0]])


def compile_distances() -> None:
    """Compile distances and pairs within a tolerance, of two bodies and in scenes."""
    import pliant

    a, b, *_ = overlapping_bodies()
    pliant.distance(a, b)
    pliant.within(a, b, 0.01)
    scene = pliant.Scene([a, b])
    scene.distance()
    scene.within(0.01)
    pliant.self_within(a, 0.01)


def compile_continuous() -> None:
    """Compile continuous collision and contact features."""
    import pliant

    a, b, first, _ = overlapping_bodies()
    pliant.ccd(a, b, None, 1.01 * b.vertices, min_distance=0.001)
    pliant.self_step_size(a, 1.01 * first)
    pliant.within(a, b, 0.01, features=True)
    pliant.self_within(a, 0.01, features=True)


def compile_points() -> None:
    """Compile closest points with signs, and winding numbers of closed and open bodies."""
    import pliant

    a, _, first, faces = overlapping_bodies()
    pliant.closest(a, first, signed=True)
    pliant.inside(a, 0.99 * first)
    pliant.inside(pliant.Body(first, faces[1:]), 0.99 * first)


def compile_exact() -> None:
    """Compile exact stages, which other queries compile when they first need them."""
    import pliant.query.collide.contacts
    import pliant.query.collide.self_collide
    import pliant.query.proximity.closest
    import pliant.query.proximity.inside
    import pliant.query.ray.cast  # noqa: F401 - they define them
    from pliant.core.lazy_compile import SLOTS

    for slot in list(SLOTS):
        slot.address()


def compile_motions() -> None:
    """Compile the other motions of animation files."""
    import numpy as np

    import pliant
    from pliant import shapes

    scene = shapes.bumpy_pair(320, 3)
    (first, second), faces, identity = scene.frame(1), scene.faces, np.eye(4)
    free = pliant.Body(first, faces)
    morph, blended, rigid = (pliant.Body.morph([first, second], faces), pliant.Body.blended(second, faces, np.ones((len(second), 1))),
                             pliant.Body.rigid(second, faces))  # fmt: skip
    morph.update([0.5, 0.5])
    blended.update(identity[None])
    rigid.update(identity)
    for body in (morph, blended, rigid):
        pliant.self_collide(body)
    bodies = [free, morph, blended, rigid]
    pliant.Scene(bodies).collide()
    pliant.Scene(bodies).within(0.01, self_pairs=True)


def compile_polygons() -> None:
    """Compile the triangulation of polygons in mesh files."""
    import numpy as np

    from pliant.io.polygons import Polygons, triangulate

    for corners in (4, 5):
        triangulate(np.eye(5, 3), Polygons(np.arange(corners), np.array([corners]), np.zeros(1, np.int64)))


def compile_image() -> None:
    """Compile the image engine."""
    import pliant

    a, b, *_ = overlapping_bodies()
    pliant.collide(a, b, engine="image")
    pliant.self_collide(a, engine="image")


# The longest first: processes take them in this order.
KERNEL_GROUPS: dict[str, Callable[[], None]] = {
    "distances": compile_distances, "rays": compile_rays, "exact": compile_exact, "scene": compile_scene, "motions": compile_motions,
    "continuous": compile_continuous, "contacts": compile_contacts, "self": compile_self, "image": compile_image, "points": compile_points,
    "polygons": compile_polygons,
}  # fmt: skip
SCENE_GROUPS, EXTRA_GROUPS = ("scene", "contacts"), ("motions", "image", "polygons")
DEFAULT_GROUPS = tuple(name for name in KERNEL_GROUPS if name not in EXTRA_GROUPS)


def compile_groups(names: Iterable[str], console: Console) -> float:
    """Compile these groups into the cache, in as many processes as there are cores, or here if nothing can be cached; returns the seconds.
    A line is printed for each finished group, also if the output is no terminal."""
    from pliant.core.jit import cache_state
    from pliant.core.threads import threads

    start, names, state = time.perf_counter(), list(names), cache_state()
    if state.folder is not None and state.writable and threads() > 1 and len(names) > 1:
        compile_in_processes(names, threads(), console)
    else:
        for name in names:
            group_start = time.perf_counter()
            KERNEL_GROUPS[name]()
            console.print(f"  {name}: {time.perf_counter() - group_start:.1f} s", highlight=False)
    return time.perf_counter() - start


def compile_in_processes(names: list[str], n_workers: int, console: Console) -> None:
    """Compile groups in worker processes, each in the next free one."""
    waiting: SimpleQueue[str | None] = SimpleQueue()
    children: list[Any] = []
    failed: list[str] = []
    for name in (*names, *[None] * n_workers):
        waiting.put(name)

    def run_worker() -> None:
        while (name := waiting.get()) is not None:
            with subprocess.Popen([sys.executable, "-m", "pliant.cli.warm_part", name], stdout=subprocess.PIPE, text=True) as child:
                children.append(child)
                for line in child.stdout or ():
                    console.print("  {}: {} s".format(*line.split()), highlight=False)
            if child.returncode != 0:
                failed.append(name)

    workers = [Thread(target=run_worker, daemon=True) for _ in range(min(n_workers, len(names)))]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(0.1)
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
    for name in failed:  # compile here, to show the error
        KERNEL_GROUPS[name]()


def warm(
    everything: Annotated[bool, typer.Option(
        "--all", help="Also kernels of other motions and of polygons, as in animation files, and of the image engine.")] = False,
    export: Annotated[Path | None, typer.Option("--export", metavar="FILE", help="Write the compiled kernels to a ZIP archive.")] = None,
    imported: Annotated[Path | None, typer.Option("--import", metavar="FILE", help="Import kernels from such an archive. This runs code "
                                                  "from the file: import only what you trust.")] = None,
) -> None:
    """Compile kernels into the cache on all cores, or import them from a file, and print the time."""
    from pliant.core.jit import cache_state
    from pliant.core.kernel_archive import export_kernels, import_kernels

    console, cache = make_console(), cache_state()
    if (export or imported) and (cache.folder is None or (imported and not cache.writable)):
        raise typer.BadParameter(f"there is no cache of kernels to use: {cache.reason}")
    if imported:
        console.print(f"These kernels are machine code: from now on programs that use Pliant run what is in {imported}.", markup=False)
        count = import_kernels(imported, cache)
        console.print(f"{count:,} files are in {cache.folder}.", highlight=False, markup=False, soft_wrap=True)
        return
    with console.status("Compiling …"):
        seconds = compile_groups(KERNEL_GROUPS if everything else DEFAULT_GROUPS, console)
    console.print(f"Ready after {seconds:.2f} s.")
    if export:
        count = export_kernels(export, cache)
        console.print(f"{export}: {count:,} files, {export.stat().st_size / 2**20:.1f} MiB", highlight=False, markup=False, soft_wrap=True)
    if cache.folder is None:
        console.print(f"Nothing was kept for the next process: {cache.reason}")


warm.__doc__ = f"{warm.__doc__}\n\n{EXAMPLES}"
