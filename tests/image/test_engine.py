"""engine="image" gives what the reference and the trees give: bodies of all motions, arrays, objects, any resolution and direction."""

from types import SimpleNamespace

import numpy as np
import pytest
from screens import assert_engine, assert_engine_self, assert_form, mesh_of

import blends
import meshes
import morphs
import naive
import pliant as pl
from child import assert_stops_soon, start, together
from integer_spheres import FACES, OTHER, SPHERE, signatures
from pliant import shapes
from pliant.core.jit import DISABLED as OFF
from poses import matrix

RESOLUTIONS = [1, 2, 7] if OFF else [1, 2, 3, 7, 64, 1024]
NONE = np.zeros((0, 2), np.int32)


# --- frames -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_deforming_bodies_at_any_resolution(deforming, resolution):
    for first, second, right in list(deforming)[:2] if OFF else deforming:
        found = assert_engine((first, deforming.faces), (second, deforming.faces), right, resolution=resolution)
        assert found.image.size <= resolution


@pytest.mark.parametrize("direction", [(0, 0, 1), (-1, 0, 0), (1, 1, 0), (0.3, -0.2, 0.9), (1e-300, 2e-300, 0), (1e200, 0, 1e-200)])
def test_any_direction(deforming, direction):
    first, second, right = list(deforming)[3]
    assert len(right)
    found = assert_engine((first, deforming.faces), (second, deforming.faces), right, direction=direction, resolution=64)
    size = np.abs(direction).max()
    np.testing.assert_allclose(np.cross(found.image.direction, np.array(direction) / size), 0, atol=1e-15)


def crumpled(faces, rng):
    """Another frame of a mesh: bumps, folds, noise, stretched and turned."""
    directions, corners = shapes.icosphere(1) if faces == 80 else shapes.icosphere(2)
    vertices = shapes.bumpy(directions, rng.uniform(0, 9), rng.uniform(0, 0.4)) * rng.uniform(0.3, 1.5, 3)
    vertices += rng.choice([0.0, 0.02, 0.3]) * rng.standard_normal(vertices.shape)
    return vertices @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + rng.uniform(-0.6, 0.6, 3), corners


def test_random_frames_are_those_of_the_trees():
    """Hundreds of faces, other ones every time; any direction and resolution. What the trees find is compared with the reference in
    hundreds of tests."""
    rng, met = np.random.default_rng(21), [0, 0]
    for k in range(250):
        a, b = crumpled(320, rng), crumpled(80, rng)
        options = {"resolution": int(rng.choice([1, 5, 30, 200, 1024])), "direction": None if k % 2 else rng.standard_normal(3)}
        one, other = pl.Body(*a), pl.Body(*b)
        right = pl.collide(one, other).faces
        assert_form(pl.collide(a, b, engine="image", **options), right)
        met[0] += len(right) > 0
        right = pl.self_collide(one).faces
        assert_form(pl.self_collide(a, engine="image", **options), right)
        met[1] += len(right) > 0
    assert min(met) > 50


def test_connectivity_may_change_every_call():
    """A soup of another size every time; more faces than threads have at a time."""
    rng = np.random.default_rng(3)
    for n in (3_000, 1, 700):
        a, b = (meshes.soup(rng.uniform(0, 1, (n, 1, 3)) + 0.05 * rng.standard_normal((n, 3, 3))) for _ in range(2))
        right = pl.collide(pl.Body(*a), pl.Body(*b)).faces
        assert_form(pl.collide(a, b, engine="image"), right)
        right = pl.self_collide(pl.Body(*a)).faces
        assert_form(pl.self_collide(a, engine="image"), right)
        assert len(right) > 50 or n < 1000


# --- who may be asked about -------------------------------------------------------------------------------------------------------

def moved_bodies():
    """Bodies of all motions where they are not at rest, by name."""
    rng = np.random.default_rng(8)
    directions, faces = shapes.icosphere(0 if OFF else 1)
    bodies = {"free": pl.Body(directions, faces), "rigid": pl.Body.rigid(directions, faces)}
    bodies["free"].update(shapes.bumpy(directions, 1.0))
    bodies["rigid"].update(matrix(meshes.rotation((1, 2, 3), 0.7), (0.4, 0.1, -0.2)))
    bodies["placed"] = pl.Body(directions, faces)
    bodies["placed"].update(transform=matrix(meshes.rotation((1, 0, 3), 2.7), (0.3, -0.2, 0.1)))
    given = morphs.targets(directions, 3)
    bodies["morph"] = pl.Body.morph(given, faces)
    bodies["morph"].update([0.2, 0.5, 0.3])
    bodies["blended"] = pl.Body.blended(directions, faces, blends.near(directions, 3))
    bodies["blended"].update(blends.maps(3, rng))
    bodies["welded"] = pl.Body(*meshes.soup((directions * 0.9 + 0.1)[faces]), weld=True)
    bodies["object"] = SimpleNamespace(vertices=directions * 0.8, triangles=faces.astype(np.uint8))
    bodies["lists"] = (directions * [1.3, 0.5, 0.7]).tolist(), faces.tolist()
    bodies["narrow"] = (directions.astype(np.float32), np.asfortranarray(faces.astype(np.int64)))
    return bodies


@pytest.mark.formulas
def test_bodies_of_all_motions_and_what_is_none():
    """Each with the next."""
    bodies = moved_bodies()
    for (name, a), (other, b) in zip(bodies.items(), [*bodies.items()][1:] + [*bodies.items()][:1], strict=True):
        pairs = [tuple(map(np.asarray, mesh_of(body))) for body in (a, b)]
        assert len(assert_engine(a, b, naive.collide(*pairs[0], *pairs[1]), resolution=7 if OFF else 100)), f"{name} and {other}"


@pytest.mark.formulas
def test_bodies_with_themselves():
    """Folded sheets: free, welded along a cut, as arrays. Welded vertices are one."""
    vertices, faces = shapes.sheet(3, 3) if OFF else shapes.sheet(6, 6)
    x, y, _ = vertices.T
    folded = np.column_stack([np.abs(x - 0.4), y, 0.3 * np.maximum(x - 0.4, 0) * y - 0.02])
    for a in (pl.Body(folded, faces), (folded, faces)):
        assert len(assert_engine_self(a, resolution=7 if OFF else 64))
    cut, (_, first) = meshes.soup(folded[faces]), np.unique(faces, return_index=True)
    assert_engine_self(pl.Body(*cut, weld=True), same=first[faces.reshape(-1)], resolution=7)
    loose, welded = (pl.self_collide(body, engine="image", resolution=7) for body in (cut, pl.Body(*cut, weld=True)))
    assert len(loose) > len(welded) > 0                                 # faces that only touch at a seam


@pytest.mark.parametrize("name", ["free", "rigid", "placed", "morph", "blended"])
def test_bodies_follow_their_updates(name):
    """No frame of old is left anywhere."""
    body, rng = moved_bodies()[name], np.random.default_rng(5)
    other = pl.Body(shapes.icosphere(1)[0] * 0.7, shapes.icosphere(1)[1])
    for _ in range(3):
        assert_form(pl.collide(body, other, engine="image", resolution=50),
                    naive.collide(body.vertices, body.faces, other.vertices, other.faces))
        if name == "free":
            body.update(body.vertices + 0.1 * rng.standard_normal(3))
        elif name == "rigid":
            body.update(matrix(meshes.rotation((1, 0, 0), rng.uniform()), rng.uniform(-0.3, 0.3, 3)))
        elif name == "placed":
            body.update(transform=matrix(meshes.rotation((1, 0, 0), rng.uniform()), rng.uniform(-0.3, 0.3, 3)))
        else:
            body.update(np.array([0.5, 0.25, 0.25])[rng.permutation(3)] if name == "morph" else blends.maps(3, rng))


def test_other_arrays_are_not_compiled_anew():
    """Layouts and dtypes are made one at the door."""
    pl.collide((SPHERE, FACES), (OTHER, FACES), engine="image")
    pl.self_collide((SPHERE, FACES), engine="image")
    before, right = signatures(), pl.collide((SPHERE, FACES), (OTHER, FACES), engine="image").faces
    assert len(right)
    for make in (np.float32, np.int16, np.asfortranarray, lambda rows: rows[::-1][::-1], np.ndarray.tolist,
                 lambda rows: rows.astype(">f8")):
        vertices = make(SPHERE)
        for corners in (FACES.astype(np.int64), FACES.astype(np.uint8), FACES.tolist()):
            assert np.array_equal(pl.collide((vertices, corners), (OTHER, FACES), engine="image").faces, right)
    read_only = SPHERE.copy()
    read_only.flags.writeable = False
    assert np.array_equal(pl.collide((read_only, FACES), pl.Body(OTHER, FACES), engine="image").faces, right)
    assert signatures() == before


# --- what is asked ----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_first_gives_one_pair_or_none(deforming):
    for first, second, right in list(deforming)[:2] if OFF else deforming:
        found = pl.collide((first, deforming.faces), (second, deforming.faces), engine="image", first=True, resolution=7 if OFF else 64)
        assert len(found) == found.image.found == min(len(right), 1)
        assert all(pair in right.tolist() for pair in found.faces.tolist())
    folded = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.0, 2, 0], [0.1, 0.1, -1], [0.1, 0.1, 1], [0.2, 0.2, 1]])
    for faces, adjacent, count in (([[0, 1, 2], [1, 0, 3]], "exact", 1), ([[0, 1, 2], [1, 0, 3]], "ignore", 0),
                                   ([[0, 1, 2], [1, 0, 3], [4, 5, 6]], "ignore", 1)):
        assert len(pl.self_collide((folded, faces), engine="image", first=True, adjacent=adjacent, resolution=7)) == count


def test_contacts_are_those_of_the_trees(deforming):
    first, second, right = list(deforming)[2]
    a, b = pl.Body(first, deforming.faces), pl.Body(second, deforming.faces)
    tree, image = pl.collide(a, b, contacts=True), pl.collide((first, deforming.faces), b, contacts=True, engine="image")
    assert len(image) == len(right) > 0
    crumple = shapes.icosphere(1)[0] + 0.3 * np.random.default_rng(2).standard_normal((42, 3)), shapes.icosphere(1)[1]
    alone, self_tree = pl.self_collide(crumple, contacts=True, engine="image"), pl.self_collide(pl.Body(*crumple), contacts=True)
    assert len(alone)
    for one, other in ((tree, image), (self_tree, alone)):
        for name in ("segments", "normals", "depths", "coplanar", "push_directions"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert pl.collide(a, b, engine="image").segments is None


def test_corners_in_any_order_and_faces_too():
    rng = np.random.default_rng(17)
    (a, faces), (b, corners) = crumpled(80, rng), crumpled(80, rng)
    a = a + 0.3 * rng.standard_normal(a.shape)
    right = pl.collide((a, faces), (b, corners), engine="image").faces
    alone = pl.self_collide((a, faces), engine="image").faces
    assert len(right) and len(alone)
    turned = np.array([rng.permutation(face) for face in faces])
    assert np.array_equal(pl.collide((a, turned), (b, corners), engine="image").faces, right)
    assert np.array_equal(pl.self_collide((a, turned), engine="image").faces, alone)
    order = rng.permutation(len(faces))
    mixed = pl.collide((a, faces[order]), (b, corners), engine="image").faces
    mixed[:, 0] = order[mixed[:, 0]]
    assert sorted(mixed.tolist()) == right.tolist()


def test_answers_do_not_depend_on_threads_and_are_the_callers_own(set_threads):
    rng = np.random.default_rng(4)
    a, b = (meshes.soup(rng.uniform(0, 1, (2_500, 1, 3)) + 0.05 * rng.standard_normal((2_500, 3, 3))) for _ in range(2))
    answers = []
    for n in (1, 2, 5):
        set_threads(n)
        found = pl.collide(a, b, engine="image")
        answers.append((found.faces.copy(), found.stats, found.image))
        found.faces[:] = -1
    assert all(np.array_equal(each[0], answers[0][0]) and each[1:] == answers[0][1:] for each in answers)
    set_threads(2)
    body, right = pl.Body(*a), answers[0][0]

    def ask():
        for _ in range(3):
            assert np.array_equal(pl.collide(body, b, engine="image").faces, right)
    together(ask, ask, ask)


def test_stats_say_what_was_done(deforming):
    first, second, right = list(deforming)[3]
    found = pl.collide((first, deforming.faces), (second, deforming.faces), engine="image", resolution=200)
    image, n = found.image, 2 * len(deforming.faces)
    assert len(found) == len(right) == image.found
    assert 0 < image.rays <= image.size**2 <= 200**2
    assert 0 < image.met <= image.packed < n and image.tests >= len(right)
    assert image.depth > 1 and image.fragments > image.rays
    assert set(image.seconds) == {0.0} and (image.missed, image.sent, image.passes) == (0.0, 0, 0)
    assert found.stats.n_v >= found.stats.n_p == image.tests and found.stats.n_u == 0
    apart = pl.collide((first, deforming.faces), (first + 9, deforming.faces), engine="image")
    assert (len(apart), apart.image.tests, apart.image.rays, apart.image.packed) == (0, 0, 0, 0)
    assert pl.collide(pl.Body(first, deforming.faces), pl.Body(second, deforming.faces)).image is None


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------------------

INTERRUPT = """
    import sys
    import numpy as np
    import pliant as pl

    kind = sys.argv[1]
    rng = np.random.default_rng(0)
    if kind == "exact":
        n = 4_000
        corners = np.tile([[-1e300, -1.1e300, 3e-322], [1e300, 1e-300, 5e-322], [1e-308, 1e300, 1e-321]], (n, 1, 1))
        corners[:, :, 2] += rng.integers(0, 500, (n, 1)) * 5e-324
    else:
        n = 60_000
        corners = rng.standard_normal((n, 3, 3))
    soup = corners.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3)
    small = np.eye(3), [[0, 1, 2]]
    options = {"mode": "sampled", "resolution": 2048, "closed": True} if kind == "sampled" else {}
    pl.self_collide((soup[0][:30], soup[1][:10]), engine="image", **options)
    print("ready", flush=True)
    try:
        pl.self_collide(soup, engine="image", **options)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    else:
        sys.exit("ended before it was interrupted")
    assert np.array_equal(pl.collide(small, (np.eye(3), [[0, 1, 2]]), engine="image").faces, [[0, 0]])
    print("right", flush=True)
"""


@pytest.mark.parametrize(("kind", "n_threads"), [("many", 2), ("exact", 1), ("sampled", 2)])
def test_an_interrupted_query_ends_soon(kind, n_threads):
    """Billions of pairs; pairs that take the slowest arithmetic there is; thousands of layers to peel."""
    assert_stops_soon(start(INTERRUPT, kind, PLIANT_THREADS=n_threads), 0.5)
