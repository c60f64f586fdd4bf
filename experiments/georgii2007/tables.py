"""Tables of paper G's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from experiments.clock import Run
from experiments.figures import mean, ms, over, parts
from experiments.georgii2007.clock import IMAGE
from experiments.georgii2007.runs import EXACT, PASSES, REBUILD, RESOLUTION, SAMPLED, SMALLER
from pliant.report.tables import Table, figure


class Said(NamedTuple):
    """A row of Table 1 (Georgii, Krüger and Westermann 2007, NVIDIA 7800 GTX, 1K × 1K): counts, and milliseconds of the passes on the GPU,
    of packing and getting the result, and of testing on the CPU."""

    name: str
    triangles: int
    rays: int
    packed: int
    met: int
    tests: int
    pairs: int
    gpu: float
    reduce: float
    cpu: float

    @property
    def total(self) -> float:
        """The paper's total."""
        return self.gpu + self.reduce + self.cpu


# By the scenes here. In the paper's print of the last row, rays and met may be exchanged: they are nearly equal.
TABLE_1 = {
    "soft rabbits": Said("defo bunnies", 12_000, 200, 400, 200, 400, 100, 3, 1, 1),
    "soft horses": Said("defo horses", 32_000, 21_000, 13_000, 4_300, 9_000, 3_700, 5, 4, 24),
    "creatures": Said("art. creatures", 320_000, 300, 1_000, 400, 1_500, 200, 17, 6, 1),
    "rigid rabbits": Said("rigid bunnies", 500_000, 2_800, 12_000, 4_400, 7_700, 1_500, 56, 18, 21),
    "dragons": Said("dragon", 800_000, 7_500, 54_000, 7_700, 6_600, 1_500, 53, 139, 32),
}
# The paper's figures of the cloth of 2K triangles (section 8.2): maximum tests and pairs, and milliseconds, mean and maximum.
CLOTH = {"tests": 2_000, "pairs": 300, "mean": 5.0, "most": 12.0}
COLUMNS = ("rays", "packed", "met", "tests", "pairs")
PASS_NAMES = ("sample", "merge", "separate", "pack", "test")
NOTHING = "–"


def made(run: Run) -> bool:
    """Was it run?"""
    return bool(run["steps"])


def average(run: Run, name: str) -> float | None:
    """The mean of all frames."""
    return mean(run.get(name, []))


def share(run: Run, name: str = "missed") -> float | None:
    """Missed pairs, counted or estimated, as a share of all pairs."""
    there = sum(run["exact"])
    return sum(run[name]) / there if there and name in run else None


def percent(value: float | None) -> str:
    """A share in per cent."""
    return NOTHING if value is None else "0" if value == 0 else f"{figure(100 * value)} %"


# --- engines -------------------------------------------------------------------------------------------------------------------


def tables_1(runs: list[Run]) -> list[Table]:
    """Times of all engines, and passes."""
    return [times(runs), passes(runs)]


def counts(runs: list[Run]) -> Table:
    """Table 1's left half: the paper's row, then those of the image engine."""
    rows = []
    for part in parts(runs):
        said = TABLE_1.get(part)
        if said is not None:
            theirs = (f"{getattr(said, name):,}" for name in COLUMNS)
            rows.append([part, f"paper: {said.name}", f"{said.triangles:,}", NOTHING, *theirs, NOTHING])
        for run in images(runs, part):
            name = f"{part}, {run['asked']:,}" if "asked" in run else part
            ours = (figure(average(run, each)) for each in COLUMNS)
            sampled = f"{run['method']}, {run['options']['resolution']}²" if run["method"] == SMALLER else run["method"]
            rows.append([name, sampled, f"{run['faces']:,}", str(max(run["depth"])), *ours, percent(share(run))])
    one = next(run for run in runs if made(run))
    note = (f"Means of {one['steps']} frames; *depth*: the most faces on one ray, in sampled mode, or in one pixel, in conservative mode, "
            "of all frames; *rays*: those that show a collision, *packed*: faces left for testing, *candidates*: faces in pairs with "
            "overlapping boxes, *tests* of pairs of triangles, *pairs* found; *missed*: as a share of all pairs.")  # fmt: skip
    columns = ["scene", "engine", "triangles", "depth", *("candidates" if name == "met" else name for name in COLUMNS), "missed"]
    return Table("Counts", columns, rows, 2, note)


def images(runs: list[Run], part: str) -> list[Run]:
    """Runs of the image engine whose counters differ: on a device they are the same."""
    return [run for run in runs if run["part"] == part and run["method"] in (SAMPLED, SMALLER, EXACT) and made(run)]


def times(runs: list[Run]) -> Table:
    """Milliseconds of every engine on every scene, and the speed-up over a BVH that is rebuilt."""
    labels = list(dict.fromkeys(label(run) for run in runs))
    rows = []
    said = [TABLE_1.get(run["part"]) for run in first_of(runs, labels)]
    if any(said):
        rows.append(["paper, 7800 GTX", *(figure(each.total) if each else NOTHING for each in said)])
    for method in dict.fromkeys(run["method"] for run in runs):
        cells = []
        for name in labels:
            mine = [run for run in runs if run["method"] == method and label(run) == name]
            base = [run for run in runs if run["method"] == REBUILD and label(run) == name and made(run)]
            cells.append(NOTHING if not mine else cell(mine[0], base[0] if base else None))
        rows.append([method, *cells])
    why = next((f" {run['method']}: {run['lacking']}." for run in runs if "lacking" in run), "")
    note = ("Milliseconds a frame, updates and queries, means; in brackets the speed-up over a tree that is rebuilt in every "
            f"frame. On a device, vertices and faces are in place, and pairs are copied to the host.{why}")  # fmt: skip
    return Table("Milliseconds a frame", ["engine", *labels], rows, 1, note)


def label(run: Run) -> str:
    """The name of a scene."""
    return f"{run['part']}, {run['faces']:,}"


def first_of(runs: list[Run], labels: list[str]) -> list[Run]:
    """A run of each label."""
    return [next(run for run in runs if label(run) == name) for name in labels]


def cell(run: Run, base: Run | None) -> str:
    """The milliseconds, and the speed-up over the base."""
    if not made(run):
        return "no device"
    mine = mean(ms(run))
    return figure(mine) if base is None else f"{figure(mine)} ({over(mean(ms(base)), mine)})"


def passes(runs: list[Run]) -> Table:
    """Milliseconds of each pass, beside the paper's three columns."""
    rows: list[list[str]] = []
    for name in dict.fromkeys(label(run) for run in runs):
        mine = [run for run in runs if label(run) == name and run["passes_ms"]]
        said = TABLE_1.get(mine[0]["part"]) if mine else None
        if said is not None:
            theirs = figure(said.reduce), figure(said.cpu), figure(said.total)
            rows.append([name, "paper", f"{figure(said.gpu)} together", "", "", *theirs, NOTHING])
        for run in mine:
            taken = [run["passes_ms"][each] for each in PASS_NAMES]
            rows.append([name, run["method"], *map(figure, taken), figure(sum(taken)), sent(run)])
    note = ("Milliseconds, means of a few frames that were timed pass by pass; *sample* includes the choice of a direction and the "
            "projection of vertices to the screen; *sent*: bytes copied from the device to the host, relative to the geometry. The paper's "
            "passes: sampling, merging and separating on the GPU, then packing and readback, then tests on the CPU.")  # fmt: skip
    return Table("Milliseconds of each pass", ["scene", "engine", *PASS_NAMES, "total", "sent"], rows, 2, note)


def sent(run: Run) -> str:
    """Relative to the size of vertices, float64, and faces, int32."""
    if run["kind"] == IMAGE:
        return NOTHING
    whole = 24 * run["vertices"] + 12 * run["faces"]
    return percent((average(run, "sent") or 0.0) / whole)


# --- the cloth -------------------------------------------------------------------------------------------------------------------


def tables_cloth(runs: list[Run]) -> list[Table]:
    """The same for the cloth, and its slowest frame."""
    rows = [["paper, 7800 GTX", "2,000", figure(CLOTH["mean"]), figure(CLOTH["most"]), f"{CLOTH['tests']:,}", f"{CLOTH['pairs']:,}"]]
    for run in runs:
        if made(run):
            taken = figure(mean(ms(run))), figure(float(ms(run).max()))
            rows.append([run["method"], f"{run['faces']:,}", *taken, most(run, "tests"), most(run, "pairs")])
    note = "Milliseconds a frame; *tests* and *pairs*: maxima of all frames. Here they are of cloth and ball together."
    table = Table("Slowest frames", ["engine", "triangles", "mean", "slowest", "tests", "pairs"], rows, 1, note)
    return [table, counts(runs), *tables_1(runs)]


def most(run: Run, name: str) -> str:
    """The maximum of all frames."""
    return f"{max(run[name]):,}" if run.get(name) else NOTHING


# --- misses ----------------------------------------------------------------------------------------------------------------------


def tables_misses(runs: list[Run]) -> list[Table]:
    """Misses by resolution, and by passes."""
    tables = []
    sizes = [run for run in runs if run["sweep"] == RESOLUTION]
    if sizes:
        note = (f"Pairs missed in {sizes[0]['steps']} frames, as a share of all pairs; in brackets the engine's own estimate "
                "of that share; rays are lines, peeled to the end.")  # fmt: skip
        tables.append(Table("Missed by resolution", *sweep(sizes, lambda run: f"{run['value']}²"), 1, note))
    for rest in ("drop", "mark"):
        mine = [run for run in runs if run["sweep"] == PASSES and run["rest"] == rest]
        if mine:
            deep = {part: max(max(run["depth"]) for run in mine if run["part"] == part) for part in parts(mine)}
            become = "colliding" if rest == "mark" else "not colliding, unless they have shown a collision by then"
            note = (f"At {mine[0]['options']['resolution']}², peeled from the near end, one surface a pass; rays with more surfaces than "
                    f"passes count as {become}. The paper, whose rigid bunnies are 16 deep: less than 5 % after six passes, nothing after "
                    "seven if the rest is marked. Most surfaces on a ray: "
                    f"{', '.join(f'{part} {depth}' for part, depth in deep.items())}.")  # fmt: skip
            tables.append(Table(f"Missed by passes, rest {'marked' if rest == 'mark' else 'dropped'}",
                                *sweep(mine, lambda run: f"{run['value']}"), 1, note))  # fmt: skip
    return tables


def sweep(runs: list[Run], head: Callable[[Run], str]) -> tuple[list[str], list[list[str]]]:
    """Columns by the value that varies, a row for each scene; and a row of milliseconds for each."""
    heads = list(dict.fromkeys(head(run) for run in runs))
    rows: list[list[str]] = []
    for part in parts(runs):
        mine: dict[str, Any] = {head(run): run for run in runs if run["part"] == part}
        rows.append([part, *(f"{percent(share(mine[each]))} ({percent(share(mine[each], 'estimate'))})" if each in mine else NOTHING
                             for each in heads)])  # fmt: skip
        rows.append([f"{part}, ms", *(figure(mean(ms(mine[each]))) if each in mine else NOTHING for each in heads)])
    return ["scene", *heads], rows


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {
    "counts": lambda runs: [counts(runs)],
    "table-1": tables_1,
    "cloth": tables_cloth,
    "misses": tables_misses,
}
