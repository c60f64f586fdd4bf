"""The image engine compared with BVHs: surfaces whose faces change in every frame, a thousand deformed frames, and a GPU.

    python -m benchmarks.image soups [--frames 12]       CPU: new vertices and faces in every frame, compared with BVHs built for them
    python -m benchmarks.image agree [--frames 1000]     conservative mode and the BVH engine on random deformations of all scenes
    python -m benchmarks.image cuda [--frames 24]        device arrays in, pairs out: a cloth with itself, two bodies

Times are means of distinct frames, in turns, on one core; those of a GPU medians of frames after the first, Python included. All pairs are
compared with those of a BVH.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import alone
from experiments.georgii2007.cloth import cloth
from experiments.georgii2007.scenes import creatures, dragons, rigid_rabbits, soft_horses, soft_rabbits
from pliant import shapes

SIZES = (10_000, 100_000, 300_000)
SMALL = (lambda: soft_rabbits(2_400, 4), lambda: soft_horses(6_000, 4), lambda: creatures(3, 1, (4, 1, 4, 2), 4),
         lambda: rigid_rabbits(8, 9_600, 4), lambda: dragons(4_000, 4), lambda: cloth(800, 4))


def soup(faces, rng):
    """Triangles anywhere in a cube, sized to fill it; half of them in strips that share vertices."""
    strips = faces // 20
    way = rng.standard_normal((strips, 12, 3)).cumsum(1) / np.cbrt(faces) / 2 + rng.uniform(-1, 1, (strips, 1, 3))
    at = 12 * np.arange(strips, dtype=np.int32)[:, None, None] + np.arange(10, dtype=np.int32)[:, None] + np.arange(3, dtype=np.int32)
    alone = faces - 10 * strips
    single = rng.standard_normal((alone, 3, 3)) / np.cbrt(faces) / 2 + rng.uniform(-1, 1, (alone, 1, 3))
    vertices = np.concatenate([way.reshape(-1, 3), single.reshape(-1, 3)])
    return vertices, np.concatenate([at.reshape(-1, 3), 12 * strips + np.arange(3 * alone, dtype=np.int32).reshape(-1, 3)])


def sheet(faces, rng):
    """A wavy cloth triangulated again in every frame: another grid over the same surface."""
    across = max(int(np.sqrt(faces / 2) * rng.uniform(0.9, 1.1)), 2)
    along = max(faces // (2 * across), 2)
    u, v = np.meshgrid(np.linspace(0, 1, across + 1), np.linspace(0, 1, along + 1), indexing="ij")
    t = rng.uniform(0, 7)
    vertices = np.stack([u + 0.12 * np.sin(9 * v + 11 * u + t), v, 0.3 * np.sin(5 * v + t) * np.cos(6 * u + 2 * np.sin(4 * v))], 2)
    at = (np.arange(across)[:, None] * (along + 1) + np.arange(along)).reshape(-1)
    square = np.stack([at, at + along + 1, at + 1, at + 1, at + along + 1, at + along + 2], 1)
    return vertices.reshape(-1, 3), square.reshape(-1, 3).astype(np.int32)


def by_tree(vertices, faces):
    """Build a BVH for these faces, and query it."""
    return pl.self_collide(pl.Body(vertices, faces), adjacent="ignore")


def by_image(vertices, faces):
    return pl.self_collide((vertices, faces), adjacent="ignore", engine="image")


def timed(call, *args):
    begin = time.perf_counter()
    found = call(*args)
    return time.perf_counter() - begin, found


def run_soups(console, frames):
    """Both engines on frames that share no data."""
    table = Table("surface", "faces", "pairs", "BVH, ms", "image, ms", "image / BVH")
    for make in (soup, sheet):
        for faces in SIZES:
            rng = np.random.default_rng(faces)
            seconds, pairs = np.zeros((frames, 2)), 0
            for k in range(-1, frames):                                 # one frame to warm up
                frame = make(faces, rng)
                order = ((0, by_tree), (1, by_image))[:: 1 if k % 2 else -1]
                found = {}
                for column, call in order:
                    seconds[k, column], found[column] = timed(call, *frame)
                assert np.array_equal(found[0].faces, found[1].faces)
                pairs += len(found[0]) if k >= 0 else 0
            tree, image = 1e3 * seconds.mean(0)
            table.add_row(make.__name__, f"{faces:,}", f"{pairs / frames:,.0f}", f"{tree:.1f}", f"{image:.1f}", f"{image / tree:.2f}")
    console.print(table)


def deformed(vertices, rng):
    """The same surface after a random smooth deformation and rotation."""
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    middle = vertices.mean(0)
    rows = (vertices - middle) @ turn
    size = np.abs(rows).max()
    for _ in range(3):
        way, wave = rng.standard_normal(3), rng.standard_normal(3) * 4 / size
        rows = rows + 0.08 * size * np.sin(rows @ wave + rng.uniform(0, 7))[:, None] * way
    return rows + middle


def run_agree(console, frames):
    """Conservative mode finds exactly the pairs of the BVH: of two halves of a scene, and of the whole scene with itself."""
    scenes, rng = [make() for make in SMALL], np.random.default_rng(11)
    total, wrong = 0, 0
    for k in range(frames):
        scene = scenes[k % len(scenes)]
        frame = scene.frame(int(rng.integers(4)))
        vertices, faces = deformed(frame.vertices, rng), frame.faces
        options = {"engine": "image", "resolution": int(rng.choice([32, 128, 512, 1024])),
                   "direction": None if rng.random() < 0.5 else rng.standard_normal(3)}
        cut = len(faces) // 2
        a, b = (vertices, faces[:cut]), (vertices, faces[cut:])
        for right, found in ((pl.self_collide(pl.Body(vertices, faces)), pl.self_collide((vertices, faces), **options)),
                             (pl.collide(pl.Body(*a), pl.Body(*b)), pl.collide(a, b, **options))):
            total += len(right)
            wrong += not np.array_equal(right.faces, found.faces)
    console.print(f"{frames:,} random deformed frames of {len(scenes)} scenes, with themselves and in halves: {total:,} pairs, "
                  f"{wrong} answers differ")
    assert not wrong


def run_cuda(console, frames):
    """Medians of the whole call, with arrays on the GPU."""
    from pliant.core.device import require_cuda

    cuda = require_cuda()
    table = Table("what", "faces", "pairs", "median, ms", "fastest, ms", "sent, bytes")
    fold = shapes.folding_cloth(100_000, frames + 2)
    faces = cuda.to_device(fold.faces)
    asked = [("cloth, adjacent faces too", fold.frame, lambda v: ((cuda.to_device(v), faces),), pl.self_collide, len(fold.faces))]
    for n in (81_920, 327_680):
        pair = shapes.bumpy_pair(n, frames + 2)
        both = cuda.to_device(pair.faces)
        asked.append(("two bodies", pair.frame, lambda v, both=both: tuple((cuda.to_device(rows), both) for rows in v), pl.collide, 2 * n))
    for name, frame, given, call, count in asked:
        seconds, found = [], None
        for k in range(1, frames + 1):
            ready = given(frame(k))
            cuda.synchronize()
            spent, found = timed(lambda ready=ready, call=call: call(*ready, engine="image"))
            seconds.append(spent)
        milliseconds = 1e3 * np.array(seconds[2:])
        table.add_row(name, f"{count:,}", f"{len(found):,}", f"{np.median(milliseconds):.2f}", f"{milliseconds.min():.2f}",
                      f"{found.image.sent:,}")
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["soups", "agree", "cuda"])
    parser.add_argument("--frames", type=int, default=None)
    asked = parser.parse_args()
    run, frames = {"soups": (run_soups, 12), "agree": (run_agree, 1_000), "cuda": (run_cuda, 24)}[asked.what]
    alone(True)
    run(Console(), asked.frames or frames)


if __name__ == "__main__":
    main()
