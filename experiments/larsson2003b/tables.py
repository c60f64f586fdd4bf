"""Tables of paper C's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, sqrt

import numpy as np

from experiments.clock import Run
from experiments.figures import find, mean, ms, over, parts
from experiments.larsson2003b.runs import AUTO, BOTTOM_UP, HYBRID, LAZY, PICTURES, RAYS, STACKLESS, WIDE
from experiments.paper import HALF, LABELS, PAPER, TREES
from pliant.report.tables import Table, figure

# Seconds: bottom-up reconstruction, rays, both; hybrid the same; speed-up (Tables 7.1 and 7.2).
TABLE_71 = {
    ("average", "1x1"): (0.449, 8.249, 8.698, 0.026, 8.705, 8.730, 0.996),
    ("average", "5x5"): (0.449, 0.375, 0.825, 0.026, 0.527, 0.553, 1.492),
    ("average", "10x10"): (0.449, 0.100, 0.550, 0.026, 0.183, 0.209, 2.633),
    ("worst", "1x1"): (0.450, 15.940, 16.390, 0.026, 16.516, 16.542, 0.991),
    ("worst", "5x5"): (0.451, 0.711, 1.161, 0.026, 0.912, 0.938, 1.237),
    ("worst", "10x10"): (0.450, 0.188, 0.638, 0.025, 0.308, 0.333, 1.916),
    ("best", "1x1"): (0.450, 0.581, 1.031, 0.026, 0.604, 0.630, 1.636),
    ("best", "5x5"): (0.450, 0.035, 0.484, 0.026, 0.037, 0.063, 7.738),
    ("best", "10x10"): (0.448, 0.010, 0.458, 0.026, 0.012, 0.038, 12.042),
}
TABLE_72 = {
    ("average", "1x1"): (0.063, 32.1, 32.163, 0.016, 31.9, 31.916, 1.008),
    ("average", "5x5"): (0.063, 1.32, 1.383, 0.016, 1.40, 1.416, 0.977),
    ("average", "10x10"): (0.063, 0.335, 0.398, 0.016, 0.395, 0.411, 0.968),
}
CASES = ("average", "worst", "best")
COLUMNS = ["case", "sampling", "bottom-up: update, refit", "rays", "total", "hybrid: update, refit", "rays", "total", "speed-up"]
Known = Mapping[tuple[str, str], tuple[float, ...]]


def predicted(n: int, k: int) -> float:
    """The speed-up of the reconstruction by eq. 7.7, for n triangles and k children per node."""
    return (4 * n + (n - 1) / (k - 1)) / (n / 2 + sqrt(n) + (sqrt(n) - 1) / (k - 1))


def case_of(run: Run | None, case: str) -> tuple[float | None, float | None, float | None]:
    """Milliseconds of reconstruction, of rays, and of both: means, or those of the frame with the largest or the smallest sum."""
    if run is None:
        return None, None, None
    up, rays, total = np.array(run["update_ms"]), np.array(run["query_ms"]), ms(run)
    if case == "average":
        return float(up.mean()), float(rays.mean()), float(total.mean())
    k = int(total.argmax() if case == "worst" else total.argmin())
    return float(up[k]), float(rays[k]), float(total[k])


# --- Tables 7.1 and 7.2 ----------------------------------------------------------------------------------------------------------


def tables_71(runs: list[Run]) -> list[Table]:
    """Times, and what explains them."""
    return rendered(runs, TABLE_71, "Table 7.1")


def tables_72(runs: list[Run]) -> list[Table]:
    """The same for the triangle soup."""
    return rendered(runs, TABLE_72, "Table 7.2")


def rendered(runs: list[Run], known: Known, name: str) -> list[Table]:
    """The paper's table, the same on both kinds of BVH, the parts of the reconstruction, and counts."""
    shown = [tree for tree in TREES if any(run["tree"] == tree for run in runs)]
    theirs = [[*key, *(figure(value) for value in values[:-1]), figure(values[-1], " ×")] for key, values in known.items()]
    first = Table(f"{name}, the paper's figures in seconds: 1.5 GHz Pentium IV", COLUMNS, theirs, 2)
    return [first, *(times(runs, tree, known, name) for tree in shown), chosen(runs, name), reconstruction(runs, name), counts(runs, name)]


def times(runs: list[Run], tree: str, known: Known, name: str) -> Table:
    """Average, worst and best frames of all samplings."""
    rows = []
    for case in CASES:
        for part in parts(runs):
            one, other = (case_of(find(runs, part, tree, method), case) for method in (BOTTOM_UP, HYBRID))
            theirs = figure(known[case, part][-1], " ×") if (case, part) in known else ""
            rows.append([case, part, *map(figure, (*one, *other)), over(one[2], other[2]), theirs])
    some = next(run for run in runs if run["tree"] == tree)
    note = (f"Milliseconds a frame. *Update, refit*: `update` and reconstruction of {some['bodies']} moving "
            f"{'body' if some['bodies'] == 1 else 'bodies'} of {some['faces']:,} triangles; *rays*: all queries of a picture, with the "
            "refits that they cause, without shading. *Worst* and *best*: the frames with the largest and the smallest total, for each "
            "method its own.")  # fmt: skip
    return Table(f"{name}, trees of {LABELS[tree] if tree != PAPER else 'the paper'}: {some['steps']} of {some['of']} frames, "
                 "milliseconds", [*COLUMNS, "the paper's"], rows, 2, note)  # fmt: skip


def chosen(runs: list[Run], name: str) -> Table:
    """`auto` and hybrid updates of half of the levels, compared with both."""
    rows = []
    for tree in TREES:
        for method in (HALF, AUTO):
            for part in parts(runs):
                one, *others = (case_of(find(runs, part, tree, each), "average") for each in (method, BOTTOM_UP, HYBRID))
                rows.append([LABELS[tree], method, part, *map(figure, one), *(over(other[2], one[2]) for other in others)])
    columns = ["trees", "method", "sampling", "update, refit", "rays", "total", "bottom-up ÷ it", "hybrid ÷ it"]
    note = "Means of frames. *h/2*: the paper's half of the levels; elsewhere hybrid counts nodes to choose them."
    return Table(f"{name}: half of the levels, and auto, milliseconds", columns, rows, 3, note)


def reconstruction(runs: list[Run], name: str) -> Table:
    """`update` and refit separately, at the coarsest sampling: they do not depend on it."""
    rows, part = [], parts(runs)[-1]
    for tree in TREES:
        one, other = find(runs, part, tree, BOTTOM_UP), find(runs, part, tree, HYBRID)
        if one and other:
            refits = [mean(run["refit_ms"]) for run in (one, other)]
            ups = [mean(run["update_ms"]) for run in (one, other)]
            volumes = [figure(mean(run["volumes"])) for run in (one, other)]
            rows.append([LABELS[tree], figure(mean(one["take_ms"])), *map(figure, refits), over(*refits), over(*ups), *volumes])
    note = ("Means of frames at the coarsest sampling, milliseconds. *Update*: `update` validates vertices and writes them as float32, for "
            "all methods; *refit*: the work after it and before the first ray. *Volumes*: the number of volumes refitted there.")
    columns = ["trees", "update", "refit, bottom-up", "hybrid", "ratio", "with update", "volumes, bottom-up", "hybrid"]
    return Table(f"{name}: reconstruction", columns, rows, 1, note)


def counts(runs: list[Run], name: str) -> Table:
    """Rays, volumes tested, and the share of the BVHs that rays reached."""
    rows = []
    for run in runs:
        rays = np.array(run["cast_rays"]) + np.array(run["shadow_rays"])
        met = sum(run["n_v"]) / max(sum(run["cast_rays"]), 1)
        rows.append([run["part"], LABELS[run["tree"]], run["method"], figure(mean(rays)), figure(met),
                     figure(1e6 * sum(run["query_ms"]) / max(float(rays.sum()), 1)), percent(run["nodes_reached"]),
                     percent(run["leaves_reached"]), figure(float(np.median(run["shading_ms"])))])  # fmt: skip
    note = ("Means of frames. *n_v*: volumes that a primary or mirrored ray was tested against; shadow rays are not counted there. *Nodes* "
            "and *leaves*: the shares, in moving bodies, that were up to date at the end of a frame; leaves are filled only where rays "
            "reach them. *Shading*, in NumPy, is the same for all methods and in no other table; the median of frames, ms.")
    columns = ["sampling", "trees", "method", "rays", "n_v a ray", "ns a ray", "nodes", "leaves", "shading, ms"]
    return Table(f"{name}: work of the rays", columns, rows, 3, note)


def percent(shares: list[float]) -> str:
    """The mean of shares."""
    return f"{100 * float(np.mean(shares)):.1f} %"


# --- eq. 7.7 -----------------------------------------------------------------------------------------------------------------------


def tables_77(runs: list[Run]) -> list[Table]:
    """Predicted, counted and measured, for bodies in turn and for one."""
    return [ratios_77(runs, part) for part in parts(runs)]


def ratios_77(runs: list[Run], part: str) -> Table:
    """A row for each kind of BVH and each arity."""
    rows = []
    for tree in TREES:
        for arity in dict.fromkeys(run["arity"] for run in runs):
            same = [run for run in runs if run["arity"] == arity]
            one, other = find(same, part, tree, BOTTOM_UP), find(same, part, tree, HYBRID)
            if one and other:
                work = [sum(run["work"].values()) for run in (one, other)]
                refits = [mean(run["refit_ms"]) for run in (one, other)]
                each = [1e6 * float(np.mean(run["refit_ms"])) / run["bodies"] / sum(run["work"].values()) for run in (one, other)]
                rows.append([LABELS[tree], str(one["options"]["leaf"]), str(arity), figure(predicted(one["faces"], arity)), over(*work),
                             over(*refits), over(*(mean(run["update_ms"]) for run in (one, other))), *map(figure, refits),
                             *map(figure, each), figure(other["work"]["vertices"] / (one["faces"] / 2))])  # fmt: skip
    some = next(run for run in runs if run["part"] == part)
    note = (f"Means of {some['steps']} frames, no rays. *Eq. 7.7*: for n triangles, one a leaf. *Counted*: the same sum, vertices read and "
            "volumes refitted, in the actual trees. *Refit*: as measured, and *with update*. *ns*: per vertex or volume. "
            "*Sharing*: vertices that hybrid reads, over n / 2: those at the borders of patches are read several times.")
    columns = ["trees", "leaf", "k", "eq. 7.7", "counted", "refit", "with update", "ms, bottom-up", "hybrid",
               "ns, bottom-up", "hybrid", "sharing"]  # fmt: skip
    return Table(f"Eq. 7.7, bottom-up ÷ hybrid: {some['bodies']} × {some['faces']:,} triangles, {part}", columns, rows, 3, note)


# --- picks -------------------------------------------------------------------------------------------------------------------------


def tables_picks(runs: list[Run]) -> list[Table]:
    """Refitting everything before one ray, compared with refitting what the ray reaches."""
    rows = []
    for part in parts(runs):
        for tree in TREES:
            ahead, *others = (find(runs, part, tree, name) for name in (BOTTOM_UP, LAZY, HYBRID, AUTO))
            if ahead:
                all_of_them, rays = median(ahead["refit_ms"]), [median(run["query_ms"]) if run else None for run in others]
                rows.append([part, LABELS[tree], *map(figure, (median(ahead["take_ms"]), all_of_them, median(ahead["query_ms"]), *rays)),
                             *(over(all_of_them, each) for each in rays)])  # fmt: skip
    note = (f"Medians of {runs[0]['steps']} frames, milliseconds; `update` of all {runs[0]['bodies']} bodies is left out. *Refit of all*: "
            "bottom-up, before the ray; *ray*: alone, after that; the other rays include the refits that they cause.")
    columns = ["layout", "trees", "update", "refit of all", "ray", "ray, lazy", "hybrid", "auto", "refit of all ÷ ray, lazy", "hybrid",
               "auto"]  # fmt: skip
    return [Table(f"One ray a frame into {runs[0]['bodies']} × {runs[0]['faces']:,} triangles", columns, rows, 2, note)]


def median(values: list[float]) -> float:
    """The median."""
    return float(np.median(values))


# --- eq. 7.1 -----------------------------------------------------------------------------------------------------------------------

MANY = (1, 2, 8, 64, inf)  # processors


def total_with(run: Run, threads: float) -> float:
    """Milliseconds of a frame by eq. 7.1: rays are shared by so many processors, the reconstruction is not."""
    return float(np.mean(run["update_ms"]) + np.mean(run["query_ms"]) / threads)


def tables_71_threads(runs: list[Run]) -> list[Table]:
    """The measured gain of two threads, and the prediction of eq. 7.1 for more."""
    return [threads_71(runs), processors_71([run for run in runs if run["kind"] == RAYS])]


def threads_71(runs: list[Run]) -> Table:
    """One thread and two."""
    rows = []
    for run in (run for run in runs if run["threads"] == 1):
        key = (run["kind"], run["part"], run["method"])
        two = next((other for other in runs if other["threads"] == 2 and (other["kind"], other["part"], other["method"]) == key), None)
        measured = mean(ms(two)) if two else None
        rows.append([*key, figure(mean(run["update_ms"])), figure(mean(run["query_ms"])), figure(total_with(run, 1)),
                     figure(total_with(run, 2)) if run["kind"] == RAYS else "", figure(measured), over(total_with(run, 1), measured),
                     over(mean(run["query_ms"]), mean(two["query_ms"]) if two else None)])  # fmt: skip
    given = max((run["processors"] for run in runs), default=1)
    why = "" if given > 1 else " This run had one processor: two threads were not measured."
    clock = " of elapsed time" if given > 1 else ""
    note = (f"Means of {runs[0]['steps']} frames, milliseconds{clock}, Pliant's trees. *{PICTURES.capitalize()}*: with shading, which is "
            f"one thread in NumPy.{why}")  # fmt: skip
    columns = ["what", "sampling", "method", "update, refit", "rays", "1 thread", "2, by eq. 7.1", "2, measured", "gain", "gain of rays"]
    return Table("Eq. 7.1: one thread and two", columns, rows, 3, note)


def processors_71(runs: list[Run]) -> Table:
    """Bottom-up over hybrid on increasing numbers of processors, from the times of one."""
    rows = []
    for part in parts(runs):
        ways = {run["method"]: run for run in runs if run["part"] == part and run["threads"] == 1}
        if len(ways) == 2:
            rows.append([part, *(over(total_with(ways[BOTTOM_UP], c), total_with(ways[HYBRID], c)) for c in MANY)])
    columns = ["sampling", *(f"{c} processors" if c > 1 else "1" for c in MANY[:-1]), "the limit"]
    return Table("Eq. 7.1: total of bottom-up ÷ hybrid, from the times of one thread", columns, rows, 1)


# --- traversals --------------------------------------------------------------------------------------------------------------------


def tables_traversals(runs: list[Run]) -> list[Table]:
    """Volumes tested and time, of both."""
    rows = []
    for part in parts(runs):
        for tree in TREES:
            wide, other = find(runs, part, tree, WIDE), find(runs, part, tree, STACKLESS)
            if wide and other:
                rays, met = max(sum(wide["cast_rays"]), 1), [sum(run["n_v"]) for run in (wide, other)]
                rows.append([part, LABELS[tree], figure(mean(wide["cast_rays"])), *(figure(n_v / rays) for n_v in met),
                             over(met[1], met[0]), *(figure(mean(run["query_ms"])) for run in (wide, other)),
                             over(mean(other["query_ms"]), mean(wide["query_ms"])),
                             *(percent(run["nodes_reached"]) for run in (wide, other))])  # fmt: skip
    note = (f"Means of {runs[0]['steps']} frames; primary and mirrored rays, hybrid updates. *Wide* traces up to 64 rays at once where "
            "their directions agree, and counts a volume once for all of them. *Nodes*: the share that was up to date at "
            "the end of a frame.")
    columns = ["sampling", "trees", "rays", "n_v a ray, wide", "stackless", "ratio", "ms, wide", "stackless", "ratio",
               "nodes, wide", "stackless"]  # fmt: skip
    return [Table(f"Traversals: {runs[0]['bodies']} × {runs[0]['faces']:,} triangles", columns, rows, 2, note)]


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {"table-7.1": tables_71, "table-7.2": tables_72, "eq-7.7": tables_77,
                                                         "picks": tables_picks, "eq-7.1": tables_71_threads,
                                                         "traversals": tables_traversals}  # fmt: skip
