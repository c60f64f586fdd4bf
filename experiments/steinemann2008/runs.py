"""The experiments of paper M (section 6): which bounds and which refit methods run on which scenes. `tables.py` makes their tables.

BOUNDS of Fig 5: eq. 12 and the linear programme (`greedy`), each with one box at rest, axis-aligned or oriented, as in the paper, or with a
box for every map; for leaves as well, as in that figure. METHODS (WAYS) of Tables 3 and 4: on the paper's BVHs, binary and one triangle a
leaf, bottom-up, and volumes by eq. 12 in the paper's combinations: AABB at rest and AABB or 14-DOP, OBB at rest and 14-, 18- or 26-DOP; on
Pliant's BVHs, bottom-up and the default. Labels say where two bodies at a time are queried instead of the scene.

Baselines outside the package: spatial hashing (`hashing.py`) and other bounds (`other_bounds.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from experiments.clock import Run, Session
from experiments.paper import PAPER, PLIANT, Experiment
from experiments.steinemann2008 import clock as blending
from experiments.steinemann2008 import hashing, other_bounds, tightness
from experiments.steinemann2008.clock import Way
from experiments.steinemann2008.scenes import FEW, MANY, Blends, pulled, ring, shoal

other_bounds.register()
hashing.register()

TREES: dict[str, dict[str, Any]] = {PAPER: {"build": "covariance", "arity": 2, "leaf": 1}, PLIANT: {"build": "sah", "arity": 8, "leaf": 8}}
BOTTOM_UP, FRONT, ON_DEMAND = "bottom-up", "eq. 12, front", "eq. 12, on demand"
STRAIGHT, TURNED = "eq. 12, AABB and 14-DOP", "eq. 12, OBB and 14-DOP"
TURNED_18, TURNED_26 = "eq. 12, OBB and 18-DOP", "eq. 12, OBB and 26-DOP"
AUTO, AUTO_FRONT = "default", "default, front"  # a body without options, and with one


def convex(bound: str, boxes: str, **more: Any) -> dict[str, Any]:
    """The policy that bounds volumes by weights."""
    return {"policy": {"name": "convex", "bound": bound, "boxes": boxes, **more}}


# The policies of all bodies.
OPTIONS: dict[str, dict[str, Any]] = {
    BOTTOM_UP: {"policy": "bottom_up"},
    FRONT: convex("eq12", "aabb", leaves="exact", front=True),
    ON_DEMAND: convex("eq12", "aabb", leaves="exact", front=False),
    STRAIGHT: convex("eq12", "aabb", leaves="exact", front=True) | {"volume": "kdop14"},
    TURNED: convex("eq12", "obb", leaves="exact", front=True) | {"volume": "kdop14"},
    TURNED_18: convex("eq12", "obb", leaves="exact", front=True) | {"volume": "kdop18"},
    TURNED_26: convex("eq12", "obb", leaves="exact", front=True) | {"volume": "kdop26"},
    AUTO: {},
    AUTO_FRONT: {"policy": {"name": "convex", "front": True}},
}
BOUNDS = {
    f"{name}, {kind}": convex(bound, boxes, leaves="bound", front=False)
    for name, bound in (("eq. 12", "eq12"), ("greedy", "greedy"))
    for kind, boxes in (("AABB", "aabb"), ("OBB", "obb"), ("own boxes", "own"))
}
PAPERS_BOUND, OUR_BOUND, BEST_BOUND = "eq. 12, AABB", "eq. 12, own boxes", "greedy, own boxes"
RING, FISH, SMALL = "ring", "fish", "small fish"
TABLE_2 = {(vertices, nodes, contacts): str(number) for number, (contacts, vertices, nodes)
           in enumerate(product((FEW, MANY), (2_857, 45_682), (115, 550)), 1)}  # fmt: skip


class Plan(NamedTuple):
    """The size of an experiment. Bounds are computed for every `each`-th frame of a body: they change slowly."""

    brains: tuple[int, ...] = (3_500, 30_000, 145_000)
    nodes: tuple[int, ...] = (65, 225, 509)
    tight: tuple[int, tuple[int, ...]] = (30_000, (65, 509))
    each: int = 6
    figures: tuple[tuple[int, int], ...] = ((2_857, 115), (2_857, 550), (45_682, 115), (45_682, 550))
    fish: tuple[int, int, int] = (24, 8_002, 96)
    swept: tuple[int, int] = (45_682, 115)
    influences: tuple[int, ...] = (4, 8, 16, 32)
    frames: int = 60
    repeats: int = 3


QUICK = Plan(brains=(200, 700), nodes=(12, 30), tight=(200, (12, 30)), each=1, figures=((1_500, 20),), fish=(4, 1_500, 20),
             swept=(1_500, 20), influences=(4, 8), frames=4, repeats=1)  # fmt: skip


def way(name: str, tree: str, by_hand: bool = False) -> Way:
    """One of OPTIONS on one of TREES."""
    return Way(name, tree, TREES[tree] | OPTIONS[name], by_hand)


def ways() -> list[Way]:
    """All methods of Tables 3 and 4; the first is the reference."""
    papers = [way(name, PAPER) for name in (BOTTOM_UP, FRONT, ON_DEMAND, STRAIGHT, TURNED, TURNED_18, TURNED_26)]
    own = [way(name, PLIANT) for name in (BOTTOM_UP, AUTO, AUTO_FRONT)]
    hand = [way(name, PLIANT, True) for name in (BOTTOM_UP, AUTO)]
    return [*papers, *own, *hand, *(Way(name, "–", {}) for name in blending.OTHERS)]


def few_ways() -> list[Way]:
    """The methods of a sweep."""
    return [way(BOTTOM_UP, PAPER), way(FRONT, PAPER), way(BOTTOM_UP, PLIANT), way(AUTO, PLIANT)]


def table_1(plan: Plan, session: Session) -> Iterator[Run]:
    """The cost of a root, by vertices and nodes."""
    for nodes in plan.nodes:
        for vertices in plan.brains:
            scene = pulled(vertices, nodes, plan.frames)
            roots = {name: TREES[PAPER] | BOUNDS[name] for name in (PAPERS_BOUND, OUR_BOUND, BEST_BOUND)}
            yield from tightness.cost(session, f"Table 1, {vertices:,} vertices, {nodes} nodes", scene, roots, asked=vertices)


def fig_5(plan: Plan, session: Session) -> Iterator[Run]:
    """The tightness of volumes, level by level."""
    vertices, every = plan.tight
    bounds = [tightness.Way(name, TREES[PAPER] | options) for name, options in BOUNDS.items()]
    bounds += [tightness.Way(name, None) for name in tightness.OTHERS]
    for nodes in every:
        scene = thinned(pulled(vertices, nodes, plan.frames), plan.each)
        yield from tightness.play(session, f"Fig 5, {nodes} nodes", scene, bounds, TREES[PAPER])


def thinned(scene: Blends, each: int) -> Blends:
    """Frame 0, and every so many-th after it."""
    return scene._replace(maps=scene.maps[::each]) if scene.frames >= each else scene


def table_4(plan: Plan, session: Session) -> Iterator[Run]:
    """Figures on a ring, with the settings of Table 2, in its order."""
    for contacts in (FEW, MANY):
        for vertices, nodes in plan.figures:
            part = TABLE_2.get((vertices, nodes, contacts), f"small, {contacts}")
            scene = ring(vertices, nodes, contacts, plan.frames)
            yield from blending.play(session, f"Table 4, setting {part}", scene, ways(), part=part, contacts=contacts)


def run_fish(plan: Plan, session: Session) -> Iterator[Run]:
    """A shoal."""
    bodies, vertices, nodes = plan.fish
    part = FISH if plan.fish == Plan().fish else SMALL
    yield from blending.play(session, "Fish", shoal(bodies, vertices, nodes, plan.frames), ways(), part=part)


def radius(plan: Plan, session: Session) -> Iterator[Run]:
    """Kernels of increasing radius: many contacts."""
    for count in plan.influences:
        scene = ring(*plan.swept, MANY, plan.frames, count)
        yield from blending.play(session, f"Radius, {count} nodes a vertex", scene, few_ways(), part=RING, asked=count)


EXPERIMENTS = {
    "table-1": Experiment("Table 1: what a root costs", table_1),
    "fig-5": Experiment("Fig 5: how tight volumes are", fig_5),
    "table-4": Experiment("Tables 3 and 4: figures on a ring", table_4),
    "fish": Experiment("Fig 7: a shoal of fish", run_fish),
    "radius": Experiment("How far nodes reach", radius),
}
