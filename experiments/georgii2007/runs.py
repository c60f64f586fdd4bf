"""The experiments of paper G (section 8): which engines run on which scenes, and what sampling misses. `tables.py` makes their tables.

ENGINES: a BVH refitted by the default policy, the reference; one that is rebuilt in every frame; the image engine, conservative and
sampled, along the view direction of the scene, and conservative along a direction of its own choice; the same on a device, with vertices
that are in place already, and, for creatures, with vertices computed there. MISSES: the sampled mode at several resolutions, and with fewer
passes than necessary, where the rest is dropped or marked; a pass peels one surface off the near end, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from experiments.clock import Run, Session
from experiments.georgii2007 import clock as imaging
from experiments.georgii2007.clock import CUDA, IMAGE, MOVED, TREE, Way
from experiments.georgii2007.cloth import cloth
from experiments.georgii2007.scenes import Scene, creatures, dragons, rigid_rabbits, soft_horses, soft_rabbits
from experiments.paper import Experiment

AUTO, REBUILD = "tree, default", "tree, rebuilt"
EXACT, SAMPLED, OWN = "image, conservative", "image, sampled", "image, conservative, own direction"
SMALLER = "image, sampled, part of the picture"
EXACT_THERE, SAMPLED_THERE, MOVED_THERE = "CUDA, conservative", "CUDA, sampled", "CUDA, conservative, moved on device"
TREES = [Way(AUTO, TREE, {}), Way(REBUILD, TREE, {"policy": "rebuild"})]
RESOLUTION, PASSES = "resolution", "passes"


class Plan(NamedTuple):
    """The size of an experiment: triangles of each scene; `rigid` and `creatures`: bodies first, then shuttles, and their subdivision."""

    rabbits: int = 12_000
    horses: int = 32_000
    creatures: tuple[int, int, tuple[int, int, int, int]] = (10, 4, (24, 4, 40, 12))
    rigid: tuple[int, int] = (60, 500_000)
    dragons: int = 800_000
    cloths: tuple[int, ...] = (2_000, 100_000)
    missing: tuple[str, ...] = ("soft rabbits", "soft horses", "creatures", "rigid rabbits", "dragons")
    resolution: int = 1024
    resolutions: tuple[int, ...] = (128, 256, 512, 1024, 2048)
    passes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    frames: int = 30
    repeats: int = 3


QUICK = Plan(rabbits=2_400, horses=6_000, creatures=(2, 1, (4, 1, 4, 2)), rigid=(10, 12_000), dragons=4_000, cloths=(200, 800),
             missing=("soft rabbits", "soft horses"), resolution=256, resolutions=(32, 128), passes=(1, 4), frames=4,
             repeats=1)  # fmt: skip


def scenes(plan: Plan) -> Iterator[Scene]:
    """The scenes of Table 1, in its order, made when needed."""
    yield soft_rabbits(plan.rabbits, plan.frames)
    yield soft_horses(plan.horses, plan.frames)
    yield creatures(*plan.creatures, plan.frames)
    yield rigid_rabbits(*plan.rigid, plan.frames)
    yield dragons(plan.dragons, plan.frames)


def ways(plan: Plan, scene: Scene) -> list[Way]:
    """All methods of a scene; the first is the reference."""
    exact, sampled = ({"mode": mode, "resolution": plan.resolution} for mode in ("conservative", "sampled"))
    here = {"device": "cpu"}
    images = [Way(EXACT, IMAGE, exact | here), Way(SAMPLED, IMAGE, sampled | here), Way(OWN, IMAGE, exact | here, view=False)]
    there = [Way(EXACT_THERE, CUDA, exact), Way(SAMPLED_THERE, CUDA, sampled)]
    return [*TREES, *images, *there, *([Way(MOVED_THERE, MOVED, exact)] if scene.swarm is not None else [])]


def counted(plan: Plan, scene: Scene) -> list[Way]:
    """The methods whose counts are compared with the paper's; the first is the reference. Where the scene covers a part of the picture, the
    sampled mode also runs at that size."""
    ways = [Way(name, IMAGE, {"mode": mode, "resolution": plan.resolution, "device": "cpu"})
            for name, mode in ((EXACT, "conservative"), (SAMPLED, "sampled"))]  # fmt: skip
    if scene.covers < 1:
        ways.append(Way(SMALLER, IMAGE, {"mode": "sampled", "resolution": round(plan.resolution * scene.covers), "device": "cpu"}))
    return [TREES[0], *ways]


def count_all(plan: Plan, session: Session) -> Iterator[Run]:
    """Counts of every scene. One round suffices: they do not depend on time."""
    for scene in scenes(plan):
        if session.stopped:
            return
        once = Session(1, "cpu", session.begin, session.tick)
        runs = imaging.play(once, f"Counts, {scene.name}", scene, counted(plan, scene), passes=False)
        session.stopped = session.stopped or once.stopped
        yield from runs


def table_1(plan: Plan, session: Session) -> Iterator[Run]:
    """Every engine on every scene."""
    for scene in scenes(plan):
        if session.stopped:
            return
        yield from imaging.play(session, f"Table 1, {scene.name}", scene, ways(plan, scene))


def run_cloth(plan: Plan, session: Session) -> Iterator[Run]:
    """The same on the cloth, coarse and fine."""
    for faces in plan.cloths:
        scene = cloth(faces, plan.frames)
        yield from imaging.play(session, f"Cloth of {faces:,}", scene, ways(plan, scene), asked=faces)


def sweeps(plan: Plan) -> list[tuple[Way, dict[str, Any]]]:
    """Methods with decreasing sampling, and the value that varies."""
    made = []
    for size in plan.resolutions:
        way = Way(f"{size} × {size}", IMAGE, {"mode": "sampled", "resolution": size, "device": "cpu"})
        made.append((way, {"sweep": RESOLUTION, "value": size, "rest": "mark"}))
    for rest in ("drop", "mark"):
        for count in plan.passes:
            options = {"mode": "sampled", "resolution": plan.resolution, "device": "cpu", "passes": count, "rest": rest}
            way = Way(f"{count} passes, rest {rest}", IMAGE, options, ends=1)
            made.append((way, {"sweep": PASSES, "value": count, "rest": rest}))
    return made


def misses(plan: Plan, session: Session) -> Iterator[Run]:
    """Pairs that the sampled mode misses. One round suffices: misses do not depend on time."""
    for scene in scenes(plan):
        if session.stopped:
            return
        if scene.name not in plan.missing:
            continue
        made = sweeps(plan)
        once = Session(1, "cpu", session.begin, session.tick)
        runs = imaging.play(once, f"Misses, {scene.name}", scene, [TREES[0], *(way for way, _ in made)], passes=False)
        session.stopped = session.stopped or once.stopped
        yield from (run | about for run, (_, about) in zip(runs[1:], made, strict=False))


EXPERIMENTS = {
    "counts": Experiment("Table 1: counts", count_all),
    "table-1": Experiment("Table 1: five scenes", table_1),
    "cloth": Experiment("Fig 11: a cloth over a ball", run_cloth),
    "misses": Experiment("What sampling misses", misses),
}
