"""Figures on paper M's ring, and its fish, at increasing distances: the gain of bounds depends on the number of contacts.

    python -m experiments.steinemann2008.contacts [--frames 60] [--repeats 2]

Updates and all pairs, of bodies with default options and bottom-up, on the same frames, pinned to one core, processor time, the minimum of
the repeats for each frame; and the time of the query alone when all volumes are up to date: a limit for the gain of any refit policy.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import alone
from experiments.steinemann2008.scenes import FEW, MANY, ring, shoal

SPREADS = (0.0, 0.1, 0.25)
POLICIES = ("bottom_up", "auto")


def spread(scene, share):
    """All maps (frames + 1, bodies, m, 3, 4) of a scene whose bodies are farther from their centre, by this share of the distance."""
    at = np.array([rows.mean(axis=0) for rows in scene.vertices(0)])
    maps = scene.maps.copy()
    maps[..., 3] += share * (at - at.mean(axis=0))[:, None, :]
    return maps


def play(scene, maps, policy, repeats):
    """(ms a frame, ms of the query alone, pairs a frame)."""
    body, least, pairs = scene.body, None, 0
    bodies = [pl.Body.blended(body.rest, body.faces, body.weights, policy=policy) for _ in range(scene.bodies)]
    together = pl.Scene(bodies)
    for number in range(repeats + 1):  # the first compiles, and is not counted
        times, pairs = [], 0
        for frame in maps[1:]:
            t0 = time.process_time()
            for each, given in zip(bodies, frame, strict=True):
                each.update(given)
            pairs += len(together.collide())
            t1 = time.process_time()
            for each in bodies:
                each.update(transform=np.eye(4))  # volumes stay up to date, but nothing is cached
            t2 = time.process_time()
            together.collide()
            times.append((t1 - t0, time.process_time() - t2))
        least = np.array(times) if number < 2 else np.minimum(least, times)
    return *(1e3 * least.mean(axis=0)), pairs / len(maps[1:])


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    alone(True)
    table = Table("bodies", "farther by", "pairs", "bottom-up, ms", "query alone, ms", "limit", "default, ms", "gain")
    scenes = {f"ring, {nodes} nodes, {contacts}": ring(45_682, nodes, contacts, options.frames)
              for contacts in (FEW, MANY) for nodes in (115, 550)}  # fmt: skip
    scenes["24 fish"] = shoal(24, 8_002, 96, options.frames)
    for name, scene in scenes.items():
        for share in SPREADS:
            maps = spread(scene, share)
            (whole, query, pairs), (ours, _, same) = (play(scene, maps, policy, options.repeats) for policy in POLICIES)
            assert pairs == same
            table.add_row(name, f"{share:.0%}", f"{pairs:.0f}", f"{whole:.2f}", f"{query:.2f}", f"{whole / query:.0f} ×", f"{ours:.2f}",
                          f"{whole / ours:.1f} ×")  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
