"""Tables of paper S's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from experiments.clock import Run, fixed
from experiments.figures import find, growth, mean, ms, over, parts
from experiments.fits import cost
from experiments.larsson2008.runs import BALLS, BOXES, COVARIANCE, NEAR, ON, RITTER, SLABS, WAYS
from experiments.paper import LABELS, PAPER, PLIANT
from pliant.report.tables import Table, figure


class Reported(NamedTuple):
    """A row of Table 3, or figures from the text: milliseconds, n_v, n_p; None where the paper has none."""

    ms: float
    n_v: float | None = None
    n_p: float | None = None


def table_3(balls: tuple[float, ...], slabs: tuple[float, ...], boxes: tuple[float, ...], ritter: float) -> dict[str, Reported]:
    """A row of the paper's table, and the relative cost of Ritter's balls."""
    return {BALLS: Reported(*balls), RITTER: Reported(balls[0] * ritter), SLABS: Reported(*slabs), COVARIANCE: Reported(*boxes)}


TABLE_3 = {
    "Spheres-L1": table_3((8.0, 99_733, 10_585), (3.3, 21_412, 2_112), (4.9, 13_350, 1_135), 1.18),
    "Spheres-L2": table_3((16.4, 200_235, 20_776), (6.5, 42_295, 4_419), (9.2, 24_835, 2_240), 1.18),
    "Knots-L1": table_3((9.7, 68_543, 15_503), (1.8, 13_005, 63), (3.0, 8_731, 0), 1.02),
    "Knots-L2": table_3((12.5, 121_316, 31_703), (1.7, 14_189, 53), (2.4, 9_047, 0), 1.02),
    "Knots-L3": table_3((18.4, 175_479, 49_840), (1.8, 14_367, 33), (2.5, 9_365, 0), 1.02),
    "Quadrupeds": table_3((8.6, 93_193, 12_709), (5.8, 39_469, 4_773), (8.4, 23_200, 1_748), 1.12),
    "Hands": table_3((101.4, 1_028_875, 161_923), (62.1, 387_257, 53_083), (83.2, 239_346, 17_522), 1.10),
}
# Times of balls and of boxes relative to those of slab cut balls, in frames 244 to 256 (section 5).
CLOSE = {"Spheres-L1" + NEAR: (29.7, 1.7), "Spheres-L2" + NEAR: (38.6, 1.7)}
# Operations and comparisons of a test, minimum and maximum, rotation included (section 4); for balls the first exit of Table 1.
OPERATIONS = {"sphere": "28, 1", "slabcutball": "28 to 99, 1 to 13", "obb": "49 to 252, 1 to 15"}
SCALARS = {"sphere": 4, "aabb": 6, "slabcutball": 9, "obb": 15}  # section 1.1


def reported(part: str, name: str) -> Reported | None:
    """The paper's figures of a method; its boxes by covariance are compared with both kinds of boxes here."""
    return TABLE_3.get(part, {}).get(COVARIANCE if name == BOXES else name)


def ratio(part: str, name: str, what: str) -> float | None:
    """The ratio of a figure of the paper to that of balls."""
    if what == "ms" and part in CLOSE:
        balls, boxes = CLOSE[part]
        return {BALLS: 1.0, SLABS: 1 / balls, BOXES: boxes / balls, COVARIANCE: boxes / balls}.get(name)
    one, balls_ = reported(part, name), reported(part, BALLS)
    value, base = getattr(one, what, None), getattr(balls_, what, None)
    return value / base if value is not None and base else None


def value_of(run: Run, what: str) -> float | None:
    """The mean of all frames."""
    return mean(ms(run)) if what == "ms" else mean(run[what])


# --- Table 3 ---------------------------------------------------------------------------------------------------------------------


def tables_scene(runs: list[Run]) -> list[Table]:
    """Times and counts of every method on every BVH, a table for each kind of BVH."""
    return [made for tree in ON if (made := table_of(runs, tree)).rows]


def table_of(runs: list[Run], tree: str) -> Table:
    """Means of frames, their ratios to balls, and the paper's ratios and figures."""
    rows = []
    for part in parts(runs):
        for name in ON[tree]:
            run, balls = find(runs, part, tree, name), find(runs, part, tree, BALLS)
            if run is None:
                continue
            row = [part, name]
            for what in ("ms", "n_v"):
                row += [figure(value_of(run, what)), over(value_of(run, what), value_of(balls, what)) if balls else "–"]
                row += [figure(ratio(part, name, what), " ×")] if tree == PAPER else []
            row.append(figure(value_of(run, "n_p")))
            if tree == PAPER:
                said = reported(part, name)
                row += [figure(said.ms), figure(said.n_v), figure(said.n_p)] if said else ["–"] * 3
            rows.append(row)
    beside, figures = (["paper"], ["paper: ms", "n_v", "n_p"]) if tree == PAPER else ([], [])
    columns = ["scene", "volumes", "ms", "÷ balls", *beside, "n_v", "÷ balls", *beside, "n_p", *figures]
    return Table(f"{title_of(runs)}, {LABELS[tree]} trees", columns, rows, 2, note_of(runs, tree))


def title_of(runs: list[Run]) -> str:
    """Scenes and sizes."""
    sizes = dict.fromkeys(" and ".join(f"{faces:,}" for faces in dict.fromkeys(run["both"])) for run in runs)
    return f"{runs[0]['part'].split('-')[0]} of {'; '.join(sizes)} triangles"


def note_of(runs: list[Run], tree: str) -> str:
    """The note of a table."""
    played = "; ".join(f"{part}: {some['steps']} of 500, {figure(mean(some['pairs']))} pairs"
                       for part in parts(runs) for some in [next(run for run in runs if run["part"] == part)])  # fmt: skip
    said = " *Paper*: its ratios, and its figures, from another machine and, except for spheres, other shapes." if tree == PAPER else ""
    calls = figure(float(fixed(runs[0])[0]))
    return (f"Means of frames ({played}); {calls} ms of each are the fixed cost of calls. n_p counts pairs of triangles with overlapping "
            f"boxes: leaves test these first, whatever the volumes.{said}")  # fmt: skip


# --- volumes ---------------------------------------------------------------------------------------------------------------------


def tables_spheres(runs: list[Run]) -> list[Table]:
    """The scene, and the cost of volumes."""
    return [*tables_scene(runs), volumes(runs)]


def volumes(runs: list[Run]) -> Table:
    """Scalars, bytes, operations, and the nanoseconds of a test that are fitted to the runs."""
    rows = []
    for volume_type in dict.fromkeys(way["volume"] for way in WAYS.values()):
        some = [run for run in runs if run["options"]["volume"] == volume_type and "policy" not in run["options"]]
        if not some:
            continue
        size, counts = some[0]["node_bytes"], some[0]["operations"]
        tested = [str(counts[name][0]) + ", " + str(counts[name][1]) for name in ("carry", "overlap", "skew")]
        times = [figure(c_v([run for run in some if run["tree"] == tree])) for tree in (PAPER, PLIANT)]
        rows.append([some[0]["method"], str(SCALARS.get(volume_type, "–")), str(some[0]["scalars"]), figure(size["2"]), figure(size["8"]),
                     OPERATIONS.get(volume_type, "–"), *tested, *times])  # fmt: skip
    note = ("*Scalars* of a volume, *bytes* of a node: the volumes of its children and the one that encloses them; a binary node has four "
            "lanes, two of them in use. *Operations*: arithmetic, comparisons. The paper's are the minimum and the maximum of one test, "
            "with early exits, rotation included. Here the *transform* is computed once for a volume that is tested against several; "
            "*test* and, for volumes that pass it, *cross axes* are computed lane by lane without exits. *c_v*: nanoseconds of a test, "
            "fitted to all frames of all spheres, on the paper's trees and on Pliant's.")
    columns = ["volumes", "scalars, paper", "here", "bytes, binary", "8-ary", "operations, paper", "transform", "test", "cross axes",
               "c_v, paper trees", "Pliant trees"]  # fmt: skip
    return Table("Volumes", columns, rows, 1, note)


def c_v(runs: list[Run]) -> float | None:
    """Nanoseconds per test."""
    return cost([{**run, "method": str(k)} for k, run in enumerate(runs)]).c_v if runs else None


# --- knots -----------------------------------------------------------------------------------------------------------------------


def tables_knots(runs: list[Run]) -> list[Table]:
    """The scene, and the growth of counts with triangles."""
    rows, levels = [], parts(runs)
    for tree, names in ON.items():
        for name in names:
            some = [run for part in levels if (run := find(runs, part, tree, name))]
            if len(some) == len(levels):
                here = [growth([sum(run["both"]) for run in some], [value_of(run, what) for run in some]) for what in ("ms", "n_v")]
                said = [growth_said(levels, [sum(run["both"]) for run in some], name, what) for what in ("ms", "n_v")]
                rows.append([LABELS[tree], name, figure(here[0]), figure(said[0]), figure(here[1]), figure(said[1])])
    note = "Exponents e of n^e, n the triangles of both knots, fitted to all levels. 0: finer meshes cost nothing."
    columns = ["trees", "volumes", "ms", "paper", "n_v", "paper"]
    return [*tables_scene(runs), Table("Growth with triangles", columns, rows, 2, note)]


def growth_said(levels: list[str], faces: list[int], name: str, what: str) -> float | None:
    """The exponent of the paper's figures."""
    column: list[Any] = [getattr(reported(part, name), what, None) for part in levels]
    return growth(faces, column) if all(column) else None


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {
    "spheres": tables_spheres,
    "knots": tables_knots,
    "quadrupeds": tables_scene,
    "hands": tables_scene,
}
