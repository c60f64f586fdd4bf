"""The long run: every query at every size from 2**-1074 to 2**1020, against rational arithmetic.

    python -m tests.range_sweep [--step 1] [--volume obb …] [--query collide …]

What is asked, and what must hold, is in `range_checks.py`; `test_range.py` has the same for a few sizes. Reports wrong answers by query and
case, with the sizes; the exit code is 1 if there is any. Ctrl-C reports what was done so far.

Cost: a size is 250 questions and takes 1.8 s of processor time, so all 2,095 take about an hour for each volume type.
"""

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))                          # as pytest has it

import pliant as pl
import range_checks as checks
from pliant.volume.protocol import VOLUME_TYPES

BOTTOM, TOP, SELF = -1074, 1020, "self"
QUERIES = (*checks.PAIRS, SELF)


def try_all(case, queries, asked, wrong, name, k, options):
    """Ask these queries about one case at one size."""
    a, b = pl.Body(case.a, case.faces_a, **options), pl.Body(case.b, case.faces_b, **options)
    for query in queries:
        asked[query, name] += 1
        try:
            if query == SELF:
                checks.check_self(case, pl.Body(*checks.joined(case), **options))
            else:
                checks.PAIRS[query](case, a, b)
        except AssertionError as error:
            wrong[query, name].append((k, str(error)))


def report(console, asked, wrong):
    """A table of answers by query, and what is wrong; how much."""
    table = Table("query", "asked", "wrong", title="at all sizes, all cases")
    for query in QUERIES:
        n = sum(count for (which, _), count in asked.items() if which == query)
        if n:
            table.add_row(query, f"{n:,}", str(sum(len(found) for (which, _), found in wrong.items() if which == query)))
    console.print(table)
    for (query, name), found in wrong.items():
        console.print(f"wrong, {query}, {name}, at 2**k for k in {[k for k, _ in found]}:\n  {found[0][1]}", markup=False)
    return sum(map(len, wrong.values()))


def main(arguments=None):
    """Run; 0 if every answer was right, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.range_sweep", description="Every query at every size against exact answers.")
    parser.add_argument("--step", type=int, default=1, help="from one exponent to the next")
    parser.add_argument("--start", type=int, default=BOTTOM, help="the first exponent")
    parser.add_argument("--volume", action="append", choices=list(VOLUME_TYPES), help="this volume type; may be given several times")
    parser.add_argument("--query", action="append", choices=QUERIES, help="this query only; may be given several times")
    chosen = parser.parse_args(arguments)
    console, asked, wrong, queries = Console(), Counter(), defaultdict(list), chosen.query or QUERIES
    sizes = [(volume, k) for volume in chosen.volume or ["aabb"] for k in range(chosen.start, TOP + 1, chosen.step)]
    columns = (TextColumn("{task.description:>20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
               TextColumn("{task.fields[wrong]} wrong"))
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=len(sizes), wrong=0)
            for volume, k in sizes:
                for name, case in checks.cases().items():
                    made = checks.scaled(case, k)
                    if made is not None:
                        try_all(made, queries, asked, wrong, name, k, {"volume": volume})
                progress.update(task, advance=1, description=f"{volume}, 2**{k}", wrong=sum(map(len, wrong.values())))
    except KeyboardInterrupt:
        console.print("Interrupted.")
    found = report(console, asked, wrong)
    console.print(f"{len(sizes):,} sizes, {sum(asked.values()):,} questions, {found} wrong.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
