"""Search for the largest error ÷ bound of every error bound: the attacks of `tests/bounds/`, longer than in the tests.

    python -m benchmarks.bounds            all files, 20 times as many evaluations as in the tests; options: --help

For every filter, value and distance with an error bound the search of `tests/attack.py` looks for the largest error ÷ bound, the error in
rational arithmetic: hill climbing from midpoints, adjacent floating-point numbers, equal exponents, powers of two, cancelling sums,
axis-aligned and nearly degenerate points. 1 or more refutes the bound, and the exit status is 1. Decisions have no bound: 0 means right.
"""

import argparse
import json
import sys
import zlib
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness import hardware

TESTS = Path(__file__).resolve().parents[1] / "tests"
ROUNDS = 10  # searches of an attack, each with its own seed


def attacks():
    """{name: Attack} of all modules in tests/bounds/, and the search."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    import attack

    return attack.load(), attack.search


def figure(each, search, evaluations, seed):
    """The row of one attack: that many evaluations in all, divided among ROUNDS searches."""
    best, counted = None, 0
    for turn in range(ROUNDS):
        rng = np.random.default_rng([seed, turn, zlib.crc32(each.name.encode())])
        with np.errstate(all="ignore"):
            found = search(each.evaluate, each.starts, rng, -(-evaluations // ROUNDS))
        counted += found.evaluations
        best = found if best is None or found.ratio > best.ratio else best
    return {"name": each.name, "source": each.source, "section": each.section, "evaluations": counted, "ratio": max(best.ratio, 0.0),
            "kind": best.kind, "points": [] if best.points is None else best.points.tolist()}


def shown(ratio):
    return f"{ratio:.3f}" if ratio == 0 or ratio >= 1e-3 else f"{ratio:.1e}"


def table_of(rows):
    table = Table("bound of", "file", "derived at", title="Largest error ÷ bound found")
    for column in ("evaluations", "error ÷ bound"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row["name"], row["source"], row["section"], f"{row['evaluations']:,}", shown(row["ratio"]))
    return table


def lines_of(rows):
    """The same as Markdown, for docs/bounds.md."""
    yield "| bound of | file | derived at | evaluations | largest error ÷ bound |"
    yield "|---|---|---|---:|---:|"
    for row in rows:
        yield f"| {row['name']} | `{row['source']}` | {row['section']} | {row['evaluations']:,} | {shown(row['ratio'])} |"


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=float, default=20, help="number of evaluations, relative to the tests")
    parser.add_argument("--only", default="", help="only attacks whose name or file contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/bounds.md has it")
    parser.add_argument("--out", help="write all figures, with the points found, to this JSON file")
    options = parser.parse_args()
    known, search = attacks()
    console, rows = Console(), []
    for each in known.values():
        if options.only in each.name or options.only in each.source:
            rows.append(figure(each, search, int(each.evaluations * options.times), options.seed))
            if not options.markdown:
                console.print(f"{each.name}: {shown(rows[-1]['ratio'])}", highlight=False)
    if options.markdown:
        print("\n".join(lines_of(rows)))
    else:
        console.print(table_of(rows))
        console.print(hardware(False), highlight=False)
    for row in rows:
        if row["ratio"] >= 1:
            console.print(f"refuted: {row['name']} at {row['points']}", highlight=False)
    if options.out:
        Path(options.out).write_text(json.dumps({"hardware": hardware(False), "rows": rows}, indent=1), encoding="utf-8")
    sys.exit(any(row["ratio"] >= 1 for row in rows))


if __name__ == "__main__":
    main()
