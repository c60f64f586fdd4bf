"""Single queries of continuous collision: is any answer wrong, or any time late? And how long does a query take, compared with ipctk?

    python -m benchmarks.continuous        hostile queries and queries known by construction; options: --help

Hostile: points and triangles, edges and edges of `tests/moving_features.py`: rest, motion within a plane or a line, collapse on the way,
grazing contacts, contacts at corners and an ulp beside them, exponents far apart. Every answer is compared with rational arithmetic
(`tests/naive_ccd.py`). Known: contacts and near misses by one ulp whose first time is a fraction chosen beforehand.

Mean times are processor time of the public functions on arrays, one thread; the worst query is called alone, the fastest of five, less
the fastest call of all, which is Python's. With `--compared N`, Tight-Inclusion and ACCD of the IPC toolkit answer N queries of
each kind, one by one; the mean of their calls includes 2 µs for Python, and they stop after 20 seconds; ACCD takes at most 100,000 steps.
The exit status is 1 if an answer of Pliant is wrong.
"""

import argparse
import json
import os
import sys
import time
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import pliant as pl
from benchmarks.harness import alone, hardware

KINDS = ("vertex and face", "two edges")
BATCH = 50_000  # known queries of one call
ACCD_STEPS = 100_000  # its default, 10,000,000, takes minutes for a near miss
PEER_BUDGET = 20.0  # seconds that a method of the IPC toolkit may take for each kind of queries
GAP = Fraction(1, 2**40)
REFERENCE_WIDTH = Fraction(1, 2**60)


def helpers():
    """(moving_features, naive_ccd) of the tests."""
    tests = str(Path(__file__).resolve().parents[1] / "tests")
    if tests not in sys.path:
        sys.path.insert(0, tests)
    return import_module("moving_features"), import_module("naive_ccd")


def ask(kind, starts, ends):
    """(hits, times) of Pliant for (n, 4, 3) starts and ends."""
    if kind == 0:
        return pl.ccd_point_triangle(starts[:, 0], ends[:, 0], starts[:, 1:], ends[:, 1:])
    return pl.ccd_edge_edge(starts[:, :2], ends[:, :2], starts[:, 2:], ends[:, 2:])


def timed(kind, starts, ends):
    """(hits, times, seconds of processor time)."""
    begin = time.process_time()
    hits, times = ask(kind, starts, ends)
    return hits, times, time.process_time() - begin


def worst_call(kind, starts, ends):
    """Seconds of the slowest query that is called alone: the fastest of five calls, less the fastest of all queries."""
    seconds = np.full(len(starts), np.inf)
    for k in range(len(starts)):
        for _ in range(5):
            begin = time.perf_counter()
            ask(kind, starts[k:k + 1], ends[k:k + 1])
            seconds[k] = min(seconds[k], time.perf_counter() - begin)
    return float(seconds.max() - seconds.min())


def row_of(name, kind, hits, times, truth, exact_times, seconds):
    """Figures of n queries. `exact_times`: for true hits (low, high) of the first contact, as fractions."""
    late, gaps = 0, [0.0]
    for time_found, (low, high) in zip(times[hits & truth].tolist(), exact_times, strict=True):
        late += Fraction(time_found) > high
        gaps.append(float(low - Fraction(time_found)))
    return {"queries": name, "kind": KINDS[kind], "n": len(hits), "hits": int(truth.sum()), "missed": int((truth & ~hits).sum()),
            "false": int((hits & ~truth).sum()), "late": late, "gap": max(gaps), "mean": seconds / len(hits)}


def hostile_row(kind, count, rng, advance):
    """(figures, starts, ends, truth) of hostile queries."""
    features, naive = helpers()
    queries = [features.hostile(rng) for _ in range(count)]
    starts, ends = np.array([q for q, _ in queries]), np.array([q for _, q in queries])
    brackets = []
    for start, end in queries:
        brackets.append(naive.first_contact(start, end, kind, REFERENCE_WIDTH))
        advance(1)
    truth = np.array([bracket is not None for bracket in brackets])
    hits, times, seconds = timed(kind, starts, ends)
    exact = [bracket for bracket, hit in zip(brackets, hits, strict=True) if bracket is not None and hit]
    row = row_of("hostile", kind, hits, times, truth, exact, seconds)
    return row | {"worst": worst_call(kind, starts, ends)}, starts, ends, truth


def known_row(kind, count, rng, advance):
    """(figures, starts, ends, truth) of known queries; the latter three of the first batch."""
    features, _ = helpers()
    total, first = None, None
    for begin in range(0, count, BATCH):
        starts, ends, numerators, denominators = features.known_queries(rng, min(BATCH, count - begin), kind)
        truth = denominators > 0
        hits, times, seconds = timed(kind, starts, ends)
        both = hits & truth
        # exact in float64 but for one rounding of the quotient; where that matters, by fractions
        late = times[both] - numerators[both] / denominators[both]
        close = np.flatnonzero(both)[(late > -(2.0**-50)) | (late < 2.0**-50 - 2.0**-40)]
        exact = [Fraction(int(numerators[k]), int(denominators[k])) for k in close]
        late_count = sum(Fraction(times[k]) > time for k, time in zip(close, exact, strict=True))
        row = {"queries": "known", "kind": KINDS[kind], "n": len(hits), "hits": int(truth.sum()), "missed": int((truth & ~hits).sum()),
               "false": int((hits & ~truth).sum()), "late": late_count, "gap": float(-late.min(initial=0.0)), "mean": seconds}
        if total is None:
            total, first = row, (starts, ends, truth)
        else:
            for name in ("n", "hits", "missed", "false", "late", "mean"):
                total[name] += row[name]
            total["gap"] = max(total["gap"], row["gap"])
        advance(len(hits))
    total["mean"] /= total["n"]
    return total | {"worst": worst_call(kind, *(array[:2000] for array in first[:2]))}, *first


def peer_row(name, method, kind, starts, ends, truth):
    """Figures of a method of the IPC toolkit, one query after the other."""
    call = method.point_triangle_ccd if kind == 0 else method.edge_edge_ccd
    seconds, hits, n = np.empty(len(starts)), np.empty(len(starts), bool), 0
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if seconds[:k].sum() > PEER_BUDGET:
            break
        n = k + 1
        points = [*start, *end]
        begin = time.perf_counter()
        hits[k], _ = call(*points)
        seconds[k] = time.perf_counter() - begin
    seconds, hits, truth = seconds[:n], hits[:n], truth[:n]
    return {"queries": name, "kind": KINDS[kind], "n": n, "hits": int(truth.sum()), "missed": int((truth & ~hits).sum()),
            "false": int((hits & ~truth).sum()), "late": None, "gap": None, "mean": float(seconds.mean()), "worst": float(seconds.max())}


def table_of(rows):
    """The rich table of all figures."""
    table = Table(title="continuous collision of single features")
    for title in ("queries", "kind"):
        table.add_column(title)
    for title in ("number", "that touch", "missed", "false", "late", "largest gap of times · 2⁴⁰", "mean µs", "worst µs"):
        table.add_column(title, justify="right")
    for row in rows:
        late = ("", "") if row["late"] is None else (f"{row['late']:,}", f"{row['gap'] * 2**40:.2f}")
        table.add_row(row["queries"], row["kind"], f"{row['n']:,}", f"{row['hits']:,}", f"{row['missed']:,}", f"{row['false']:,}", *late,
                      f"{row['mean'] * 1e6:.2f}", f"{row['worst'] * 1e6:,.0f}")
    return table


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.continuous", description=__doc__.partition("\n")[0])
    parser.add_argument("--hostile", type=int, default=500_000, help="hostile queries, in total")
    parser.add_argument("--known", type=int, default=10_000_000, help="queries known by construction, in total")
    parser.add_argument("--compared", type=int, default=0, help="queries of each kind for the IPC toolkit; one may take minutes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    pl.set_threads(1)
    console, rows = Console(width=160), []
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("queries"), TimeElapsedColumn(),
                   console=console, auto_refresh=False, transient=True)
    features, _ = helpers()
    for kind in (0, 1):
        ask(kind, *features.known_queries(np.random.default_rng(0), 1000, kind)[:2])
        pairs = [features.hostile(np.random.default_rng(k)) for k in range(300)]
        ask(kind, np.array([q for q, _ in pairs]), np.array([q for _, q in pairs]))  # loads all kernels
    with bar as progress:
        task = progress.add_task("", total=2 * (options.hostile // 2) + 2 * (options.known // 2))
        for kind in (0, 1):
            for name, make, count in (("hostile", hostile_row, options.hostile // 2), ("known", known_row, options.known // 2)):
                if count == 0:
                    continue
                progress.update(task, description=f"{name}, {KINDS[kind]}", refresh=True)
                rng = np.random.default_rng((options.seed, kind, len(name)))
                row, *queries = make(kind, count, rng, lambda n: progress.update(task, advance=n, refresh=True))
                rows.append(row)
                if options.compared:
                    rows += compared(name, kind, *(array[:options.compared] for array in queries))
    console.print(table_of(rows))
    console.print(hardware(options.pin), highlight=False)
    if options.out:
        Path(options.out).write_text(json.dumps({"hardware": hardware(options.pin), "rows": rows}, indent=1), encoding="utf-8")
    sys.exit(any(row["missed"] or row["false"] or row["late"] for row in rows if row["late"] is not None))


def compared(name, kind, starts, ends, truth):
    """Rows of the IPC toolkit, if it is installed. Its tolerances are absolute: only sizes that suit them are asked."""
    try:
        ipctk = import_module("ipctk")
    except ImportError:
        return []
    sizes = np.abs(np.concatenate([starts, ends], axis=1)).max(axis=(1, 2))
    usual = (sizes > 0.5) & (sizes < 2000.0)
    starts, ends, truth = starts[usual], ends[usual], truth[usual]
    methods = {"Tight-Inclusion": ipctk.TightInclusionCCD(), "ACCD": ipctk.AdditiveCCD(max_iterations=ACCD_STEPS)}
    return [peer_row(f"{name}, {method}", each, kind, starts, ends, truth) for method, each in methods.items()]


if __name__ == "__main__":
    main()
