"""The long run: a million hard pairs of triangles through every stage and through `pliant.collide`, against rational arithmetic.

    python -m tests.exactness [--pairs 1000000] [--seed 1] [--kind near --kind needle …] [--narrow aabb --narrow sphere]

Every pair goes four ways: the exact stage; the filtered stages, where its coordinates are in their range; two bodies of one face each,
which follow the pair by `update`, so that float32 lanes see it at its own scale or from a distance; and a soup, one body of all first
and one of all second triangles of a batch with options drawn from the registries, whose pairs stand in cells of their own, or all in one
place where they cannot be moved. Reports wrong answers by kind and way; the exit code is 1 if there is any. Ctrl-C reports what was done
so far.
"""

import argparse
import sys
from collections import Counter
from itertools import cycle

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import pliant
import pliant.body
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.geometry.triangle_overlap import overlap_exact, overlap_stage
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS, LEAF_WIDTH, WIDTH_OF_ARITY
from pliant.volume.protocol import VOLUME_TYPES
from tests import adversarial, naive

BATCH = 64                                                              # pairs of a soup
CROWD = 8                                                               # of one that has to stay in one place
DISTANCES = (0.0, 10.0, 1e3, 1e5)                                       # of the origins of single bodies; 0: their own
WAYS = ("exact", "stages", "bodies", "soup")
MOVABLE = 2.0**20                                                       # larger than this, or smaller than its inverse: they stay


class Tally:
    """How many answers of each kind and way there were, and which of them were wrong."""

    def __init__(self):
        self.asked, self.wrong, self.examples = Counter(), Counter(), {}

    def add(self, kind, way, found, right, pair):
        """One answer."""
        self.asked[kind, way] += 1
        if bool(found) != bool(right):
            self.wrong[kind, way] += 1
            self.examples.setdefault((kind, way), pair)


class Runner:
    """Tries pairs in all ways."""

    def __init__(self, seed, narrow):
        self.rng, self.tally, self.narrow = np.random.default_rng(seed), Tally(), narrow

    def batch(self, kind, n):
        """n pairs of a kind."""
        a, b = adversarial.pairs(kind, n, self.rng)
        away = self.rng.choice(DISTANCES) * self.rng.standard_normal((2, 3))
        singles = [pliant.Body(np.eye(3), [[0, 1, 2]], origin=origin if away.any() else None, **self.options()) for origin in away]
        for p, q in zip(a, b, strict=True):
            self.one(kind, p, q, singles)
        self.soups(kind, a, b)

    def one(self, kind, p, q, singles):
        right = naive.triangles_meet_fast(p, q)
        t = np.concatenate([p, q]).reshape(-1)
        self.tally.add(kind, "exact", overlap_exact(t, 0, 9), right, (p, q))
        size = np.abs(t)
        if np.all((size == 0) | ((size >= RANGE_MIN) & (size <= RANGE_MAX))):
            self.tally.add(kind, "stages", overlap_stage(t, 0, 9) & 1, right, (p, q))
        for body, corners in zip(singles, (p, q), strict=True):
            body.update(corners)
        self.tally.add(kind, "bodies", len(pliant.collide(*singles)), right, (p, q))

    def soups(self, kind, a, b):
        """All pairs of the batch in two bodies."""
        size = np.maximum(np.abs(a).max((1, 2)), np.abs(b).max((1, 2)))
        movable = (size < MOVABLE) & (size > 1 / MOVABLE)
        if movable.any():
            self.soup(kind, *in_cells(a[movable], b[movable], self.rng))
        a, b = a[~movable], b[~movable]
        for at in range(0, len(a), CROWD):
            self.soup(kind, a[at:at + CROWD], b[at:at + CROWD])

    def soup(self, kind, a, b):
        faces = np.arange(3 * len(a)).reshape(-1, 3)
        volume, arities = str(self.rng.choice(list(VOLUME_TYPES))), self.rng.choice(list(WIDTH_OF_ARITY), 2).tolist()
        if volume not in ("aabb", "kdop6"):                             # every other pair would be one more loop to compile
            arities = [arities[0] if volume in self.narrow else 8] * 2
        bodies = [pliant.Body(corners.reshape(-1, 3), faces, volume=volume, arity=arity, **self.options())
                  for corners, arity in zip((a, b), arities, strict=True)]
        found = np.zeros((len(a), len(b)), bool)
        found[tuple(pliant.collide(*bodies).faces.T)] = True
        right = np.zeros_like(found)
        right[tuple(naive.collide(a.reshape(-1, 3), faces, b.reshape(-1, 3), faces).T)] = True
        for i, j in np.argwhere((found != right) | np.eye(len(a), dtype=bool)).tolist():
            self.tally.add(kind, "soup", found[i, j], right[i, j], (a[i], b[j]))

    def options(self):
        """Keywords of a body but for its kind of nodes, any that there are."""
        choose = self.rng.choice
        return {"build": str(choose(list(BUILDERS))), "policy": str(choose(list(POLICIES))),
                "leaf": int(self.rng.integers(1, LEAF_WIDTH + 1))}


def in_cells(a, b, rng):
    """The pairs, each moved to a cell of a grid of its own; moving rounds, but by little more than making them did."""
    n = len(a)
    size = max(np.ptp(np.concatenate([a, b], 1), axis=1).max(), 1.0)
    side, places = 2.0 ** np.ceil(np.log2(size)), int(np.ceil(n ** (1 / 3)))
    cells = rng.permutation(places**3)[:n]
    cells = np.stack(np.unravel_index(cells, (places,) * 3), 1) * (2 * side)
    return a + cells[:, None], b + cells[:, None]


def report(console, tally):
    """A table of wrong answers; how many there are."""
    table = Table("kind", *WAYS, title="wrong of asked")
    for kind in adversarial.KINDS:
        if tally.asked[kind, "exact"]:
            asked = [(way, tally.asked[kind, way]) for way in WAYS]
            table.add_row(kind, *(f"{tally.wrong[kind, way]} of {n:,}" if n else "–" for way, n in asked))
    console.print(table)
    for (kind, way), (p, q) in tally.examples.items():
        console.print(f"wrong, {kind}, {way}:\n  {p.tolist()}\n  {q.tolist()}")
    return sum(tally.wrong.values())


def main(arguments=None):
    """Run; 0 if every answer was right, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.exactness", description="Hard pairs of triangles against rational arithmetic.")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="how many pairs in all, spread over the kinds")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other pairs")
    parser.add_argument("--kind", action="append", choices=list(adversarial.KINDS), help="this kind only; may be given several times")
    parser.add_argument("--narrow", action="append", choices=list(VOLUME_TYPES),
                        help="nodes of two or four children of this volume type only; all "
                        "of them if it is not given: 30 s more to compile")
    chosen = parser.parse_args(arguments)
    console, runner, done = Console(), Runner(chosen.seed, chosen.narrow or list(VOLUME_TYPES)), 0
    columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
               TextColumn("{task.fields[wrong]} wrong"))
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=chosen.pairs, wrong=0)
            for kind in cycle(chosen.kind or adversarial.KINDS):
                if done >= chosen.pairs:
                    break
                n = min(BATCH, chosen.pairs - done)
                runner.batch(kind, n)
                done += n
                progress.update(task, completed=done, description=kind, wrong=sum(runner.tally.wrong.values()))
    except KeyboardInterrupt:
        console.print(f"Interrupted after {done:,} pairs.")
    wrong = report(console, runner.tally)
    console.print(f"{done:,} pairs, {sum(runner.tally.asked.values()):,} answers, {wrong} wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
