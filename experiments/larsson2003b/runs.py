"""The experiments of paper C (thesis 7.3 and 7.4): which methods run on which scenes. `tables.py` makes their tables.

METHODS (WAYS), on the paper's BVHs and on Pliant's: bottom-up updates, hybrid ones, and on Pliant's BVHs `auto`. Scenes are `nine` and
`museum` of `pliant render`, in evenly spaced frames. Reconstruction and picks are measured with vertices in the order of their mesh and in
that of `reorder_vertices`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from experiments.clock import CLOCKS, Run, Session
from experiments.larsson2003b.clock import Recorder, Way, ordered, picked, play, spread, unasked
from experiments.paper import HALF, HALF_POLICY, PLIANT, TREES, Experiment
from pliant.render.animation import AnimatedScene
from pliant.render.demo_soup import make_demo_soup
from pliant.render.demo_spheres import make_demo_spheres

BOTTOM_UP, HYBRID, AUTO, LAZY = "bottom-up", "hybrid", "auto", "lazy"
POLICY: dict[str, Any] = {BOTTOM_UP: "bottom_up", HYBRID: "hybrid", HALF: HALF_POLICY, AUTO: "auto", LAZY: "lazy"}
SAMPLINGS = (1, 5, 10)  # pixels between samples, in both directions
ARITIES = (8, 4, 2)
THREADS = (1, 2)
TOGETHER, ALONE = "all in turn", "one alone"
GIVEN, ORDERED = "vertices in the order of the mesh", "vertices in the order of the leaves"
LAYOUTS = {GIVEN: lambda show: show, ORDERED: ordered}
RAYS, PICTURES = "rays", "pictures"
WIDE, STACKLESS = "wide", "stackless"


class Plan(NamedTuple):
    """The size of an experiment; `few` frames suffice where methods differ little from frame to frame."""

    faces: int = 81_920  # of each of the nine bodies
    soup: int = 65_536  # of the museum's art object
    width: int = 640
    height: int = 480
    frames: int = 300  # at most: nine has 280
    few: int = 7
    repeats: int = 3


QUICK = Plan(faces=320, soup=64, width=48, height=36, frames=3, few=2, repeats=1)


def way(name: str, tree: str, arity: int = 8, **more: Any) -> Way:
    """A method by its name."""
    return Way(name, tree, TREES[tree] | {"arity": arity, "policy": POLICY[name]}, **more)


def sampled(step: int) -> str:
    """The name of a sampling."""
    return f"{step}x{step}"


def processors() -> int:
    """The number of processors of this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def table_71(plan: Plan, session: Session) -> Iterator[Run]:
    """Nine deforming bodies."""
    yield from rendered("Table 7.1", make_demo_spheres(plan.faces), plan, session)


def table_72(plan: Plan, session: Session) -> Iterator[Run]:
    """A triangle soup in a room, with a BVH for each of five key frames."""
    yield from rendered("Table 7.2", make_demo_soup(plan.soup), plan, session)


def rendered(title: str, show: AnimatedScene, plan: Plan, session: Session) -> Iterator[Run]:
    """A scene at all samplings."""
    every = [way(name, tree) for tree in TREES for name in (BOTTOM_UP, HYBRID, HALF, AUTO)]
    frames, recorder = spread(show, plan.frames), Recorder(show, plan.width, plan.height, session.clock)
    for step in SAMPLINGS:
        turns = recorder.turns(frames, step)
        yield from play(session, f"{title}, {sampled(step)}", show, every, turns, frames=len(frames), part=sampled(step))


def eq_77(plan: Plan, session: Session) -> Iterator[Run]:
    """Reconstruction alone: bottom-up and hybrid on BVHs of all arities, nine bodies in turn, and one alone."""
    for layout, arranged in LAYOUTS.items():
        show = arranged(make_demo_spheres(plan.faces))
        frames, moving = spread(show, plan.frames), [actor for actor in show.actors if actor.moves]
        for count, actors in ((TOGETHER, moving), (ALONE, moving[:1])):
            some, part = replace(show, actors=actors), f"{count}, {layout}"
            for arity in ARITIES:
                every = [way(name, tree, arity) for tree in TREES for name in (BOTTOM_UP, HYBRID)]
                title = f"Eq. 7.7, {part}, arity {arity}"
                yield from play(session, title, some, every, unasked(some, frames), frames=len(frames), part=part, arity=arity)


def picks(plan: Plan, session: Session) -> Iterator[Run]:
    """One ray a frame: all BVHs refitted before it, or what it reaches."""
    for layout, arranged in LAYOUTS.items():
        show = arranged(make_demo_spheres(plan.faces))
        frames = spread(show, plan.frames)
        every = [way(name, tree, ahead=name == BOTTOM_UP) for tree in TREES for name in (BOTTOM_UP, LAZY, HYBRID, AUTO)]
        yield from play(session, f"Picks, {layout}", show, every, picked(show, frames), frames=len(frames), part=layout)


def eq_71(plan: Plan, session: Session) -> Iterator[Run]:
    """One thread and, if there are processors for them, two; two threads need elapsed time."""
    show, threads = make_demo_spheres(plan.faces), [n for n in THREADS if n <= processors()]
    clock = CLOCKS["wall"] if len(threads) > 1 else session.clock
    frames, recorder = spread(show, min(plan.few, plan.frames)), Recorder(show, plan.width, plan.height, clock)
    for kind, names, steps in ((RAYS, (BOTTOM_UP, HYBRID), (1, 10)), (PICTURES, (HYBRID,), (1,))):
        every = [way(name, PLIANT, threads=n, picture=kind == PICTURES) for name in names for n in threads]
        for step in steps:
            turns, about = recorder.turns(frames, step), {"part": sampled(step), "kind": kind, "processors": processors()}
            yield from play(session, f"Eq. 7.1, {kind}, {sampled(step)}", show, every, turns, frames=len(frames), clock=clock,
                            settings=recorder.settings(step), **about)  # fmt: skip


def traversals(plan: Plan, session: Session) -> Iterator[Run]:
    """Casts alone, wide (nearest child first, many rays at once) or stackless in node order (Fig 7.2); hybrid updates."""
    show = make_demo_spheres(plan.faces)
    frames, recorder = spread(show, min(plan.few, plan.frames)), Recorder(show, plan.width, plan.height, session.clock)
    every = [way(HYBRID, tree, traversal=name, casts=True)._replace(name=name) for tree in TREES for name in (WIDE, STACKLESS)]
    for step in SAMPLINGS:
        turns = recorder.turns(frames, step)
        yield from play(session, f"Traversals, {sampled(step)}", show, every, turns, frames=len(frames), part=sampled(step))


EXPERIMENTS = {
    "table-7.1": Experiment("Table 7.1: nine deforming bodies", table_71),
    "table-7.2": Experiment("Table 7.2: a soup of triangles in a room", table_72),
    "eq-7.7": Experiment("Eq. 7.7: reconstruction", eq_77),
    "picks": Experiment("One ray a frame", picks),
    "eq-7.1": Experiment("Eq. 7.1: threads", eq_71),
    "traversals": Experiment("Fig 7.2: with a stack and without", traversals),
}
