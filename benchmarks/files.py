"""The pairs that `pliant check` finds in files, compared with libigl's exact ones (CGAL): between bodies, and of each body with itself.

    python -m benchmarks.files FILE... [--frames 20]       several files in one argument, separated by commas, are one scene

Frames are evenly spaced. Bodies are welded as in a check; libigl gets the same vertices and the welded faces. In a body with itself libigl
leaves out faces without area, pairs that share three vertices, also if these are only at the same places, and some that are folded flat
about a common edge, whose plane it rounds.
Differences with such a cause are counted apart. The exit code is 1 if there is any other.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.cloth import degenerate, shared
from benchmarks.harness import packed, sorted_pairs
from pliant.check.plan import CheckOptions, make_pair_filter
from pliant.check.worker import FrameWorker
from pliant.io.read import read


def libigl_pairs(one, other):
    """Sorted pairs (m, 2) of two bodies, or of one with itself."""
    from igl.copyleft import cgal

    if one is other:
        found = cgal.remesh_self_intersections(one.vertices, one._welded_faces.astype(np.int64), detect_only=True)[2]
        return sorted_pairs(packed(np.sort(found, axis=1)))
    found = cgal.intersect_other(one.vertices, one._welded_faces.astype(np.int64), other.vertices, other._welded_faces.astype(np.int64),
                                 detect_only=True)[0]
    return sorted_pairs(packed(found))


def omitted_by_libigl(body, pairs):
    """(m,) bool: of pairs of a body with itself, those that libigl does not look for, or whose plane it rounds. Vertices at one place are
    one vertex for libigl, also if they are not welded."""
    faces, vertices = body._welded_faces, body.vertices
    flat = np.array([degenerate(vertices[faces[k]]) for k in pairs.reshape(-1)], bool).reshape(-1, 2).any(axis=1)
    _, places = np.unique(vertices, axis=0, return_inverse=True)
    together = shared(pairs, places.reshape(-1)[faces])
    return flat | (together >= 2) | (together > shared(pairs, faces))


def compare(paths, count):
    """(bodies, triangles, frames, pairs, explained differences, other differences) of a scene."""
    animation = read(paths)
    worker = FrameWorker(animation, CheckOptions(), make_pair_filter(CheckOptions(), [actor.name for actor in animation.actors]))
    frames = sorted({round(k) for k in np.linspace(0, animation.frames - 1, min(count, animation.frames))})
    n_pairs, explained, other = 0, 0, 0
    for frame in frames:
        found = worker.check_frame(frame)
        for i in range(len(worker.bodies)):
            for j in range(i, len(worker.bodies)):
                ours = found.faces[(found.bodies == [i, j]).all(axis=1)]
                theirs = libigl_pairs(worker.bodies[i], worker.bodies[j])
                n_pairs += len(theirs)
                keys, their_keys = packed(ours), packed(theirs)
                more = ours[~np.isin(keys, their_keys)]
                causes = omitted_by_libigl(worker.bodies[i], more) if i == j else np.zeros(len(more), bool)
                explained += int(causes.sum())
                other += int((~causes).sum()) + int((~np.isin(their_keys, keys)).sum())
    return len(worker.bodies), sum(map(len, worker.bodies)), len(frames), n_pairs, explained, other


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.files", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", help="a file, or several of one scene, separated by commas")
    parser.add_argument("--frames", type=int, default=20, help="of each scene, at most")
    chosen, console = parser.parse_args(), Console()
    table, wrong = Table("file", "bodies", "triangles", "frames", "pairs of libigl", "left out by libigl", "other differences"), 0
    for scene in chosen.files:
        row = compare([Path(part) for part in scene.split(",")], chosen.frames)
        wrong += row[-1]
        table.add_row(", ".join(Path(part).name for part in scene.split(",")), *(f"{value:,}" for value in row))
    console.print(table)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
