"""Tables of paper B's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.clock import COUNTERS, Run
from experiments.figures import bare, find, growth, mean, ms, over, parts
from experiments.larsson2001.scenes import Rows
from experiments.larsson2003a.runs import GENERAL, HYBRID, METHODS, MORPH, OTHER_AXES, TWO, VARIANTS
from experiments.paper import HALF, LABELS, TREES
from pliant.report.tables import Table, figure

DEEP = (90 / 400, 270 / 400)  # the two bodies penetrate deeply between these shares of all steps (6.4)
FIG_68 = {"all": "1.5 to 9", "first": "2 to 58"}  # times as fast as hybrid updates of half of the levels
SAVED = {TWO: {"without stamps": "15 %", "1 between": "5 %, up to 40 %"}, "swimmers": {"without stamps": "10 %"}}
WHAT = {"all": "all pairs", "first": "the first pair"}
WINDOW = 20  # steps over which times are averaged before they are compared
JOB = ("*End to end* includes making the input from weights and transforms: blended vertices, and for *world* transformed ones. *Net* "
       "ratios exclude the fixed cost of calls.")


def whole(run: Run) -> Rows:
    """Milliseconds of each step, from weights and poses to pairs."""
    more = 0.0 if run["kind"] == "weights" else run["blend_ms"] + (run["place_ms"] if run["kind"] == "world" else 0.0)
    total: Rows = ms(run) + more
    return total


def ratios(run: Run, morph: Run | None, steps: Any = slice(None)) -> list[str]:
    """Ratios to `morph`: as measured, net, and end to end."""
    if morph is None:
        return ["–"] * 3
    return [over(mean(take(run)[steps]), mean(take(morph)[steps])) for take in (ms, bare, whole)]


# --- Fig 6.5 ---------------------------------------------------------------------------------------------------------------------


def tables_65(runs: list[Run]) -> list[Table]:
    """Times and counts of every method, all pairs and the first."""
    return [methods_65(runs, part) for part in parts(runs)]


def methods_65(runs: list[Run], part: str) -> Table:
    """Means of easy steps, of deep ones and of all."""
    rows, some = [], [run for run in runs if run["part"] == part]
    for run in some:
        deep, times, morph = deep_steps(run["steps"]), ms(run), find(runs, part, run["tree"], MORPH)
        easy_ratio = over(mean(times[~deep]), mean(ms(morph)[~deep])) if morph else "–"
        deep_ratio = over(mean(times[deep]), mean(ms(morph)[deep])) if morph else "–"
        rows.append([LABELS[run["tree"]], run["method"], figure(mean(times[~deep])), easy_ratio, figure(mean(times[deep])), deep_ratio,
                     figure(mean(times)), *ratios(run, morph), *(figure(mean(run[name])) for name in COUNTERS)])  # fmt: skip
    touch = [k for k, found in enumerate(some[0]["pairs"]) if found]
    span = f"{touch[0]} to {touch[-1]}" if touch else "none"
    note = (f"*Deep*: 45 % of all steps, those in which the paper's bodies penetrate deeply; *easy*: the others. Bodies intersect in "
            f"steps {span}; at most {max(some[0]['pairs']):,} pairs are reported. Blending takes "
            f"{figure(some[0]['blend_ms'])} ms a step, transforming {figure(some[0]['place_ms'])} ms. {JOB}")  # fmt: skip
    columns = ["trees", "method", "easy, ms", "÷ morph", "deep, ms", "÷ morph", "all steps, ms", "÷ morph", "net", "end to end", *COUNTERS]
    return Table(f"Fig 6.5, {WHAT[part]}: two bodies of {some[0]['faces']:,} triangles, {some[0]['steps']} steps", columns, rows, 2, note)


def deep_steps(steps: int) -> Any:
    """(steps,) bool."""
    at = (np.arange(steps) + 0.5) / steps
    return (at >= DEEP[0]) & (at < DEEP[1])


# --- Fig 6.8 ---------------------------------------------------------------------------------------------------------------------


def tables_68(runs: list[Run]) -> list[Table]:
    """Times by triangles, all pairs and the first, on both kinds of BVH; then the memory of a body."""
    return [*(sizes_68(runs, part, tree) for part in parts(runs) for tree in TREES), memory_68(runs)]


def sizes_68(runs: list[Run], part: str, tree: str) -> Table:
    """A row for each size, and exponents."""
    some = [run for run in runs if (run["part"], run["tree"]) == (part, tree)]
    names = [name for name in METHODS if any(run["method"] == name for run in some)]
    sizes, rows = list(dict.fromkeys(run["faces"] for run in some)), []
    columns: dict[str, list[float | None]] = {name: [] for name in (*names, "pairs")}
    for faces in sizes:
        same = {run["method"]: run for run in some if run["faces"] == faces}
        morph, half = same.get(MORPH), same.get(HALF)
        best = min((same[name] for name in GENERAL if name in same), key=lambda run: ms(run).mean(), default=None)
        for name in names:
            columns[name].append(mean(ms(same[name])) if name in same else None)
        one = next(iter(same.values()))
        columns["pairs"].append(mean(one["pairs"]))
        met = (figure(mean(one[name])) for name in ("bodies_tested", "bodies_met", "pairs"))
        rows.append([f"{faces:,}", *(figure(columns[name][-1]) for name in names), ratios(half, morph)[0] if half else "–",
                     *(ratios(best, morph) if best else ["–"] * 3), *met])  # fmt: skip
    every = (*names, *[""] * 6, "pairs")
    rows.append(["exponent", *(figure(growth(sizes, columns[name])) if name else "" for name in every)])
    if len(sizes) > 1:
        rows.append([f"{sizes[-2]:,} to {sizes[-1]:,}", *(over(columns[name][-1], columns[name][-2]) if name else "" for name in every)])
    note = (f"Means of {some[0]['steps']} steps, ms. The paper: hybrid updates of half of the levels (*h/2*) take {FIG_68[part]} times "
            "as long as morph, more for larger bodies. *Best*: the fastest of the general methods for that size, all but *morph* and "
            f"*world*. *Tested*: pairs of bodies with overlapping boxes (boxes of morphing bodies are looser). {JOB}")
    titles = ["triangles", *(f"{name}, ms" for name in names), "h/2 ÷ morph", "best ÷ morph", "net", "end to end", "tested",
              "intersecting", "pairs"]  # fmt: skip
    return Table(f"Fig 6.8, {WHAT[part]}, {LABELS[tree]} trees: {some[0]['bodies']} swimmers", titles, rows, 1, note)


def memory_68(runs: list[Run]) -> Table:
    """Memory of the largest body."""
    most, rows = max(run["faces"] for run in runs), []
    for tree in TREES:
        for name in (MORPH, HYBRID):
            run = next((run for run in runs if (run["faces"], run["tree"], run["method"]) == (most, tree, name)), None)
            if run is not None:
                size = run["bytes"]
                total = sum(size[part] for part in ("nodes", "kept", "leaves", "links", "vertices"))
                each = [size[part] / size["n_nodes"] for part in ("nodes", "kept")]
                rows.append([LABELS[tree], name, figure(size["n_nodes"]), *map(figure, each), figure(sum(each)), figure(total / most)])
    note = ("*Node record*: a node with its volumes of this frame; *policy data*: reference volumes, or the vertex lists that hybrid "
            "updates read. *Bytes a triangle*: everything, with leaves, topology, lists and vertices, targets included.")
    columns = ["trees", "method", "nodes", "node record, bytes", "policy data", "sum", "bytes a triangle"]
    return Table(f"Memory of a body of {most:,} triangles, three targets", columns, rows, 2, note)


# --- savings ---------------------------------------------------------------------------------------------------------------------


def tables_savings(runs: list[Run]) -> list[Table]:
    """One table per scene; both kinds of BVH side by side."""
    tables = []
    for part in parts(runs):
        rows = []
        for name in (MORPH, *VARIANTS, OTHER_AXES):
            row = [name, SAVED.get(part, {}).get(name, "")]
            for tree in TREES:
                run, morph = find(runs, part, tree, name), find(runs, part, tree, MORPH)
                row += against(run, morph) if run and morph else ["–"] * 6
            rows.append(row)
        columns = ["morph", "paper", *(f"{LABELS[tree]}: ms" if name == "ms" else name
                                       for tree in TREES for name in ("ms", "÷ morph", "min", "n_v", "min", "n_u"))]  # fmt: skip
        some = next(run for run in runs if run["part"] == part)
        note = ("Means of steps, all pairs. *Min*: the smallest ratio of the times of any 20 consecutive steps, and of the n_v of any "
                "step. *Paper*: the savings by stamps and by an in-between volume. Boxes are tested along six axes on the paper's "
                "trees and fifteen on Pliant's; *other axes* exchanges the two.")
        tables.append(Table(f"Savings, {part}: {some['bodies']} of {some['faces']:,} triangles", columns, rows, 2, note))
    return tables


def against(run: Run, morph: Run) -> list[str]:
    """Mean, ratio to `morph`, and its minimum; the same for n_v; n_u."""
    def smooth(times: Rows) -> Rows:
        return np.convolve(times, np.ones(min(WINDOW, len(times))), "valid")

    least = float((smooth(ms(run)) / smooth(ms(morph))).min())
    fewest = min((a / b for a, b in zip(run["n_v"], morph["n_v"], strict=True) if b), default=None)
    counts = [figure(mean(run["n_v"])), figure(fewest, " ×"), figure(mean(run["n_u"]))]
    return [figure(mean(ms(run))), over(mean(ms(run)), mean(ms(morph))), figure(least, " ×"), *counts]


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {"fig-6.5": tables_65, "fig-6.8": tables_68, "savings": tables_savings}
