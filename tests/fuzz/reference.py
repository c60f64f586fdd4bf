"""The second oracle: the exact reference of `tests/naive*.py`, asked about the vertices of the models. Nothing of the library is called.

Every function raises `Wrong` or says how many rows it has decided: rays, points, faces, pairs of faces with boxes that meet. What is exact
is compared exactly: which faces meet, which a ray hits, whether a distance is 0. Rounded numbers must be as near as the documentation
promises. Where exact arithmetic would take too long, a sample of the rows is decided: `rng` chooses it, by seed and step.
"""
from fractions import Fraction
from math import inf

import numpy as np

import naive
import naive_distances
from contact_checks import check_contact
from fuzz.compare import Wrong
from naive import exact
from near_pairs import root_of
from ray_checks import MOST, _along

PRECISION = Fraction(1, 10**12)                                         # of sizes and distances: docs/distances.md
SMALLEST = 4 * Fraction(5e-324)
MOST_PAIRS, SOME_PAIRS, SOME_CONTACTS, SOME_POINTS = 1500, 24, 3, 12
MOST_SELF = 60                                                          # faces that share vertices are slow to decide


def reach(*arrays):
    """The largest extent of all, and with it the unit of errors: a fraction."""
    return max((Fraction(float(array.max())) - Fraction(float(array.min())) for array in arrays if array.size), default=Fraction(0))


def near(found, square, size):
    """Is a distance as near to the root of its exact square as promised?"""
    if found == inf:
        return False
    right = Fraction(root_of(square)) if square < Fraction(2) ** 2000 else None
    margin = PRECISION * (size + (right or 0)) + SMALLEST
    low, high = max(Fraction(0), Fraction(found) - margin), Fraction(found) + margin
    return (found == 0) == (square == 0) and low**2 <= square <= high**2


def sample(rng, rows, count):
    """At most so many of a list."""
    return [rows[k] for k in np.sort(rng.permutation(len(rows))[:count]).tolist()]


# --- pairs that meet -------------------------------------------------------------------------------------------------------------

def overlapping(a, b):
    """(i, j) of triangles (n, 3, 3) and (m, 3, 3) whose boxes meet; comparisons are exact."""
    low_a, high_a, low_b, high_b = a.min(1)[:, None], a.max(1)[:, None], b.min(1)[None], b.max(1)[None]
    return np.argwhere(((low_a <= high_b) & (low_b <= high_a)).all(axis=2)).tolist()


def check_pairs(rng, a, b, found, part):
    """Pairs of two bodies; `part`: the answer need not have all. A sample is decided where there are very many candidates."""
    candidates = overlapping(a, b)
    listed = {tuple(pair) for pair in found}
    if len(listed - set(map(tuple, candidates))):
        raise Wrong(f"pairs with boxes apart: {sorted(listed - set(map(tuple, candidates)))[:5]}")
    decided = sample(rng, candidates, MOST_PAIRS)
    for i, j in decided:
        meets = naive.triangles_meet_fast(a[i], b[j])
        if meets != ((i, j) in listed) and not (part and meets):
            raise Wrong(f"faces {i} and {j} {'meet' if meets else 'do not meet'}: {a[i].tolist()} {b[j].tolist()}")
    return len(decided)


def check_self_pairs(model, found, adjacent, part):
    """Pairs of one body."""
    if len(model.corners) > MOST_SELF:
        return 0
    right = {tuple(pair) for pair in naive.self_collide(model.world(), model.corners, adjacent).tolist()}
    listed = {tuple(pair) for pair in found}
    if listed - right or (right - listed and not part):
        raise Wrong(f"self-collisions: missing {sorted(right - listed)[:5]}, too many {sorted(listed - right)[:5]}")
    triangles = model.triangles()
    return sum(i < j for i, j in overlapping(triangles, triangles))


def check_contacts(rng, a, b, fields, rows=None):
    """A sample of contacts."""
    rows = sample(rng, range(len(fields["faces"])) if rows is None else rows, SOME_CONTACTS)
    for k in rows:
        i, j = fields["faces"][k].tolist()
        try:
            check_contact(a[i], b[j], fields["segments"][k], fields["normals"][k], fields["depths"][k], fields["coplanar"][k])
        except AssertionError as error:
            raise Wrong(f"contact of faces {i} and {j}: {error} {a[i].tolist()} {b[j].tolist()}") from None
    return len(rows)


def is_part(step):
    return bool(step.get("first")) or step.get("budget_ms") is not None


def collide(rng, world, step, fields):
    a, b = (world.models[step[end]].triangles() for end in "ab")
    count = check_pairs(rng, a, b, fields["faces"].tolist(), is_part(step))
    return count + (check_contacts(rng, a, b, fields) if step.get("contacts") else 0)


def self_collide(rng, world, step, fields):
    model = world.models[step["a"]]
    count = check_self_pairs(model, fields["faces"].tolist(), step["adjacent"], is_part(step))
    return count + (check_contacts(rng, model.triangles(), model.triangles(), fields) if step.get("contacts") else 0)


def scene_collide(rng, world, step, fields):
    count, bodies = 0, list(map(tuple, fields["bodies"].tolist()))
    for i, j in ((i, j) for i in world.ids for j in world.ids if world.ids[i] <= world.ids[j]):
        rows = [k for k, pair in enumerate(bodies) if pair == (world.ids[i], world.ids[j])]
        found = fields["faces"][rows].tolist()
        if (i != j and world.ignored(i, j)) or (i == j and (not step["self_pairs"] or world.ignored_self(i))):
            if rows:
                raise Wrong(f"pairs of bodies {i} and {j}, which are ignored")
            continue
        a, b = world.models[i].triangles(), world.models[j].triangles()
        count += (check_self_pairs(world.models[i], found, "exact", is_part(step)) if i == j else
                  check_pairs(rng, a, b, found, is_part(step)))
        if step.get("contacts"):
            count += check_contacts(rng, a, b, fields, rows)
    return count


# --- distances -------------------------------------------------------------------------------------------------------------------

def decide_distance(rng, a, b, pairs, distance, faces):
    """A least distance among pairs of faces: a sample of the others is not nearer, and those named have it."""
    if not pairs:
        if distance != inf:
            raise Wrong(f"distance {distance} of nothing")
        return 1
    named = tuple(faces)
    if named not in set(pairs):
        raise Wrong(f"faces {named} are no pair")
    size = reach(a, b)
    square = naive_distances.triangle_triangle(a[named[0]], b[named[1]])
    if not near(distance, square, size):
        raise Wrong(f"distance {distance} of faces {named}, exactly {root_of(square)}")
    middle = np.abs(a.mean(1)[:, None] - b.mean(1)[None]).max(axis=2)
    others = sample(rng, pairs, SOME_PAIRS) + sorted(pairs, key=lambda pair: middle[pair])[:6]
    for i, j in others:
        other = naive_distances.triangle_triangle(a[i], b[j])
        if (other < square and not near(distance, other, size)) or (other == 0 and distance != 0):
            raise Wrong(f"distance {distance} of faces {named}; faces {i} and {j} are nearer: {root_of(other)}")
    return 1 + len(others)


def non_adjacent(corners):
    """Pairs i < j of faces that share no vertex."""
    sets = [set(face) for face in corners.tolist()]
    return [(i, j) for i in range(len(sets)) for j in range(i + 1, len(sets)) if not sets[i] & sets[j]]


def every(a, b):
    return [(i, j) for i in range(len(a)) for j in range(len(b))]


def distance(rng, world, step, fields):
    a, b = (world.models[step[end]].triangles() for end in "ab")
    return decide_distance(rng, a, b, every(a, b), fields["distance"], fields["faces"].tolist())


def self_distance(rng, world, step, fields):
    model = world.models[step["a"]]
    a = model.triangles()
    return decide_distance(rng, a, a, non_adjacent(model.corners), fields["distance"], fields["faces"].tolist())


def scene_distance(rng, world, step, fields):
    """The pair of bodies that is named has this distance, and no other pair is nearer by a sample."""
    ids, count = {world.ids[k]: k for k in world.ids}, 0
    pairs = [(i, j) for i in world.ids for j in world.ids if world.ids[i] < world.ids[j] and not world.ignored(i, j)]
    if not pairs:
        return decide_distance(rng, None, None, [], fields["distance"], None)
    named = tuple(ids[number] for number in fields["bodies"].tolist())
    for i, j in pairs:
        a, b = world.models[i].triangles(), world.models[j].triangles()
        if (i, j) == named:
            count += decide_distance(rng, a, b, every(a, b), fields["distance"], fields["faces"].tolist())
        else:
            for f, g in sample(rng, every(a, b), SOME_PAIRS):
                square = naive_distances.triangle_triangle(a[f], b[g])
                if square < Fraction(fields["distance"]) ** 2 and not near(fields["distance"], square, reach(a, b)):
                    raise Wrong(f"distance {fields['distance']}; faces {f} and {g} of bodies {i} and {j} are nearer: {root_of(square)}")
                count += 1
    return count


def decide_within(rng, a, b, pairs, tolerance, faces, distances):
    """Pairs at most so far apart: a sample of those listed, and of those that are not."""
    listed, size = dict(zip(map(tuple, faces), distances, strict=True)), reach(a, b)
    known = set(pairs)
    if not set(listed) <= known:
        raise Wrong(f"pairs that do not count: {sorted(set(listed) - known)[:5]}")
    apart = np.abs(a.mean(1)[:, None] - b.mean(1)[None]).max(axis=2)
    others = sorted((pair for pair in pairs if pair not in listed), key=lambda pair: apart[pair])
    rows = sample(rng, list(listed), SOME_PAIRS) + sample(rng, others[:4 * SOME_PAIRS], SOME_PAIRS // 2)
    for i, j in rows:
        square = naive_distances.triangle_triangle(a[i], b[j])
        if (i, j) in listed:
            if not near(listed[i, j], square, size):
                raise Wrong(f"faces {i} and {j}: {listed[i, j]}, exactly {root_of(square)}")
            if listed[i, j] > tolerance:
                raise Wrong(f"faces {i} and {j}: {listed[i, j]} is beyond {tolerance}")
        elif square <= Fraction(tolerance) ** 2 and not (square and near(tolerance, square, size)):
            raise Wrong(f"faces {i} and {j} are missing: {root_of(square)} apart, within {tolerance}")
    return len(rows)


def within(rng, world, step, fields):
    a, b = (world.models[step[end]].triangles() for end in "ab")
    return decide_within(rng, a, b, every(a, b), step["tolerance"], fields["faces"].tolist(), fields["distances"].tolist())


def self_within(rng, world, step, fields):
    model = world.models[step["a"]]
    a = model.triangles()
    return decide_within(rng, a, a, non_adjacent(model.corners), step["tolerance"], fields["faces"].tolist(), fields["distances"].tolist())


def scene_within(rng, world, step, fields):
    count, bodies = 0, fields["bodies"]
    for i, j in ((i, j) for i in world.ids for j in world.ids if world.ids[i] < world.ids[j]):
        rows = (bodies == [world.ids[i], world.ids[j]]).all(axis=1)
        a, b = world.models[i].triangles(), world.models[j].triangles()
        pairs = [] if world.ignored(i, j) else every(a, b)
        count += decide_within(rng, a, b, pairs, step["tolerance"], fields["faces"][rows].tolist(), fields["distances"][rows].tolist())
    return count


# --- points, rays, planes --------------------------------------------------------------------------------------------------------

def targets(world, step):
    """{id: Model}: the bodies that a step asks about; a body alone has the id 0."""
    if step["target"] == "scene":
        return {world.ids[k]: world.models[k] for k in sorted(world.ids, key=world.ids.get)}
    return {0: world.models[step["target"]]}


def closest(rng, world, step, fields):
    models = targets(world, step)
    triangles = {number: model.triangles() for number, model in models.items()}
    corners = np.concatenate([np.zeros((0, 3, 3)), *triangles.values()])
    points, most = np.array(step["points"], np.float64).reshape(-1, 3), step.get("max_distance")
    rows = sample(rng, range(len(points)), SOME_POINTS)
    if not len(corners):
        rows = []
    right = naive_distances.closest(corners.reshape(-1, 3), np.arange(3 * len(corners)), points[rows]) if rows else []
    size = reach(corners, points)
    for k, (square, _) in zip(rows, right, strict=True):
        found, face, number = abs(float(fields["distance"][k])), int(fields["face"][k]), int(fields["body"][k])
        if face < 0:
            if most is None or (square <= Fraction(most) ** 2 and not near(most, square, size)):
                raise Wrong(f"point {points[k].tolist()}: nothing, but the surface is {root_of(square)} away", [k])
            continue
        if not near(found, square, size):
            raise Wrong(f"point {points[k].tolist()}: {found}, exactly {root_of(square)}", [k])
        own = naive_distances.point_triangle(points[k], triangles[number][face])
        if not near(found, own, size):
            raise Wrong(f"point {points[k].tolist()}: {found} of face {face} of body {number}, exactly {root_of(own)}", [k])
    return len(rows) + (check_signs(triangles, points, rows, fields) if step.get("signed") else 0)


def check_signs(triangles, points, rows, fields):
    """Negative where the winding number of the nearest body is above 0: by the normals of the faces that an exact ray meets."""
    count = 0
    for k in rows:
        if fields["face"][k] < 0 or fields["distance"][k] == 0:
            continue                                                    # nowhere, or on the surface
        corners = triangles[int(fields["body"][k])]
        for direction in ((0.31, 0.52, 0.79), (-0.73, 0.11, 0.37), (0.17, -0.83, 0.29)):
            hits = [hit for hit, *_ in _along(corners.tobytes(), points[k].tobytes(), np.array(direction).tobytes()) if hit.t > 0]
            if all(0 < hit.u and 0 < hit.v and hit.u + hit.v < 1 for hit in hits):
                count += 1
                winding = sum(leaving(corners[hit.face], direction) for hit in hits)
                if (winding > 0) != bool(fields["distance"][k] < 0):
                    raise Wrong(f"point {points[k].tolist()}: signed distance {fields['distance'][k]}, winding number {winding}", [k])
                break
    return count


def inside(rng, world, step, fields):
    """Winding numbers by `check_signs`, and which points are on the surface."""
    triangles = {number: model.triangles() for number, model in targets(world, step).items()}
    corners, points = triangles[0], np.array(step["points"], np.float64).reshape(-1, 3)
    rows = sample(rng, range(len(points)), SOME_POINTS)
    for k in rows:
        on = any(naive_distances.point_triangle(points[k], corner) == 0 for corner in corners)
        if on != bool(fields["on_surface"][k]) or on != bool(np.isnan(fields["winding_number"][k])):
            raise Wrong(f"point {points[k].tolist()}: on the surface {fields['on_surface'][k]}, exactly {on}", [k])
    signs = {"face": np.zeros(len(points)), "body": np.zeros(len(points), int),
             "distance": np.where(fields["on_surface"], 0, np.where(fields["inside"], -1, 1))}
    return len(rows) + check_signs(triangles, points, rows, signs)


def leaving(corners, direction):
    """1 if a ray that meets the inside of this face leaves the body, −1 if it enters it."""
    a, b, c = (corner.tolist() for corner in exact(corners)[0])
    u, v = ([q - p for p, q in zip(a, other, strict=True)] for other in (b, c))
    along = sum((u[i - 2] * v[i - 1] - u[i - 1] * v[i - 2]) * Fraction(direction[i]) for i in range(3))
    return 1 if along > 0 else -1


def lines(world, step, origin, direction):
    """{(body, face): (exact hit, slack of t, …)} of the line of a ray."""
    known = {}
    for number, model in targets(world, step).items():
        for row in _along(model.triangles().tobytes(), origin.tobytes(), direction.tobytes()):
            known[number, row[0].face] = row
    return known


def rays_of(world, step):
    """For each ray (its number, exact hits of its line, those that must be found, those that may be)."""
    low, high = step.get("t_min", 0.0), step.get("t_max", inf)
    origins, directions = (np.array(step[name], np.float64).reshape(-1, 3) for name in ("origins", "directions"))
    for k, (origin, direction) in enumerate(zip(origins, directions, strict=True)):
        right = lines(world, step, origin, direction)
        if any(abs(hit.t) + margin > MOST for hit, margin, _ in right.values()):
            continue                                                    # t is beyond float64
        may = {key for key, (hit, margin, _) in right.items() if low <= hit.t + margin and hit.t - margin <= high}
        must = {key for key, (hit, margin, _) in right.items() if low <= hit.t - margin and hit.t + margin <= high}
        yield k, right, must, may


def ray_text(step, k):
    return f"ray {step['origins'][k]} + t {step['directions'][k]}"


def cast(rng, world, step, fields):
    count = 0
    for k, right, must, may in rays_of(world, step):
        count += 1
        key = int(fields["body"][k]), int(fields["face"][k])
        if key[1] < 0:
            if must:
                raise Wrong(f"{ray_text(step, k)} hits nothing, but (body, face) {min(must)} is there", [k])
            continue
        if key not in may:
            raise Wrong(f"{ray_text(step, k)} hits (body, face) {key}, which is not there, of {sorted(may)}", [k])
        t, (hit, margin, _) = Fraction(float(fields["t"][k])), right[key]
        if abs(t - hit.t) > margin:
            raise Wrong(f"{ray_text(step, k)}: t {float(t)}, exactly {float(hit.t)}", [k])
        before = [other for other in must if right[other][0].t + right[other][1] < hit.t - margin]
        if before:
            raise Wrong(f"{ray_text(step, k)} hits {key} at {float(t)}, but {min(before)} is before it", [k])
    return count


def occluded(rng, world, step, fields):
    count = 0
    for k, _, must, may in rays_of(world, step):
        count += 1
        if (must and not fields["values"][k]) or (fields["values"][k] and not may):
            raise Wrong(f"{ray_text(step, k)}: occluded is {fields['values'][k]}, hits are {sorted(may)}", [k])
    return count


def cast_all(rng, world, step, fields):
    count, ends = 0, np.searchsorted(fields["ray"], np.arange(len(step["origins"]) + 1))
    for k, right, must, may in rays_of(world, step):
        at = slice(ends[k], ends[k + 1])
        found = list(zip(fields["body"][at].tolist(), fields["face"][at].tolist(), strict=True))
        if not must <= set(found) or not set(found) <= may or len(set(found)) != len(found):
            raise Wrong(f"{ray_text(step, k)} hits {found}, right is {sorted(may)}", [k])
        for key, t in zip(found, fields["t"][at].tolist(), strict=True):
            if abs(Fraction(t) - right[key][0].t) > right[key][1]:
                raise Wrong(f"{ray_text(step, k)}: t {t} of {key}, exactly {float(right[key][0].t)}", [k])
        count += 1
    return count


def frustum_cull(rng, world, step, fields):
    count, listed, owners = 0, fields["face"], fields["body"]
    for number, model in targets(world, step).items():
        points, planes = exact(model.world()), exact(np.array(step["planes"]))
        below = points[0].reshape(-1, 3) @ planes[0][:, :3].T * Fraction(2) ** points[1] + planes[0][:, 3] < 0
        right = np.flatnonzero(~below[model.corners].all(axis=1).any(axis=1)) if len(model.corners) else []
        found = listed[owners == number].tolist()
        if found != list(right):
            raise Wrong(f"body {number}: faces {found} are visible, right is {list(right)}")
        count += len(model.corners)
    return count


CHECKS = {f.__name__: f for f in (collide, self_collide, scene_collide, distance, self_distance, scene_distance, within, self_within,
                                  scene_within, closest, inside, cast, occluded, cast_all, frustum_cull)}
