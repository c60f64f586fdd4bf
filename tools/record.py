"""Record all answers and counters of Pliant on fixed scenes, to show that a change of the code changes no behaviour, to the byte.

    python tools/record.py OUT.json                play all cases; --only TEXT: those whose name has the text; --list: their names
    python tools/record.py --compare A.json B.json differing or missing frames; exit status 1 if there are any

A line of JSON a frame: of every array of an answer its type, shape and SHA-256, numbers exactly (as hexadecimal floats), and all counters;
"refused" where Pliant refuses to make such a body. Queries run in one thread; cases named threads/ run in two, and of them no counters are
kept, because these depend on who took what. Nothing depends on a clock. Answers depend on the processor: compare those of one machine.

Cases are no full product, as compiling is what costs: all queries and motions with boxes; policies, builders and volumes on few of them.
"""
import argparse
import hashlib
import inspect
import json
import os
import tempfile
import time
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")                      # before NumPy: sums of the elastic solver have one order

import numpy as np
from rich.console import Console
from rich.progress import Progress

import pliant as pl
from pliant import shapes

# --- Names before the rename, so that checkouts from before it can be recorded; `tests/test_names.py` leaves this file out because of them.
# When that is no longer wanted: delete this block, and write the new names where `known`, `keyword`, `how` and `OLD` are used.
OLD = {"frustum_cull": "visible", "UniformGrid": "Grid", "MeshlessNodes": "Nodes", "unignore": "heed", "key_poses": "keys",
       "key_pose": "key", "build_poses": "poses", "double_slabcutball": "slabcutball2"}
NEW_FIELDS = {"n_x": "n_exact", "undecided": "unresolved", "responses": "push_directions", "Closest.points": "point"}
TRAVERSAL = {"sat": "sat", "descend": "descend", "traversal": "rays"}  # option of a query before: field of pl.Traversal


def known(owner, name):
    """What an object has by its new name, or by its old one."""
    return getattr(owner, name if hasattr(owner, name) else OLD[name])


def keyword(call, **options):
    """Options by their new names, or by their old ones if `call` has those."""
    return {name if name in inspect.signature(call).parameters else OLD[name]: value for name, value in options.items()}


def how(**options):
    """Options that change the work of a query, not the answer."""
    fields = {TRAVERSAL[name]: value for name, value in options.items()}
    return {"traversal": pl.Traversal(**fields)} if hasattr(pl, "Traversal") else options


# --- Shapes: functions of the number of a frame ------------------------------------------------------------------------------------------
FRAMES, SHOWN = 5, 20
(BALL, FACES), (SMALL, SMALL_FACES), CLOTH = shapes.icosphere(3), shapes.icosphere(2), shapes.folding_cloth(2_000)
(POINTS, WAYS), (MANY, ANY_WAY) = (np.random.default_rng(n).normal(size=(2, n, 3)) for n in (300, 10_000))
PICTURE = np.stack(np.meshgrid(np.linspace(-1.2, 1.2, 128), np.linspace(-1.2, 1.2, 72), [-4.0]), axis=-1).reshape(-1, 3)
FRUSTUM = [[1, 0, 0, 0.2], [-1, 0.2, 0, 0.7], [0, 1, 0.1, 0.3], [0, 0, -1, 0.4]]
PROJECTION = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, -1.02, 1.5], [0, 0, -1, 2]]
MIXED = np.random.default_rng(3).dirichlet([1, 1, 1], size=FRAMES)      # weights
AFFINE = np.eye(3, 4) + np.random.default_rng(4).normal(scale=0.15, size=(FRAMES, 3, 3, 4))


def surface(k, ball=BALL):
    """A bumpy ball that goes through itself."""
    rows = shapes.bumpy(ball, 0.37 * k, 0.15)
    rows[:, 2] *= rows[:, 0] - 0.3 + 0.1 * np.sin(k)
    return rows


def small(k):
    """A ball that is deep in the surface in frame 0, and away from it in the last."""
    return 0.6 * shapes.bumpy(SMALL, 0.3 * k) + [0.9 + 0.2 * k, 0.2, 0.05]


def pose(k, x=0.0):
    """A rigid matrix."""
    c, s = np.cos(0.3 + 0.4 * k), np.sin(0.3 + 0.4 * k)
    return np.array([[c, -s, 0, x + 0.03 * k], [s, c, 0, 0.1], [0, 0, 1, -0.02 * k], [0, 0, 0, 1]])


def saved(**options):
    """A body that was in a file."""
    with tempfile.TemporaryDirectory() as folder:
        pl.Body(surface(0), FACES, **options).save(Path(folder, "body"))
        return pl.Body.load(Path(folder, "body"))


REST, THREE = surface(0), [surface(k) for k in (0, 1.5, 3)]
PATCHES = [np.flatnonzero(BALL @ pose(k)[0, :3] > 0.93) for k in range(FRAMES)]
SHARES = 0.1 + np.maximum(BALL @ [[1, -1, 0], [0, 1, -1], [0, 0, 1]], 0)
SHARES /= SHARES.sum(axis=1, keepdims=True)
NODES = known(pl, "MeshlessNodes")(np.concatenate([part * REST[::20] for part in (0.3, 0.95)]), 0.9)
SOLVER = pl.Elastic(NODES, young=2e4, volume=1.5, damping=0.1, pinned=np.flatnonzero(NODES.positions[:, 0] < -0.5))
ELASTIC = [SOLVER.step(0.02, forces=np.full(NODES.positions.shape, 0.1 * k)) or
           {"maps": SOLVER.maps(), "positions": SOLVER.positions, "energy": SOLVER.energy()} for k in range(FRAMES)]
JOINTS, BINDS = np.array([-0.9, -0.3, 0.3, 0.9]), np.tile(np.eye(4), (4, 1, 1))  # a skeleton along x
BINDS[:, 0, 3] = -JOINTS
SKELETON, AWAY = pl.Skeleton([-1, 0, 1, 2], BINDS), np.abs(REST[:, :1] - JOINTS)
SKIN = SKELETON.weights(np.argsort(AWAY, axis=1, kind="stable")[:, :2], 1 / (0.1 + np.sort(AWAY, axis=1)[:, :2]))

# --- Motions: (options: a body, what brings it to frame k) -------------------------------------------------------------------------------
MOTIONS = {
    "free": (lambda **o: pl.Body(REST, FACES, **o), lambda b, k: b.update(surface(k))),
    "placed": (lambda **o: pl.Body(REST, FACES, **o), lambda b, k: b.update(surface(k) if k % 2 else None, transform=pose(k))),
    "partly": (lambda **o: pl.Body(REST, FACES, **o), lambda b, k: b.update(surface(0.3 * k)[PATCHES[k]], changed=PATCHES[k])),
    "rigid": (lambda **o: pl.Body.rigid(REST, FACES, **o), lambda b, k: b.update(pose(k))),
    "keyed": (lambda **o: pl.Body(REST, FACES, **keyword(pl.Body, key_poses=THREE), **o),
              lambda b, k: b.update(surface(k), **keyword(b.update, key_pose=k % 3))),
    "posed": (lambda **o: pl.Body(REST, FACES, origin=[0.1, 0, 0], **keyword(pl.Body, build_poses=THREE), **o),
              lambda b, k: b.update(surface(k), copy=False)),
    "welded": (lambda **o: pl.Body(REST[FACES].reshape(-1, 3), np.arange(FACES.size).reshape(-1, 3), weld=True, **o),
               lambda b, k: b.update(surface(k)[FACES].reshape(-1, 3))),
    "copied": (lambda **o: pl.Body(REST, FACES, **o).copy(), lambda b, k: b.update(surface(k))),
    "saved": (saved, lambda b, k: b.update(surface(k))),
    "morph": (lambda **o: pl.Body.morph(THREE, FACES, **o), lambda b, k: b.update(MIXED[k])),
    "morph, placed": (lambda **o: pl.Body.morph(THREE, FACES, rest="mean", **o), lambda b, k: b.update(MIXED[k], transform=pose(k))),
    "additive": (lambda **o: pl.Body.morph(THREE[1:], FACES, base=REST, **o), lambda b, k: b.update(MIXED[k, :2] - 0.2)),
    "relative": (lambda **o: pl.Body.morph([THREE[1] - REST], FACES, base=REST, relative=True, **o), lambda b, k: b.update([k / 3])),
    "blended": (lambda **o: pl.Body.blended(REST, FACES, SHARES, **o), lambda b, k: b.update(AFFINE[k])),
    "blended, placed": (lambda **o: pl.Body.blended(REST, FACES, SHARES, maps=AFFINE[3], **o),
                        lambda b, k: b.update(AFFINE[k], transform=pose(k))),
    "skinned": (lambda **o: pl.Body.blended(REST, FACES, SKIN, **o),
                lambda b, k: b.update(SKELETON.maps([pose(0.2 * k - 0.75, x) for x in (-0.9, 0.6, 0.6, 0.6)]))),
    "meshless": (lambda **o: pl.Body.blended(REST, FACES, NODES.weights(REST, most=4), **o),
                 lambda b, k: b.update(NODES.maps(NODES.positions + 0.2 * np.sin(3 * NODES.positions[:, ::-1] + k)))),
    "elastic": (lambda **o: pl.Body.blended(REST, FACES, NODES.weights(REST), **o), lambda b, k: b.update(ELASTIC[k]["maps"]))}


# --- Queries: (body, the other body, frame): answer; and of scenes -----------------------------------------------------------------------
def ask(who, query, *more, **options):
    """The question about these of the bodies a and b."""
    return lambda a, b, k: getattr(pl, query)(*({"a": a, "b": b}[name] for name in who), *more, **options)


QUERIES = {
    "collide": ask("ab", "collide"), "collide, swapped": ask("ba", "collide"), "collide, contacts": ask("ab", "collide", contacts=True),
    "collide, first": ask("ab", "collide", first=True), "collide, image": ask("ab", "collide", engine="image", resolution=128),
    "collide, no budget": ask("ab", "collide", budget_ms=0), "collide, endless budget": ask("ab", "collide", budget_ms=np.inf),
    "collide, fewer axes": ask("ab", "collide", **how(sat="lite")), "collide, larger first": ask("ab", "collide", **how(descend="larger")),
    "self_collide": ask("a", "self_collide"), "self_collide, ignore": ask("a", "self_collide", adjacent="ignore"),
    "self_collide, first": ask("a", "self_collide", first=True), "self_collide, contacts": ask("a", "self_collide", contacts=True),
    "self_collide, no budget": ask("a", "self_collide", budget_ms=0), "self_within": ask("a", "self_within", 0.02, points=True),
    "within": ask("ab", "within", 0.05), "within, points": ask("ab", "within", 0.3, points=True), "distance": ask("ab", "distance"),
    "self_distance": ask("a", "self_distance"), "signed": ask("a", "closest", 0.5 * POINTS, signed=True),
    "inside": ask("a", "inside", 0.5 * POINTS), "closest": ask("a", "closest", POINTS),
    "closest, near": ask("a", "closest", POINTS, max_distance=0.3),
    "cast": ask("a", "cast", 2 * POINTS, WAYS), "cast, picture": lambda a, b, k: pl.cast(a, PICTURE, [0, 0.01 * k, 1]),
    "cast, limits": ask("a", "cast", POINTS[0], WAYS, t_min=0.1, t_max=np.linspace(0, 2, len(WAYS))),
    "cast, stackless": ask("a", "cast", 2 * POINTS, -POINTS, **how(traversal="stackless")),
    "cast_all": ask("a", "cast_all", 2 * POINTS, -POINTS), "occluded": ask("a", "occluded", 2 * POINTS, WAYS),
    "pick": lambda a, b, k: pl.pick(a, [0.4, 0.1, -3], [0.02 * k, 0.01, 1]),
    "frustum_cull": lambda a, b, k: {"face": getattr(found := known(pl, "frustum_cull")(a, FRUSTUM), "face", found)},
    "frustum_cull, matrix": lambda a, b, k: {"face": getattr(found := known(pl, "frustum_cull")(a, matrix=PROJECTION), "face", found)},
    "first_contact": lambda a, b, k: pl.first_contact(a, b, None, lambda t: small(k) + [4 - 4 * t, 0, 0], steps=3, tolerance=1e-4),
    "state": lambda a, b, k: {"pairs": pl.collide(a, b), "vertices": a.vertices,
                              "box": getattr(a, "bounds", None) if hasattr(a, "bounds") else a.box(),
                              "log": [[each.update, each.policy] for each in a.policy_log]}}
RAYS = "cast", "occluded", "pick"
SCENES = {name: lambda s, k, ask=ask: ask(s, None, k) for name, ask in QUERIES.items() if name.startswith((*RAYS, "closest"))} | {
    "cast, masks": lambda s, k: pl.cast(s, 3 * POINTS, -POINTS, mask=1 + np.arange(len(POINTS)) % 15),
    "frustum_cull": lambda s, k: known(pl, "frustum_cull")(s, FRUSTUM), "candidates": lambda s, k: {"bodies": s.candidates()},
    "collide": lambda s, k: s.collide(), "collide, first": lambda s, k: s.collide(first=True),
    "collide, all": lambda s, k: s.collide(self_pairs=True, contacts=True, adjacent="exact" if k % 2 else "ignore"),
    "collide, each": lambda s, k: s.collide(first="each", self_pairs=True), "collide, no budget": lambda s, k: s.collide(budget_ms=0),
    "collide, traversal": lambda s, k: s.collide(budget_ms=np.inf, **how(sat="lite", descend="larger")),
    "within": lambda s, k: s.within(0.05), "within, all": lambda s, k: s.within(0.01, self_pairs=True, points=True),
    "distance": lambda s, k: s.distance(),
    "distance, body": lambda s, k: pl.distance(s, pl.Body(0.2 * SMALL + [0.1 * k, 2.5, 0], SMALL_FACES))}
IMAGE = {"conservative": {}, "resolution": {"resolution": 64}, "direction": {"direction": [0.3, 0.2, 1]}, "contacts": {"contacts": True},
         "first": {"first": True}, "sampled": {"mode": "sampled", "resolution": 256}, "open": {"mode": "sampled", "closed": False},
         "mark": {"mode": "sampled", "passes": 1}, "drop": {"mode": "sampled", "passes": 1, "rest": "drop"}, "cpu": {"device": "cpu"}}
THREADS = {
    "collide": lambda s, k: pl.collide(s[0], s[1], contacts=True), "self_collide": lambda s, k: pl.self_collide(s[0]),
    "within": lambda s, k: pl.within(s[0], s[1], 0.005, points=True), "self_within": lambda s, k: pl.self_within(s[0], 0.002),
    "distance": lambda s, k: pl.distance(s[0], s[2]), "closest": lambda s, k: pl.closest(s[0], MANY, signed=True),
    "cast": lambda s, k: pl.cast(s, 2 * MANY, ANY_WAY), "cast_all": lambda s, k: pl.cast_all(s[0], 2 * MANY, -MANY),
    "occluded": lambda s, k: pl.occluded(s, 2 * MANY, ANY_WAY), "picture": lambda s, k: pl.cast(s, PICTURE, [0, 0, 1]),
    "scene": lambda s, k: s.collide(self_pairs=True), "image": lambda s, k: pl.collide(s[0], s[1], engine="image")}
POLICIES = (*({"name": name} for name in ("lazy", "active", "bottom_up", "hybrid", "auto", "fitted", "inflated", "rebuild")),
            {"name": "hybrid", "depth": 2, "below": "subtree"}, {"name": "hybrid", "depth": 1, "below": 2},
            {"name": "fitted", "how": "plain"}, {"name": "inflated", "how": "plain"},
            {"name": "inflated", "how": "plain", "criterion": "A|B", "p_max": 0.5}, {"name": "blended", "stamps": False},
            {"name": "blended", "between": 2}, {"name": "blended", "front": True}, {"name": "convex", "bound": "greedy"},
            {"name": "convex", "boxes": "aabb"}, {"name": "convex", "front": True}, {"name": "convex", "boxes": "obb", "leaves": "exact"})
BUILDERS = ("sah", "connectivity", "centre", "mean", "partition", "covariance", "matching")
VOLUMES = ("sphere", "kdop6", "kdop14", "kdop18", "kdop26", "obb", "rss", "slabcutball", "double_slabcutball")
SOME = ("free", "placed", "partly", "rigid", "keyed", "morph", "additive", "blended", "blended, placed")


# --- Cases: (make, ask); make(): (what is asked about, what brings it to frame k); ask(it, k): the answer -------------------------------
def pair(motion, query, volume="aabb", theirs=None, arity=8, leaf=8, **options):
    """A body of some motion and a small free one."""
    def make():
        make_body, update = MOTIONS[motion]
        a = make_body(volume=volume, arity=arity, leaf=leaf, **options)
        b = pl.Body(small(0), SMALL_FACES, volume=theirs or volume, arity=arity, leaf=leaf)
        return (a, b), lambda k: (update(a, k), b.update(small(k)))
    return make, lambda bodies, k: QUERIES[query](*bodies, k)


def crowd(rules=True):
    """Bodies of all motions, some of which stay in some frames; with `rules` also ids that were used before, and pairs that are ignored."""
    bodies = [(make(), update) for make, update in (MOTIONS[name] for name in ("free", "rigid", "morph", "blended"))]
    bodies += [(pl.Body(small(0), SMALL_FACES, policy="lazy"), lambda b, k, n=n: b.update(small((k + 2 * n) % 6))) for n in range(3)]
    scene = pl.Scene()
    ids = [scene.add(body, group="pair" if n < 2 else None, mask=1 << n) for n, (body, _) in enumerate(bodies)]
    scene.add(pl.Body(CLOTH.frame(30), CLOTH.faces), box=[[-1, -1, -1], [1, 1, 1]])
    if rules:
        scene.remove(ids[4])
        scene.add(bodies[4][0])
        scene.ignore("pair", "pair")
        scene.ignore(ids[2], ids[3])
        scene.ignore(ids[5], ids[5])

    def move(k):
        for body, update in [each for n, each in enumerate(bodies) if (n + k) % 3]:
            update(body, k)
        if k == 3 and rules:
            known(scene, "unignore")("pair", "pair")
    return scene, move


def flock(count, subdivisions, *place):
    """A scene of such surfaces, side by side along a line, or where `place` says."""
    ball, faces = shapes.icosphere(subdivisions)
    bodies = [pl.Body(ball, faces) for _ in range(count)]
    return pl.Scene(bodies), lambda k: [body.update(surface(n + 0.3 * k, ball) + [place[n] if place else 2.7 * n, 0.2 * k, 0])
                                        for n, body in enumerate(bodies) if n % 4 != k]


def soup(cells):
    """A grid, of which the mesh changes in the last frame."""
    grid, last = known(pl, "UniformGrid")(REST, FACES, cells=cells), (CLOTH.frame(30), CLOTH.faces)
    return grid, lambda k: grid.update(*((surface(k),) if k < FRAMES - 1 else last))


def cases():
    """{name: (make, ask)}, all of them."""
    made = {f"motion/{motion}/{query}": pair(motion, query) for motion, query in product(MOTIONS, QUERIES)}
    made |= {f"policy/{', '.join(map(str, policy.values()))}/{motion}/{query}": pair(motion, query, policy=policy)
             for policy, motion, query in product(POLICIES, SOME, ("collide", "distance", "cast", "state"))}
    made |= {f"build/{name}/{motion}/{query}": pair(motion, query, build=name)
             for name, motion, query in product(BUILDERS, SOME[::2], ("collide", "distance"))}
    for name in VOLUMES:
        volume = name if name in pl.Body.__doc__ else OLD.get(name, name)
        made |= {f"volume/{name}/free/{query}": pair("free", query, volume)
                 for query in ("collide", "self_collide", "distance", "within", "cast", "closest")}
        made |= {f"volume/{name}/{motion}/collide": pair(motion, "collide", volume) for motion in ("rigid", "morph", "blended")}
        made |= {f"volume/{name}/free, {each}/collide": pair("free", "collide", volume, policy=each) for each in ("fitted", "inflated")}
    made |= {f"volume/obb/rigid/{query}": pair("rigid", query, "obb")
             for query in ("collide, fewer axes", "collide, larger first", "distance")}
    made["volume/aabb and obb/free/collide"] = pair("free", "collide", theirs="obb")
    for arity, leaf in ((4, 8), (2, 1), (8, 3)):
        made[f"arity/{arity}, leaf {leaf}/collide"] = pair("free", "collide", arity=arity, leaf=leaf)
    made |= {f"scene/{name}": (crowd, ask) for name, ask in SCENES.items()}
    made |= {f"scene, no rules/{name}": (lambda: crowd(False), SCENES[name]) for name in ("collide, all", "within, all", "cast")}
    made |= {f"scene, apart/{name}": (lambda: flock(20, 2), SCENES[name]) for name in ("collide", "candidates", "distance", "cast")}
    for name, options in IMAGE.items():
        made[f"image/{name}/collide"] = (None, lambda _, k, options=options: pl.collide(
            (surface(k), FACES), (small(0.5 * k), SMALL_FACES), engine="image", **options))
        made[f"image/{name}/self_collide"] = (None, lambda _, k, options=options: pl.self_collide(
            (CLOTH.frame(20 + 5 * k), CLOTH.faces) if k % 2 else (surface(k), FACES), engine="image", **options))
    made |= {f"grid/{cells}/{name}": (lambda cells=cells: soup(cells), lambda grid, k, ask=ask: ask(grid, None, k))
             for cells, (name, ask) in product((None, 7), QUERIES.items()) if name.startswith(RAYS)}
    made["elastic"] = (None, lambda _, k: ELASTIC[k])
    made["distance/from afar"] = (None, lambda _, k: pl.distance(
        pl.Body(surface(k), FACES), pl.Body(10.0**(6 * k) * (SMALL + [10, 0, 0]), SMALL_FACES)))
    return made | {f"threads/{name}": (lambda: flock(3, 5, 0, 0.3, 2.7), ask) for name, ask in THREADS.items()}


# --- Recording and comparing -------------------------------------------------------------------------------------------------------------
def told(value, counters):
    """An answer as JSON: arrays by digest, floats in full; without `counters` where they are not wanted."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, str, float)):
        return value.hex() if isinstance(value, float) else value
    fields = value if isinstance(value, dict) else getattr(value, "_fields", getattr(value, "__dataclass_fields__", None))
    if fields is None:
        return [told(each, counters) for each in value]
    made, left_out = {}, {"seconds", "_triangles"} | (set() if counters else {"stats", "counters", "image"})
    for field in set(fields) - left_out:
        each, name = value[field] if isinstance(value, dict) else getattr(value, field), NEW_FIELDS.get(field, field)
        made[NEW_FIELDS.get(f"{type(value).__name__}.{field}", name)] = each.tolist() if field == "counters" else told(each, counters)
    return dict(sorted(made.items()))


def play(make, ask, threads):
    """What comes of a case, frame by frame, and the error if it was one."""
    pl.set_threads(threads)
    try:
        subject, move = make() if make else (None, lambda k: None)
    except (pl.PliantError, ValueError):
        yield "refused", None
        return
    for k in range(FRAMES):
        try:
            move(k)
            yield told(ask(subject, k), threads == 1), None
        except Exception as error:
            yield {"error": type(error).__name__}, error


def record(path, chosen, console):
    """Play the cases and write a line a frame; how many frames were errors."""
    wrong, start = 0, time.perf_counter()
    with path.open("w", encoding="utf-8") as file, Progress(console=console, transient=True) as progress:
        for name, case in progress.track(chosen.items(), description="cases"):
            begin = time.perf_counter()
            for k, (answer, error) in enumerate(play(*case, 2 if name.startswith("threads/") else 1)):
                file.write(json.dumps({"case": name, "frame": k, "answer": answer}) + "\n")
                if error is not None:
                    wrong += 1
                    console.print(f"{name}, frame {k}: {answer['error']}: {error}", style="red", markup=False)
            console.print(f"{time.perf_counter() - begin:8.2f} s  {name}", markup=False, highlight=False)
    console.print(f"{len(chosen)} cases, {time.perf_counter() - start:.0f} s, {wrong} frames with errors; {pl.__file__}", markup=False)
    return wrong


def read(path):
    """{case and frame: answer} of a file."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {f"{line['case']}, frame {line['frame']}": line["answer"] for line in lines}


def difference(a, b):
    """What differs between two answers, field by field where they have fields."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return f"{a!s:.60} → {b!s:.60}"
    return "; ".join(f"{name}: {a.get(name)} → {b.get(name)}" for name in a | b if a.get(name) != b.get(name))


def main():
    """The command line: the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--compare", nargs=2, type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.compare:
        before, after = map(read, options.compare)
        pairs = {key: (before.get(key, "missing"), after.get(key, "missing")) for key in before | after}
        found = [f"{key}: {difference(a, b)}" for key, (a, b) in pairs.items() if a != b]
        print(*found[:SHOWN], f"{len(before)} and {len(after)} frames, {len(found)} differ", sep="\n")
        return int(bool(found))
    chosen = {name: case for name, case in cases().items() if options.only in name}
    if options.list or options.out is None:
        print(*chosen, sep="\n")
        return 0
    return int(bool(record(options.out, chosen, Console(width=160))))


if __name__ == "__main__":
    raise SystemExit(main())
