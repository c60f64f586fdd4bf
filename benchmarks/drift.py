"""Does `auto` notice when a BVH is degraded? Bodies that drift away from the shape their BVH was built for, 1,000 frames each.

    python -m benchmarks.drift             all motions, two sizes, then the standard scenes; options: --help

A frame is an update and a query against a body that does not move. Policies take turns of --turn frames, in rotating order, in one process
on one core; every run is repeated, and the minimum time of a frame counts: `auto` makes the same choices each time. The QUERY of `auto` is
timed separately from the refit before it, and compared with queries in a BVH built from that frame (building is not timed), refitted by
the same policy; every --every-th frame, interpolated in between; likewise n_v, which has no noise. The WHOLE
frame is compared with fixed policies, samples and rebuilds included, as far as these finish in --budget seconds.

The standard scenes (`benchmarks.peers`, `cloth`, `swarm`) degrade no BVH: there `auto` should cost as much as the best fixed policy.
"""

import argparse
import gc
import os
import time
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks import cloth, peers, swarm
from benchmarks.harness import alone, compare, finish
from pliant import shapes
from pliant.refit import auto

FIXED = ("bottom_up", "hybrid", "lazy")
WINDOW = 50  # frames; the worst window is reported
AIM_FRESH, AIM_FIXED = 1.5, 1.15


# --- motions: (vertices of frame after frame, faces) ---------------------------------------------------------------------------------

def sphere(faces):
    """A bumpy sphere, its vertices and faces."""
    scene = shapes.bumpy_pair(faces, 2)
    return shapes.bumpy(scene.directions, 0.3), scene.faces


def turned(vertices, angle, axis=2):
    """Vertices rotated about an axis, by one angle or one each."""
    x, y, z = (vertices[:, (axis + k) % 3] for k in (1, 2, 0))
    c, s = np.cos(angle), np.sin(angle)
    out = np.empty_like(vertices)
    out[:, (axis + 1) % 3], out[:, (axis + 2) % 3], out[:, axis] = c * x - s * y, s * x + c * y, z
    return out


def shear(faces, frames):
    v, f = sphere(faces)
    return (v + np.outer(v[:, 2], [4 * k / frames, 2 * k / frames, 0]) for k in range(frames)), f


def stretch(faces, frames):
    """Stretching along the diagonal, up to sixfold."""
    v, f = sphere(faces)
    along = np.ones(3) / np.sqrt(3)
    return (v + np.outer(v @ along, 5 * k / frames * along) for k in range(frames)), f


def twist(faces, frames):
    v, f = sphere(faces)
    return (turned(v * [1, 1, 2], 12 * k / frames * v[:, 2]) for k in range(frames)), f


def whirl(faces, frames):
    """Rotation about the z axis, the inner parts faster."""
    v, f = sphere(faces)
    inward = 1 - np.hypot(v[:, 0], v[:, 1])
    return (turned(v, 16 * k / frames * inward) for k in range(frames)), f


def stir(faces, frames):
    """A steady flow that folds the surface over and over."""
    v, f = sphere(faces)

    def flow():
        w = v
        for _ in range(frames):
            yield w
            w = w + 3 / frames * np.sin(3 * w[:, [1, 2, 0]] + [0, 1, 2])
    return flow(), f


def flakes(faces):
    """Small triangles without common vertices: centres (n, 3), shapes (n, 3, 3), faces."""
    rng = np.random.default_rng(71)
    return rng.uniform(-1, 1, (faces, 3)), rng.standard_normal((faces, 3, 3)) * 0.2 / np.cbrt(faces), np.arange(3 * faces).reshape(-1, 3)


def bounced(x):
    """Coordinates that grow without limit, wrapped to −1 … 1."""
    return np.abs((x + 1) % 4 - 2) - 1


def scatter(faces, frames, speed=0.5):
    """Flakes, each with its own velocity: after a third of the frames all have other flakes near them."""
    c, t, f = flakes(faces)
    way = speed * np.random.default_rng(5).standard_normal((faces, 3))
    return ((bounced(c + k / frames * way)[:, None] + t).reshape(-1, 3) for k in range(frames)), f


def vortex(faces, frames):
    """Flakes that orbit, the inner ones faster."""
    c, t, f = flakes(faces)
    inward = 1 - np.hypot(c[:, 0], c[:, 1])
    return ((turned(c, 16 * k / frames * inward)[:, None] + t).reshape(-1, 3) for k in range(frames)), f


def debris(faces, frames):
    """Crumbs of 80 faces, each with its own velocity: leaves stay small, their parents do not."""
    v, f = shapes.icosphere(1)
    n = faces // len(f)
    rng = np.random.default_rng(5)
    centres, ways = rng.uniform(-1, 1, (n, 3)), 0.5 * rng.standard_normal((n, 3))
    crumbs = 0.3 / np.cbrt(n) * v
    all_faces = (f + len(v) * np.arange(n)[:, None, None]).reshape(-1, 3)
    return ((bounced(centres + k / frames * ways)[:, None] + crumbs).reshape(-1, 3) for k in range(frames)), all_faces


def tumble(faces, frames):
    """A long body that rotates and keeps its shape."""
    v, f = sphere(faces)
    return (turned(turned(v * [1, 1, 3], 3 * k / frames, 0), 2 * k / frames) for k in range(frames)), f


def grow(faces, frames):
    v, f = sphere(faces)
    return (v * (1 + 2 * k / frames) for k in range(frames)), f


MOTIONS = {"shear": shear, "stretch": stretch, "twist": twist, "whirl": whirl, "stir": stir, "scatter": scatter,
           "fast scatter": partial(scatter, speed=2.0), "vortex": vortex, "debris": debris, "tumble": tumble, "grow": grow}


# --- one motion ------------------------------------------------------------------------------------------------------------------

class Runner:
    """A body under one policy; seconds of each frame: update, refit and query; and n_v."""

    def __init__(self, policy, vertices, faces, frames):
        self.body, self.times = pl.Body(vertices, faces, policy=policy), np.zeros((frames, 3))
        self.met = np.zeros(frames)

    def step(self, k, vertices, other):
        """Frame k; the answer."""
        start = time.perf_counter()
        self.body.update(vertices)
        moved = time.perf_counter()
        self.body._bvh_at(self.body._motion.scale).refit()
        ready = time.perf_counter()
        answer = pl.collide(self.body, other)
        self.times[k] = moved - start, ready - moved, time.perf_counter() - ready
        self.met[k] = answer.stats.n_v
        return answer


class Watch:
    """Measures the seconds that `auto` spends on samples and rebuilds."""

    def __enter__(self):
        self.seconds, self.real = 0.0, auto.check_tree
        auto.check_tree = self.look
        return self

    def look(self, *args):
        start = time.perf_counter()
        self.real(*args)
        self.seconds += time.perf_counter() - start

    def __exit__(self, *error):
        auto.check_tree = self.real


def fresh_query(coming, k, faces, policy, other):
    """(seconds, n_v) of a query in a BVH that is new at frame k: the mean of the frames around it, since repeated queries are unusual,
    after some that load it into the caches."""
    near = [coming[i] for i in range(k, k + 8) if i in coming]
    body, last = Runner(policy, near[min(1, len(near) - 1)], faces, len(near) + 3), len(near)
    for i, vertices in enumerate([*near, *near[:3]]):
        body.step(i, vertices, other)
    return float(body.times[last:last + len(near[:3]), 2].mean()), float(body.met[last:last + len(near[:3])].mean())


def play(motion, faces, options):
    """All policies through one motion, once: (runners, {frame: (seconds, n_v) of a fresh query}, seconds of samples in each frame,
    frames that differ)."""
    moving, indices = motion(faces, options.frames)
    other = pl.Body(sphere(20_480)[0] * 0.7 + [0.6, 0.4, 0.3], sphere(20_480)[1], policy="bottom_up")
    runners, fresh, looks, differ, watch = {}, {}, [], 0, Watch()
    gc.collect()
    gc.disable()
    for begin in range(0, options.frames, options.turn):
        coming = {k: next(moving) for k in range(begin, min(begin + options.turn, options.frames))}
        runners = runners or {policy: Runner(policy, coming[0], indices, options.frames) for policy in ("auto", *FIXED)}
        order, answers = [policy for policy in runners if policy == "auto" or runners[policy].times.sum() < options.budget], {}
        shift = begin // options.turn % len(order)
        for policy in order[shift:] + order[:shift]:
            for k, vertices in coming.items():
                with watch:
                    answers[policy, k] = runners[policy].step(k, vertices, other).faces
                    looks += [watch.seconds] * (policy == "auto")
        mode = next(choice.policy for choice in reversed(runners["auto"].body.policy_log) if choice.policy != "rebuild")
        fresh |= {k: fresh_query(coming, k, indices, mode, other) for k in coming if k % options.every == 0}
        differ += sum(not np.array_equal(answers["auto", k], answer) for (_, k), answer in answers.items())
    gc.enable()
    return runners, fresh, np.array(looks), differ


def measure(name, faces, options):
    """One row: a motion at one size."""
    times, fresh, looks, logs, differ = {}, {}, np.inf, [], 0
    for _ in range(options.repeat):
        runners, queries, spent, wrong = play(MOTIONS[name], faces, options)
        for policy, runner in runners.items():
            times[policy] = np.minimum(times.get(policy, np.inf), runner.times)
        fresh = {k: min(seconds, fresh.get(k, np.inf)) for k, (seconds, _) in queries.items()}
        looks, differ = np.minimum(looks, spent), differ + wrong
        logs.append(runners["auto"].body.policy_log)
    assert all(log == logs[0] for log in logs), "auto did not choose the same"
    new = np.interp(np.arange(options.frames), list(fresh), list(fresh.values()))
    met, new_met = runners["auto"].met, np.interp(np.arange(options.frames), list(queries), [n_v for _, n_v in queries.values()])
    windows = {policy: worst(each[:, 2], new) for policy, each in times.items()}
    ratios = {policy: float(times["auto"][times[policy][:, 2] > 0].sum() / times[policy].sum()) for policy in FIXED}
    best = max(FIXED, key=ratios.get)
    return {"motion": name, "status": "ran", "faces": faces, "query_to_fresh": float(times["auto"][:, 2].sum() / new.sum()),
            "met_to_fresh": float(met.sum() / new_met.sum()), "met_worst_window": worst(met, new_met),
            "worst_window": windows["auto"], "fixed_worst_window": windows["bottom_up"],
            "new_trees": sum(choice.policy == "rebuild" for choice in logs[0]),
            "trials": sum("times as many" in choice.reason for choice in logs[0]), "looks_share": float(looks.sum() / times["auto"].sum()),
            "best": best, "auto_to": ratios, "frames": {policy: int((each[:, 2] > 0).sum()) for policy, each in times.items()},
            "seconds": {policy: float(each.sum()) for policy, each in times.items()}, "differing_frames": differ,
            "log": [list(choice) for choice in logs[0]]}


def worst(query, new):
    """(largest ratio of queries to fresh ones over a window of frames, the start of that window), if there are queries."""
    n = int((query > 0).sum())
    window = np.ones(min(WINDOW, n))
    ratios = np.convolve(query[:n], window, "valid") / np.convolve(new[:n], window, "valid")
    return float(ratios.max()), int(ratios.argmax())


def table_of(result):
    """The rich table of one size."""
    title = f"{result['faces']:,} triangles, {result['frames']} frames"
    table = Table("motion", title=title)
    for column in ("query / fresh", "worst 50 frames", "n_v / fresh", "worst 50", "bottom-up's worst", "rebuilds", "trials",
                   "in samples and rebuilds", "frame / best fixed", "best fixed", "frames that differ"):
        table.add_column(column, justify="right")
    for row in result["rows"]:
        table.add_row(row["motion"], f"{row['query_to_fresh']:.2f}", "{:.2f} at {}".format(*row["worst_window"]),
                      f"{row['met_to_fresh']:.2f}", "{:.2f} at {}".format(*row["met_worst_window"]),
                      "{:.1f} at {}".format(*row["fixed_worst_window"]), str(row["new_trees"]), str(row["trials"]),
                      f"{row['looks_share']:.1%}", f"{row['auto_to'][row['best']]:.2f}", row["best"], str(row["differing_frames"]))
    return table


# --- standard scenes ---------------------------------------------------------------------------------------------------------------

def under(peer, policy):
    """A library's class with another policy for its bodies."""
    class Chosen(peer):
        name = policy

        def setup(self, *vertices_and_faces):
            real, self.package = self.package, _With(self.package, policy)
            super().setup(*vertices_and_faces)
            self.package = real
    return Chosen


class _With:
    """The package with a policy for all bodies."""

    def __init__(self, package, policy):
        self._package, self.Body = package, partial(package.Body, policy=policy)

    def __getattr__(self, name):
        return getattr(self._package, name)


SCENES = {"spheres 20,480": (peers.Pliant, partial(shapes.bumpy_pair, 20_480, 200)),
          "spheres 327,680": (peers.Pliant, partial(shapes.bumpy_pair, 327_680, 200)),
          "cloth 20,000": (cloth.Pliant, partial(cloth.cloth_scene, 20_000, 200)),
          "cloth 100,000": (cloth.Pliant, partial(cloth.cloth_scene, 100_000, 60)),
          "swarm 27 × 5,120": (swarm.Pliant, partial(shapes.swarm, 27, 5_120, 200)),
          "swarm, arms": (swarm.Pliant, partial(shapes.swarm, 27, 5_120, 200, "arms"))}


def standard(name, options):
    """One row: a scene that does not degrade a BVH."""
    peer, scene = SCENES[name]
    times, differ = {}, 0
    for _ in range(options.repeat):
        for row in compare(scene(), [under(peer, policy) for policy in ("auto", *FIXED)], 1e9, options.turn)["rows"]:
            if row["status"] != "ran":
                return {"scene": name, "status": row["status"]}
            times.setdefault(row["library"], []).append(row["times_ms"])
            differ += row["differing_frames"]
    sums = {policy: float(np.min(each, axis=0).sum()) / 1e3 for policy, each in times.items()}
    best = min(FIXED, key=sums.get)
    each = [sum(times["auto"][k]) / sum(times[best][k]) for k in range(options.repeat)]
    return {"scene": name, "status": "ran", "best": best, "auto_to_best": sums["auto"] / sums[best], "each": each, "seconds": sums,
            "differing_frames": differ}


def scene_table(rows):
    """The rich table of the standard scenes."""
    table = Table("scene", title="standard scenes: auto over the best fixed policy, whole frames")
    for column in ("auto / best", "run by run", "best fixed", *("auto", *FIXED), "frames that differ"):
        table.add_column(column, justify="right")
    for row in rows:
        if row["status"] != "ran":
            table.add_row(f"{row['scene']}: {row['status']}")
            continue
        table.add_row(row["scene"], f"{row['auto_to_best']:.3f}", f"{min(row['each']):.3f} … {max(row['each']):.3f}", row["best"],
                      *(f"{row['seconds'][policy]:.3f} s" for policy in ("auto", *FIXED)), str(row["differing_frames"]))
    return table


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__.partition("\n")[0])
    parser.add_argument("--motions", nargs="*", choices=MOTIONS, default=list(MOTIONS))
    parser.add_argument("--scenes", nargs="*", choices=SCENES, default=list(SCENES))
    parser.add_argument("--faces", type=int, nargs="+", default=[20_480, 81_920], help="triangles of a body: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--every", type=int, default=20, help="frames from one fresh BVH to the next")
    parser.add_argument("--repeat", type=int, default=2, help="runs; the minimum time of a frame counts")
    parser.add_argument("--budget", type=float, default=10, help="seconds that a fixed policy may take for a motion")
    parser.add_argument("--turn", type=int, default=20, help="frames that a policy runs before the next one does")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    results, console = [], Console(width=190)
    for motion in (shear, scatter):
        play(motion, 5_120, argparse.Namespace(**vars(options) | {"frames": 100}))  # loads the kernels
    for faces in options.faces if options.motions else ():
        rows = [measure(name, faces, options) for name in options.motions]
        results.append({"faces": faces, "frames": options.frames, "rows": rows})
        console.print(table_of(results[-1]))
    if options.scenes:
        results.append({"rows": [standard(name, options) for name in options.scenes]})
        console.print(scene_table(results[-1]["rows"]))
    console.print(f"aims: query / fresh and worst {WINDOW} frames ≤ {AIM_FRESH}, auto / best fixed ≤ {AIM_FIXED}", highlight=False)
    finish(console, "update + all pairs of a drifting body", results, options)


if __name__ == "__main__":
    main()
