"""Tables of paper M's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from experiments.clock import Run
from experiments.figures import mean, ms, over, parts
from experiments.paper import LABELS, PAPER
from experiments.steinemann2008.runs import AUTO, BOTTOM_UP, FRONT, OUR_BOUND, PAPERS_BOUND, TURNED
from experiments.steinemann2008.tightness import OPTIMAL, UPDATE
from pliant.report.tables import Table, figure

# The paper's figures. Table 1: µs by vertices, for 65, 225 and 509 nodes and for the smallest box.
TABLE_1 = {3_500: (15.0, 35.0, 90.0, 2_000.0), 30_000: (18.0, 48.0, 100.0, 17_200.0), 145_000: (18.0, 46.0, 100.0, 82_500.0)}
PAPER_NODES = (65, 225, 509)


class Said(NamedTuple):
    """A row of Tables 3 and 4: milliseconds of refitting and of the query."""

    refit: float
    query: float

    @property
    def total(self) -> float:
        """The sum of both."""
        return self.refit + self.query


HASHING = "spatial hashing"
SETTINGS: dict[str, dict[str, Said]] = {
    BOTTOM_UP: {"1": Said(37.1, 2.12), "2": Said(37.1, 2.12), "3": Said(575.7, 5.89), "4": Said(575.7, 5.89), "5": Said(37.9, 2.48),
                "6": Said(37.9, 2.48), "7": Said(569.7, 8.84), "8": Said(569.7, 8.84), "fish": Said(401.7, 16.6)},
    HASHING: {"1": Said(28.29, 41.63), "2": Said(28.29, 41.63), "3": Said(479.6, 1264.5), "4": Said(479.6, 1264.5),
              "5": Said(28.91, 44.32), "6": Said(28.91, 44.32), "7": Said(484.2, 1430.5), "8": Said(484.2, 1430.5)},
    FRONT: {"1": Said(1.83, 5.72), "2": Said(2.36, 5.60), "3": Said(4.54, 16.6), "4": Said(5.77, 18.7), "5": Said(3.38, 10.0),
            "6": Said(3.26, 9.28), "7": Said(6.87, 24.5), "8": Said(8.23, 29.3), "fish": Said(5.3, 26.3)},
    TURNED: {"1": Said(2.82, 7.82), "2": Said(4.05, 8.48), "3": Said(6.85, 21.89), "4": Said(8.48, 25.37), "5": Said(3.89, 10.27),
             "6": Said(5.41, 13.00), "7": Said(7.91, 26.98), "8": Said(11.39, 38.6)},
}  # fmt: skip


# --- Table 1 ---------------------------------------------------------------------------------------------------------------------


def tables_1(runs: list[Run]) -> list[Table]:
    """Microseconds of a root by vertices and nodes, and their growth."""
    vertices, nodes = (list(dict.fromkeys(run[name] for run in runs)) for name in ("asked", "nodes"))
    found = {(run["method"], run["asked"], run["nodes"]): float(np.mean(run["us"])) for run in runs}
    rows = []
    for method in dict.fromkeys(run["method"] for run in runs):
        for asked in vertices:
            times = [found.get((method, asked, count)) for count in nodes]
            rows.append([method, f"{asked:,}", *(figure(said(method, asked, count)) for count in nodes), *map(figure, times),
                         over(times[-1], times[0])])  # fmt: skip
    flat = {method: [over(found.get((method, vertices[-1], count)), found.get((method, vertices[0], count))) for count in nodes]
            for method in (PAPERS_BOUND, OUR_BOUND, UPDATE, OPTIMAL)}  # fmt: skip
    note = (f"Microseconds, means of {runs[0]['steps']} frames. Bounds by name: node 0 of the paper's trees, both lanes at once, in the "
            f"library; *{UPDATE}*: a whole `update`, which bounds the whole body; *{OPTIMAL}*: all vertices deformed, and the "
            f"box around them. From {vertices[0]:,} to {vertices[-1]:,} vertices, by nodes: "
            + "; ".join(f"*{method}* {', '.join(column)}" for method, column in flat.items()) + ".")  # fmt: skip
    columns = ["root", "vertices", *(f"paper: {count}" for count in nodes), *(f"{count} nodes" for count in nodes),
               f"{nodes[-1]} ÷ {nodes[0]}"]  # fmt: skip
    return [Table("Microseconds for one root", columns, rows, 1, note)]


def said(method: str, vertices: int, nodes: int) -> float | None:
    """The paper's figures of a row."""
    row = TABLE_1.get(vertices)
    if row is None or nodes not in PAPER_NODES:
        return None
    return row[PAPER_NODES.index(nodes)] if method == PAPERS_BOUND else row[3] if method == OPTIMAL else None


# --- Fig 5 -----------------------------------------------------------------------------------------------------------------------


def tables_5(runs: list[Run]) -> list[Table]:
    """Ratios of radii: at the root, and level by level."""
    return [roots(runs), *(levels(runs, nodes) for nodes in dict.fromkeys(run["nodes"] for run in runs))]


def roots(runs: list[Run]) -> Table:
    """The root alone, of which the paper has figures."""
    counts, rows = list(dict.fromkeys(run["nodes"] for run in runs)), []
    found = {(run["method"], run["nodes"]): run for run in runs}
    for method in dict.fromkeys(run["method"] for run in runs):
        row = [method]
        for count in counts:
            run, ours = found.get((method, count)), found.get((OUR_BOUND, count))
            root = run["root"] if run else []
            row += [figure(mean(root)), figure(max(root, default=None)), over(mean(root), mean(ours["root"]) if ours else None)]
        rows.append(row)
    note = (f"Radius of the root's volume relative to that of the smallest box, mean and largest of {runs[0]['steps']} frames; *÷ "
            f"default*: the mean relative to that of {OUR_BOUND}. The paper has 1.5 and 2.5 for {PAPERS_BOUND}, and up to 68 times as much "
            "for spheres by summed deformations. The roots of the library are merged from two children, others bound all vertices at "
            "once.")  # fmt: skip
    columns = ["bound", *(f"{count} nodes: {what}" for count in counts for what in ("mean", "largest", "÷ default"))]
    return Table(f"Roots of {runs[0]['vertices']:,} vertices", columns, rows, 1, note)


def levels(runs: list[Run], nodes: int) -> Table:
    """Every third level."""
    mine = [run for run in runs if run["nodes"] == nodes]
    shown = range(0, len(mine[0]["mean"]), 3)
    rows = [[run["method"], *(f"{figure(run['mean'][level])}, {figure(run['largest'][level])}" for level in shown)] for run in mine]
    note = "Radii relative to those of the smallest boxes, mean and largest of all volumes of a level in all frames; 0 is the root."
    return Table(f"Volumes by level, {nodes} nodes", ["bound", *(f"level {level}" for level in shown)], rows, 1, note)


# --- Tables 3 and 4, and fish ----------------------------------------------------------------------------------------------------


def named(run: Run) -> str:
    """A method, and whether bodies are queried by hand."""
    return str(run["method"]) + (", pair by pair" if run["by_hand"] else "")


def on(tree: str) -> str:
    """The label of a BVH."""
    return str(LABELS.get(tree, tree))


def base_of(mine: list[Run], tree: str) -> float | None:
    """Milliseconds of bottom-up on the same BVHs, or, without BVHs, on Pliant's, which are faster."""
    found = [run for run in mine if run["method"] == BOTTOM_UP and not run["by_hand"]]
    same = [run for run in found if run["tree"] == tree] or found[-1:]
    return mean(ms(same[0])) if same else None


def tables_4(runs: list[Run]) -> list[Table]:
    """A table for each setting, and all gains in one."""
    return [gains(runs), *(setting(runs, part) for part in parts(runs))]


def gains(runs: list[Run]) -> Table:
    """Speed-ups over bottom-up on the same BVHs."""
    rows = []
    for tree, name in dict.fromkeys((run["tree"], named(run)) for run in runs):
        mine = {run["part"]: run for run in runs if (run["tree"], named(run)) == (tree, name)}
        cells = []
        for part in parts(runs):
            some = [run for run in runs if run["part"] == part]
            cells.append(over(base_of(some, tree), mean(ms(mine[part]))) if part in mine else "–")
        paper = [gain_said(name, part) if tree in (PAPER, "–") else "–" for part in parts(runs)]
        rows.append([name, on(tree), *(f"{cell} ({theirs})" if theirs != "–" else cell
                                                    for cell, theirs in zip(cells, paper, strict=True))])  # fmt: skip
    last = []
    for part in parts(runs):
        some = [run for run in runs if run["part"] == part]
        best = [mean(ms(run)) for run in some if run["method"] == AUTO and not run["by_hand"]]
        last.append(over(base_of(some, PAPER), best[0] if best else None))
    rows.append([AUTO, "Pliant, over the paper's trees", *last])
    note = ("Speed-ups over bottom-up on the same trees, and in the last row over bottom-up on the paper's, updates and "
            "queries; in brackets those of the paper.")  # fmt: skip
    return Table("Gains over bottom-up", ["method", "trees", *(heading(runs, part) for part in parts(runs))], rows, 2, note)


def gain_said(name: str, part: str) -> str:
    """The paper's speed-up."""
    mine, base = SETTINGS.get(name, {}).get(part), SETTINGS[BOTTOM_UP].get(part)
    return over(base.total, mine.total) if mine and base else "–"


def heading(runs: list[Run], part: str) -> str:
    """The name of a setting."""
    run = next(run for run in runs if run["part"] == part)
    return f"{part}: {run['vertices']:,} × {run['nodes']}" + (f", {run['contacts']}" if part.isdigit() else "")


def setting(runs: list[Run], part: str) -> Table:
    """Milliseconds and counts of one setting."""
    mine, rows = [run for run in runs if run["part"] == part], []
    for run in mine:
        theirs = SETTINGS.get(run["method"], {}).get(part) if run["tree"] in (PAPER, "–") else None
        paper = [figure(theirs.refit), figure(theirs.query)] if theirs else ["–", "–"]
        rows.append([named(run), on(run["tree"]), *paper, figure(mean(run["update_ms"])),
                     figure(mean(run["query_ms"])), figure(mean(ms(run))), over(base_of(mine, run["tree"]), mean(ms(run))),
                     figure(mean(run["n_v"])), figure(mean(run["n_u"]))])  # fmt: skip
    one = mine[0]
    contacts = f"{one['contacts']} contacts, " if "contacts" in one else ""
    note = (f"Means of {one['steps']} frames in milliseconds, and counts: {one['bodies']} bodies of {one['vertices']:,} vertices, "
            f"{one['nodes']} nodes, {figure(one['influences'])} a vertex; {contacts}{figure(mean(one['pairs']))} pairs between "
            f"{figure(mean(one['met']))} pairs of bodies on average; {figure(one['calls_ms'])} ms of each frame are the fixed cost of "
            "calls. *Paper*: its milliseconds of refits and queries, from another machine and other shapes. Here volumes are refitted in "
            "the query, with all methods.")  # fmt: skip
    columns = ["method", "trees", "paper: refit", "query", "update", "query", "sum", "gain", "n_v", "n_u"]
    return Table(f"Setting {part}" if part.isdigit() else part.capitalize(), columns, rows, 2, note)


def tables_fish(runs: list[Run]) -> list[Table]:
    """The shoal."""
    return [setting(runs, part) for part in parts(runs)]


# --- the radius ------------------------------------------------------------------------------------------------------------------


def tables_radius(runs: list[Run]) -> list[Table]:
    """Milliseconds and refitted volumes by nodes per vertex."""
    asked, rows = list(dict.fromkeys(run["asked"] for run in runs)), []
    for tree, name in dict.fromkeys((run["tree"], named(run)) for run in runs):
        mine = {run["asked"]: run for run in runs if (run["tree"], named(run)) == (tree, name)}
        some = [mine[count] for count in asked if count in mine]
        bases = [base_of([run for run in runs if run["asked"] == one["asked"]], tree) for one in some]
        rows.append([name, on(tree), *(figure(mean(ms(one))) for one in some),
                     *(over(base, mean(ms(one))) for base, one in zip(bases, some, strict=True)),
                     *(figure(mean(one["n_u"])) for one in some)])  # fmt: skip
    one = runs[0]
    real = ", ".join(figure(next(run["influences"] for run in runs if run["asked"] == count)) for count in asked)
    note = (f"Means of {one['steps']} frames, {one['bodies']} bodies of {one['vertices']:,} vertices and {one['nodes']} nodes, of which a "
            f"vertex has {real}; *gain*: over bottom-up on the same trees.")  # fmt: skip
    columns = ["method", "trees", *(f"{what}, {count}" for what in ("ms", "gain", "n_u") for count in asked)]
    return [Table("By nodes per vertex", columns, rows, 2, note)]


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {
    "table-1": tables_1,
    "fig-5": tables_5,
    "table-4": tables_4,
    "fish": tables_fish,
    "radius": tables_radius,
}
