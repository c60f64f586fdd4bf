"""Tables of paper A's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.clock import COUNTERS, Run
from experiments.figures import bare, contact, find, growth, mean, ms, over, parts
from experiments.fits import cost
from experiments.larsson2001.runs import ABLATIONS, AUTO, BOTTOM_UP, FINE, HYBRID, MODEL_2, MODEL_8, SAME, TOP_DOWN
from experiments.paper import LABELS, PAPER, PLIANT, TREES
from pliant.report.tables import Table, figure

# faces per body: ms at the first contact, ms at the worst step, pairs of faces at the worst step (Table 5.1; Pentium III, 550 MHz)
TABLE_51 = {
    1_280: (2, 4, 138), 5_120: (6, 15, 562), 8_192: (8, 28, 1_010), 16_384: (15, 64, 2_422), 20_480: (20, 98, 3_760),
    32_768: (30, 151, 4_775), 65_536: (62, 334, 12_358),
}  # fmt: skip
FIG_54 = {"bumpy": 5.6, "arms": 4.5}  # times as fast as the method that the paper compares with
TREE_NOTE = ("The paper's trees are split at box centres down to one triangle a leaf; Pliant's use the surface area heuristic and leaves "
             "of eight. *Net* ratios exclude the fixed cost of calls.")


# --- Fig 5.3 ---------------------------------------------------------------------------------------------------------------------


def tables_53(runs: list[Run]) -> list[Table]:
    """Times and counts of every method, the paper's ratios, and the cost function."""
    fitted = costs(runs)
    return [*(methods_53(runs, part) for part in parts(runs)), ratios_53(runs), *([fitted] if fitted.rows else [])]


def methods_53(runs: list[Run], part: str) -> Table:
    """Means of the steps before and after the first contact."""
    at, rows = contact(runs, part), []
    some = [run for run in runs if run["part"] == part]
    for run in some:
        hybrid = find(runs, part, run["tree"], HYBRID)
        times = ms(run)
        shares = [figure(mean(times[:at])), figure(mean(times[at:])), figure(mean(times))]
        ratios = [over(mean(ms(run)), mean(ms(hybrid))), over(mean(bare(run)), mean(bare(hybrid)))] if hybrid else ["–", "–"]
        rows.append([LABELS[run["tree"]], run["method"], *shares, *ratios, *(figure(mean(run[name])) for name in COUNTERS)])
    what = "all pairs" if part == "all" else "the first pair"
    columns = ["trees", "method", "before contact, ms", "in contact, ms", "all steps, ms", "÷ hybrid", "net", *COUNTERS]
    copying, placing = figure(mean(some[0]["update_ms"])), figure(some[0]["place_ms"])
    note = (f"Means of steps: {at} before the first contact, {some[0]['steps'] - at} from it on. Each step includes {copying} ms to "
            f"validate and copy vertices; transforming them to world space, which model space avoids, would take {placing} ms more and is "
            f"not included. {TREE_NOTE}")
    return Table(f"Fig 5.3, {what}: two bodies of {some[0]['faces']:,} triangles, {some[0]['steps']} steps", columns, rows, 2, note)


def ratios_53(runs: list[Run]) -> Table:
    """The paper's claims, measured."""
    def ratio(part: str, one: str, other: str, take: Callable[[Run], float | None]) -> list[str]:
        found = [(find(runs, part, tree, one), find(runs, part, tree, other)) for tree in TREES]
        return [over(take(a), take(b)) if a and b else "–" for a, b in found]

    rows = []
    for part in parts(runs):
        at, what = contact(runs, part), "all pairs" if part == "all" else "first pair"
        spans: dict[str, Callable[[Run], float | None]] = {
            "all steps": lambda run: mean(ms(run)),
            "before contact": lambda run, at=at: mean(ms(run)[:at]),  # type: ignore[misc]
            "last quarter": lambda run: mean(ms(run)[3 * run["steps"] // 4 :]),
        }
        rows.append([f"{what}: {MODEL_2} ÷ hybrid", "about 5", *ratio(part, MODEL_2, HYBRID, spans["all steps"])])
        rows.append(["the same, net", "", *ratio(part, MODEL_2, HYBRID, lambda run: mean(bare(run)))])
        placing = ratio(part, MODEL_2, HYBRID, lambda run: mean(bare(run) + (0 if run["placed"] else run["place_ms"])))
        rows.append(["the same, net, transform to world space included", "", *placing])
        rows.append([f"{what}: {MODEL_2} ÷ 8-ary, net", "1.1 to 1.2", *ratio(part, MODEL_2, MODEL_8, lambda run: mean(bare(run)))])
        for name in (TOP_DOWN, BOTTOM_UP):
            for span in ("before contact", "last quarter"):
                rows.append([f"{what}: {name} ÷ hybrid, {span}", "above 1", *ratio(part, name, HYBRID, spans[span])])
        rows.append([f"{what}: auto ÷ hybrid", "", *ratio(part, AUTO, HYBRID, spans["all steps"])])
    return Table("Fig 5.3: the paper's ratios", ["", "paper", "paper's trees", "Pliant's trees"], rows)


def costs(runs: list[Run]) -> Table:
    """c_v, c_p and c_u of all pairs: methods in world space share c_v and c_p, those in model space have their own."""
    rows = []
    for tree in TREES:
        for names in ((HYBRID, TOP_DOWN, BOTTOM_UP), (MODEL_2,), (MODEL_8,)):
            some = [run for name in names if (run := find(runs, "all", tree, name))]
            if not some:
                continue
            fit = cost(some)
            c_u = ", ".join(f"{figure(value)} {name}" for name, value in fit.c_u.items()) if len(some) > 1 else figure(fit.c_u[names[0]])
            where = names[0] if len(names) == 1 else "world space"
            rows.append([LABELS[tree], where, figure(fit.c_v), figure(fit.c_p), c_u, f"{fit.r2:.3f}"])
    note = ("Least squares over all steps, no constant below 0, of net query times with the refits in them. In world space three methods "
            "share c_v and c_p, and each has a c_u of its own. n_v and n_p grow together: their sum is better determined than either.")
    columns = ["trees", "volumes", "c_v, ns", "c_p, ns", "c_u, ns", "R²"]
    return Table("The cost function t = n_v c_v + n_p c_p + n_u c_u, all pairs", columns, rows, 2, note)


# --- Table 5.1 -------------------------------------------------------------------------------------------------------------------


def tables_51(runs: list[Run]) -> list[Table]:
    """A row for each size, and exponents."""
    tables = []
    for part in (FINE, SAME):
        rows, shown = [], [name for name in HEADINGS_51 if part == FINE or not name.startswith("p ")]
        columns: dict[str, list[Any]] = {name: [] for name in HEADINGS_51}
        for run in (run for run in runs if run["part"] == part and run["method"] == HYBRID):
            same = [other for other in runs if other["part"] == part and other["faces"] == run["faces"]]
            values = {name: None for name in columns} | sizes_51(run, "") | sizes_51(find(same, part, PLIANT, AUTO), "a ")
            values |= dict(zip(("p first", "p worst", "p pairs"), TABLE_51.get(run["faces"], ()), strict=False))
            for name, column in columns.items():
                column.append(values[name])
            rows.append([f"{run['faces']:,}", *(figure(values[name]) for name in shown[1:])])
        if rows:
            faces = columns["faces"]
            rows.append(["exponent", *(figure(growth(faces, columns[name])) for name in shown[1:])])
            tables.append(Table(f"Table 5.1, {part}", [HEADINGS_51[name] for name in shown], rows, 1, NOTES_51[part]))
    return tables


HEADINGS_51 = {
    "faces": "faces per body", "p first": "paper: first, ms", "p worst": "worst, ms", "p pairs": "pairs",
    "first": "hybrid, paper's trees: first, ms", "worst": "worst, ms", "pairs": "pairs",
    "a first": "auto, Pliant's trees: first, ms", "a worst": "worst, ms",
}  # fmt: skip
NOTES_51 = {
    FINE: "Bumps are as fine as the mesh, so that pairs grow as in the paper. *First*: the step of the first contact. Pairs are those of "
          "the last step. *Exponent*: e, where a column grows as faces^e.",
    SAME: "Bumps are those of 20,480 faces at every size: the bodies stay the same, and only their meshes become finer.",
}


def sizes_51(run: Run | None, prefix: str) -> dict[str, Any]:
    """First contact and worst step of one size, ms."""
    if run is None:
        return {}
    times, at = ms(run), next((k for k, found in enumerate(run["pairs"]) if found), None)
    first = None if at is None else float(times[at])
    return {"faces": run["faces"], f"{prefix}first": first, f"{prefix}worst": float(times.max()), f"{prefix}pairs": run["pairs"][-1]}


# --- Fig 5.4 ---------------------------------------------------------------------------------------------------------------------


def tables_54(runs: list[Run]) -> list[Table]:
    """Both kinds of bodies."""
    tables = []
    for part in parts(runs):
        some, rows = [run for run in runs if run["part"] == part], []
        for run in some:
            hybrid = find(runs, part, run["tree"], HYBRID)
            paper = f"{FIG_54[part]} ×" if run["method"] == MODEL_2 and run["tree"] == PAPER else ""
            ratios = [over(mean(ms(run)), mean(ms(hybrid))), over(mean(bare(run)), mean(bare(hybrid)))] if hybrid else ["–", "–"]
            rows.append([LABELS[run["tree"]], run["method"], figure(mean(ms(run))), figure(float(ms(run).max())), *ratios, paper,
                         figure(mean(run["bodies_tested"])), *(figure(mean(run[name])) for name in COUNTERS)])
        met, pairs, copying = (figure(mean(some[0][name])) for name in ("bodies_met", "pairs", "update_ms"))
        note = (f"Of {some[0]['steps']} steps; *tested*: pairs of bodies with overlapping boxes; {met} of them intersect, in {pairs} pairs "
                f"of faces. Validating and copying vertices takes {copying} ms of each step; transforming them to world space, not "
                f"included, {figure(some[0]['place_ms'])} ms.")
        columns = ["trees", "method", "mean, ms", "worst, ms", "÷ hybrid", "net", "paper", "tested", *COUNTERS]
        title = f"Fig 5.4, {part}: {some[0]['bodies']} bodies of {some[0]['faces']:,} triangles"
        tables.append(Table(title, columns, rows, 2, note))
    return tables


# --- ablations -------------------------------------------------------------------------------------------------------------------

ASKS = {
    "arity": "How many children? The paper: eight, slightly better than two or four.",
    "builder": "Which builder? The paper: centre and mean alike, connectivity 0 to 10 % quicker.",
    "leaf": "How many triangles in a leaf? The paper: one.",
    "below": "What is refitted when a query reaches a stale node? The paper: that node alone.",
    "depth": "How many levels are updated bottom-up before a query? The paper: half of them. None is top-down, all is bottom-up.",
}


def tables_ablations(runs: list[Run]) -> list[Table]:
    """One table per option; both kinds of BVH side by side."""
    tables = []
    for part in ABLATIONS:
        names = list(dict.fromkeys(run["method"] for run in runs if run["part"] == part))
        rows = []
        for name in names:
            row = [name]
            for tree in TREES:
                run = find(runs, part, tree, name)
                row += [figure(float(ms(run).sum())), *(figure(float(sum(run[n]))) for n in COUNTERS)] if run else ["–"] * 4
            rows.append(row)
        columns = [part, *(f"{LABELS[tree]}: ms" if name == "ms" else name for tree in TREES for name in ("ms", *COUNTERS))]
        if rows:
            levels = {run["tree"]: run["levels"] for run in runs if run["part"] == part}
            note = f" Of {' and '.join(map(str, levels.values()))} levels." if part == "depth" else ""
            tables.append(Table(f"Ablation: {part}", columns, rows, 1, f"{ASKS[part]}{note} Sums over all steps."))
    return tables


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {
    "fig-5.3": tables_53, "table-5.1": tables_51, "fig-5.4": tables_54, "ablations": tables_ablations,
}  # fmt: skip
