"""Tables of paper D's experiments beside the paper's figures, all from the runs in the JSON file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from experiments.bitar2011.runs import ALL, DEFAULTS, LITERAL, OWN, TABLE_2
from experiments.clock import COUNTERS, Run, fixed
from experiments.figures import bare, growth, mean, ms, over, parts
from pliant.report.tables import Table, figure


class Key(NamedTuple):
    """The identity of a run: its method, its parameters, and its BVH."""

    method: str
    parameters: str
    volume: str
    arity: int


class Total(NamedTuple):
    """Sums over all frames of some scenes: milliseconds, net milliseconds (without the cost of calls), and counts."""

    ms: float
    bare: float
    n_v: int
    n_p: int
    n_u: int
    frames: int

    @classmethod
    def of(cls, runs: list[Run]) -> Total:
        """The sum of these runs."""
        n_v, n_p, n_u = (sum(sum(run[name]) for run in runs) for name in COUNTERS)
        whole, left = (sum(float(times(run).sum()) for run in runs) for times in (ms, bare))
        return cls(whole, left, n_v, n_p, n_u, sum(run["steps"] for run in runs))


def key(run: Run) -> Key:
    """The key of a run within its scene."""
    options = run["options"]
    return Key(run["method"], run["tree"], options.get("volume", "aabb"), options.get("arity", 8))


def totals(runs: list[Run]) -> dict[Key, Total]:
    """The sums of each method over all scenes, in the order of the runs."""
    return {each: Total.of([run for run in runs if key(run) == each]) for each in dict.fromkeys(map(key, runs))}


def shown(name: str) -> str:
    """A criterion as the paper writes it."""
    return name if " " in name else name.replace("&", " ∧ ").replace("|", " ∨ ")


def first_all(every: dict[Key, Total], like: Key | None = None) -> Total | None:
    """Refit all: the first, or that on the same BVH."""
    return next((total for each, total in every.items() if each.method == ALL and (like is None or each[2:] == like[2:])), None)


def counts(total: Total) -> list[str]:
    """The three counts of a row."""
    return [figure(total.n_v), figure(total.n_p), figure(total.n_u)]


def ratio(total: Total, base: Total | None, what: str = "ms") -> str:
    """The ratio of a time to that of refit all."""
    return over(getattr(total, what), getattr(base, what)) if base else "–"


def note_of(runs: list[Run]) -> str:
    """The note of a sum."""
    frames = {part: next(run["steps"] for run in runs if run["part"] == part) for part in parts(runs)}
    played = ", ".join(f"{part} {steps}" for part, steps in frames.items())
    calls = figure(float(fixed(runs[0])[0]))
    return (f"Sums over all frames ({played}), building not included; {calls} ms of each frame are the fixed cost of calls, which *net* "
            "excludes.")


# --- Table 2 ---------------------------------------------------------------------------------------------------------------------


def tables_2(runs: list[Run]) -> list[Table]:
    """Times and counts beside the paper's, and times by scene."""
    every = totals(runs)
    base, rows = first_all(every), []
    for each, total in every.items():
        said = TABLE_2.get(each.method)
        seconds = said.seconds if said and each.parameters != OWN else None
        paper = [figure(seconds), over(seconds, TABLE_2[ALL].seconds)]
        here = [figure(total.ms), ratio(total, base), ratio(total, base, "bare"), *counts(total)]
        rows.append([shown(each.method), each.parameters, *paper, *here])
    note = (f"{note_of(runs)} *Paper*: its seconds, from another machine and other shapes, and their ratio. A ∨ B is not in the paper, and "
            "has the p_max of A here; the paper has no active nodes but B in their place. Refit all and the criteria skip volumes whose "
            "vertices have not moved since the fit, such as those of a body that has ended. The thesis refits all, as "
            f"*{LITERAL}*, bottom_up, fitted and rebuild do. "
            "*default*: the policy's.")
    columns = ["refit", "parameters", "paper: s", "÷ all", "ms", "÷ all", "net ÷ all", "n_v", "n_p", "n_u"]
    return [Table("Five scenes: update and distance", columns, rows, 2, note), by_scene(runs)]


def by_scene(runs: list[Run]) -> Table:
    """Milliseconds of each scene."""
    rows = []
    for each in dict.fromkeys(map(key, runs)):
        mine = {run["part"]: run for run in runs if key(run) == each}
        rows.append([shown(each.method), each.parameters, *(figure(Total.of([mine[part]]).ms) for part in parts(runs) if part in mine)])
    note = "Milliseconds of all frames. Distances, mean and least: " + "; ".join(
        f"{part} {figure(mean(some['distance']))}, {figure(min(some['distance']))}"
        for part in parts(runs) for some in [next(run for run in runs if run["part"] == part)])  # fmt: skip
    return Table("By scene", ["refit", "parameters", *parts(runs)], rows, 2, note + ".")


# --- other trees -----------------------------------------------------------------------------------------------------------------


def compared(runs: list[Run], title: str, column: str, what: str) -> list[Table]:
    """Sums by an option of the BVH, relative to refit all on the paper's BVH and on the same one."""
    every = totals(runs)
    base, rows = first_all(every), []
    for each, total in every.items():
        kind = "Pliant's" if each.method == DEFAULTS else str(getattr(each, what))
        rows.append([kind, shown(each.method), each.parameters, figure(total.ms), ratio(total, base), ratio(total, first_all(every, each)),
                     ratio(total, base, "bare"), *counts(total)])  # fmt: skip
    note = f"{note_of(runs)} *÷ all*: refit all in the first row; *same trees*: refit all on the same trees."
    columns = [column, "refit", "parameters", "ms", "÷ all", "same trees", "net ÷ all", "n_v", "n_p", "n_u"]
    return [Table(title, columns, rows, 3, note)]


def tables_families(runs: list[Run]) -> list[Table]:
    """By bounding-volume type."""
    return compared(runs, "Other volumes, on the paper's trees", "volumes", "volume")


def tables_arity(runs: list[Run]) -> list[Table]:
    """By arity."""
    return compared(runs, "Arity of trees", "arity", "arity")


# --- sizes -----------------------------------------------------------------------------------------------------------------------


def tables_sizes(runs: list[Run]) -> list[Table]:
    """Milliseconds a frame by triangles, their growth, and ratios to refit all."""
    return [sized(runs, part) for part in parts(runs)]


def sized(runs: list[Run], part: str) -> Table:
    """One scene."""
    mine = [run for run in runs if run["part"] == part]
    asked, rows = list(dict.fromkeys(run["asked"] for run in mine)), []
    base = {run["asked"]: mean(ms(run)) for run in mine if run["method"] == ALL}
    for each in dict.fromkeys(map(key, mine)):
        found = {run["asked"]: run for run in mine if key(run) == each}
        times: list[float | None] = [mean(ms(found[faces])) if faces in found else None for faces in asked]
        ratios = [over(time, base.get(faces)) for faces, time in zip(asked, times, strict=True)]
        tests: list[Any] = [mean(found[faces]["n_v"]) if faces in found else None for faces in asked]
        updates: list[Any] = [mean(found[faces]["n_u"]) if faces in found else None for faces in asked]
        growths = [figure(growth(asked, column)) for column in (times, tests, updates)]
        rows.append([shown(each.method), each.parameters, *map(figure, times), *ratios, *growths])
    sizes = [f"{faces:,}" for faces in asked]
    both = "; ".join(" and ".join(f"{faces:,}" for faces in run["both"]) for run in mine if run["method"] == ALL)
    note = (f"Milliseconds a frame, means of the first {mine[0]['steps']} frames, by triangles of each body ({both}); *÷ all*: relative to "
            "refit all; e: exponents of n^e, n the triangles, of times and counts.")
    columns = ["refit", "parameters", *sizes, *(f"÷ all, {size}" for size in sizes), "e", "e of n_v", "e of n_u"]
    return Table(f"Numbers of triangles: {part}", columns, rows, 2, note)


# --- a body against itself -------------------------------------------------------------------------------------------------------


def tables_self(runs: list[Run]) -> list[Table]:
    """Means of frames."""
    rows = []
    for part in parts(runs):
        mine = [run for run in runs if run["part"] == part]
        base = next((Total.of([run]) for run in mine if run["method"] == ALL), None)
        for run in mine:
            total = Total.of([run])
            each = [figure(value / total.frames) for value in (total.n_v, total.n_p, total.n_u)]
            rows.append([part, shown(run["method"]), run["tree"], figure(total.ms / total.frames), ratio(total, base),
                         ratio(total, base, "bare"), *each])  # fmt: skip
    played = "; ".join(f"{part}: {some['steps']} frames, least {figure(min(some['distance']))}"
                       for part in parts(runs) for some in [next(run for run in runs if run["part"] == part)])  # fmt: skip
    note = f"Means of frames, milliseconds and counts, of the distance between faces that share no vertex ({played})."
    columns = ["body", "refit", "parameters", "ms", "÷ all", "net ÷ all", "n_v", "n_p", "n_u"]
    return [Table("The distance of a body to itself", columns, rows, 3, note)]


TABLES: dict[str, Callable[[list[Run]], list[Table]]] = {
    "table-2": tables_2,
    "families": tables_families,
    "sizes": tables_sizes,
    "arity": tables_arity,
    "self": tables_self,
}
