"""Contacts against the reference: where faces meet, in which direction and how far they must move. `contact_checks`: what is promised."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adversarial
import meshes
import pliant as pl
from contact_checks import check_contacts, meets_when_moved
from pliant import shapes
from strategies import extreme, lattice, mesh, positions
from test_naive import WRITTEN
from test_naive_self import COMMON
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
TINIEST = 5e-324
T = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)


def collided(first, second):
    """Contacts of two soups of triangles (n, 3, 3), checked; the answer."""
    first, second = np.asarray(first, np.float64).reshape(-1, 3, 3), np.asarray(second, np.float64).reshape(-1, 3, 3)
    found = pl.collide(pl.Body(*meshes.soup(first)), pl.Body(*meshes.soup(second)), contacts=True)
    check_contacts(found, first, second)
    return found


def corners(body):
    return body.vertices[body.faces]


# --- two triangles ---------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_pairs(kind):
    """All first triangles of a kind against all second ones."""
    n = 2 if OFF else 5 if kind == "mixed" else 14
    found = collided(*adversarial.pairs(kind, n, np.random.default_rng(91)))
    assert len(found) >= n * (kind in adversarial.ALWAYS)


@pytest.mark.parametrize("kind", [*adversarial.HARD, "sliver", "identical"])
def test_more_hard_pairs(kind):
    """One by one, many."""
    first, second = adversarial.pairs(kind, 120, np.random.default_rng(92))
    a, b = pl.Body(np.eye(3), [[0, 1, 2]]), pl.Body(np.eye(3), [[0, 1, 2]])
    met = 0
    for p, q in zip(first, second, strict=True):
        a.update(p)
        b.update(q)
        found = pl.collide(a, b, contacts=True)
        check_contacts(found, [p], [q])
        met += len(found)
    assert met > 10


@pytest.mark.formulas
@pytest.mark.parametrize(("p", "q"), [case[1:3] for case in COMMON if case[3]], ids=[case[0] for case in COMMON if case[3]])
def test_written_cases(p, q):
    found = collided(p, q)
    assert len(found) == 1
    for size in (2.0**-1000, 2.0**1000):
        assert len(collided(np.array(p) * size, np.array(q) * size)) == 1


@pytest.mark.parametrize(("p", "q"), [case[1:3] for case in WRITTEN if case[3]], ids=[case[0] for case in WRITTEN if case[3]])
def test_written_pairs_that_meet(p, q):
    assert len(collided(p, q)) == 1


@pytest.mark.formulas
def test_a_spike_through_a_face():
    """Everything written out."""
    found = collided(T, [[1, 1, -0.25], [1, 1, 3], [2, 1, 3]])
    np.testing.assert_allclose(found.segments, [[[1, 1, 0], [1 + 1 / 13, 1, 0]]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.normals, [[0, 0, 1]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.depths, [0.25], rtol=1e-15)
    assert found.coplanar.tolist() == [False]


@pytest.mark.formulas
def test_a_square_of_overlap():
    """In one plane: the longest chord of a unit square is a diagonal of it, and it is off the plane that they part."""
    found = collided(T, [[1, 1, 0], [1, -9, 0], [-9, 1, 0]])
    assert found.segments.tolist() in ([[[0, 0, 0], [1, 1, 0]]], [[[0, 1, 0], [1, 0, 0]]])
    assert np.abs(found.normals).tolist() == [[0, 0, 1]]
    assert found.depths.tolist() == [0]
    assert found.coplanar.tolist() == [True]


@pytest.mark.parametrize("tilt", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-16, 1e-18])
def test_nearly_coplanar_pairs(tilt):
    """The line in which two planes meet is uncertain in the direction in which it matters least; the ends must be right in all of them."""
    rng = np.random.default_rng(93)
    met = 0
    for _ in range(60):
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0] if rng.random() < 0.7 else np.eye(3)
        p, q = (np.column_stack([rng.standard_normal((3, 2)), np.zeros(3)]) for _ in range(2))
        q[:, 2] = tilt * rng.standard_normal(3)
        if rng.random() < 0.3:
            q[0] = p[0]
        met += len(collided(p @ frame.T, q @ frame.T))
    assert met > 5


@pytest.mark.parametrize("offset", [1.0, 1e3, 1e6])
def test_thin_overlaps(offset):
    """Edges that nearly coincide, in one plane and out of it; the overlap is long and as thin as rounding."""
    rng = np.random.default_rng(94)
    met = 0
    for turn in range(60):
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0] if turn % 2 else np.eye(3)
        p = np.column_stack([rng.standard_normal((3, 2)), np.zeros(3)])
        q = p.copy()
        q[2] = p[0] + p[1] - p[2]                                       # mirrored beyond the edge, which they share
        q += 10.0 ** rng.uniform(-17, -12) * rng.standard_normal((3, 3))
        if turn % 3 == 0:
            q[:, 2] = 0
        met += len(collided((p + offset) @ frame.T, (q + offset) @ frame.T))
    assert met > 5


SLENDER = ("parallel edges", "along one line", "across each other", "in a face", "far away")


def slender(kind, rng):
    """Two triangles for which products of edges lose up to all of their digits."""
    (p, q), width = rng.standard_normal((2, 3, 3)), 10.0 ** rng.uniform(-16, -3)
    along, across, beside = rng.standard_normal((3, 3))
    if kind == "parallel edges":
        q += p.mean(axis=0) - q.mean(axis=0)
        q[1] = q[0] + (p[1] - p[0]) * rng.uniform(0.5, 2) + width * beside
    elif kind == "along one line":                                      # and nearly in one plane
        p, q = (np.outer(rng.uniform(-1, 1, 3), along) + width * np.outer(rng.standard_normal(3), across) for _ in range(2))
        q += 1e-3 * width * rng.standard_normal((3, 3))
    elif kind == "across each other":
        p, q = (np.outer(rng.uniform(-1, 1, 3), line) + width * rng.standard_normal((3, 3)) for line in (along, across))
    elif kind == "in a face":
        p -= p.mean(axis=0)
        q = np.outer(rng.uniform(-1, 1, 3), along) + width * rng.standard_normal((3, 3))
    else:
        p, q = p * width + 1, q * width + 1
    return p, q


@pytest.mark.parametrize("kind", SLENDER)
def test_slender_pairs(kind):
    rng = np.random.default_rng(88)
    assert sum(len(collided(*slender(kind, rng))) for _ in range(150)) > 10


@pytest.mark.parametrize("size", [TINIEST, 2.0**-1022, 1e-300, 1e-160, 1e160, 1e300])
def test_sizes(size):
    rng = np.random.default_rng(95)
    assert len(collided(rng.integers(-4, 5, (10, 3, 3)) * size, rng.integers(-4, 5, (10, 3, 3)) * size)) > 10
    if size > 1e-301:
        assert len(collided(rng.standard_normal((10, 3, 3)) * size, rng.standard_normal((10, 3, 3)) * size)) > 10


@often(200)
@given(st.data(), st.sampled_from([lattice, extreme]))
def test_any_two_triangles(data, coordinate):
    p, q = data.draw(positions(coordinate, 3)), data.draw(positions(coordinate, 3))
    collided(p, q)


# --- order -----------------------------------------------------------------------------------------------------------------------

def same_contacts(found, other, sign):
    """The same to the bit; directions may differ where two are equally short, but not where there is only one."""
    assert np.array_equal(found.segments, other.segments)
    assert np.array_equal(found.depths, other.depths)
    assert np.array_equal(found.coplanar, other.coplanar)
    assert np.array_equal(found.normals[~found.coplanar], sign * other.normals[~found.coplanar])


@pytest.mark.parametrize("kind", ["crossing", "near", "coplanar_oblique", "identical", "degenerate", "lattice", "sliver", "huge"])
def test_arguments_exchanged(kind):
    first, second = adversarial.pairs(kind, 30, np.random.default_rng(96))
    a, b = pl.Body(np.eye(3), [[0, 1, 2]]), pl.Body(np.eye(3), [[0, 1, 2]])
    for p, q in zip(first, second, strict=True):
        a.update(p)
        b.update(q)
        same_contacts(pl.collide(a, b, contacts=True), pl.collide(b, a, contacts=True), -1)


@pytest.mark.parametrize("kind", ["crossing", "near", "coplanar_rotated", "coplanar_oblique", "lattice", "sliver"])
def test_corners_in_any_order(kind):
    first, second = adversarial.pairs(kind, 6, np.random.default_rng(97))
    a, b = pl.Body(np.eye(3), [[0, 1, 2]]), pl.Body(np.eye(3), [[0, 1, 2]])
    for p, q in zip(first, second, strict=True):
        answers = []
        for p_ordered, q_ordered in list(adversarial.orders(p, q))[::2]:
            a.update(p_ordered)
            b.update(q_ordered)
            answers.append(pl.collide(a, b, contacts=True))
            same_contacts(answers[0], answers[-1], 1)


# --- what a depth is ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["crossing", "corner", "vertex_on_face", "edge_on_edge", "near", "repeated", "lattice"])
def test_moves_part_and_shorter_ones_do_not(kind):
    """A little farther than the depth along the normal they are apart; nine tenths as far, in any direction, they meet."""
    rng = np.random.default_rng(98)
    first, second = adversarial.pairs(kind, 40, rng)
    found = pl.collide(pl.Body(*meshes.soup(first)), pl.Body(*meshes.soup(second)), contacts=True)
    assert len(found) > 10
    for (i, j), normal, depth in list(zip(found.faces.tolist(), found.normals, found.depths, strict=True))[:300]:
        p, q = first[i], second[j]
        little = 1e-11 * np.abs([p, q]).max()
        assert not meets_when_moved(p, q, (depth + little) * normal)
        if depth > 100 * little:
            for direction in [normal, -normal, *rng.standard_normal((6, 3))]:
                assert meets_when_moved(p, q, 0.9 * depth * direction / np.linalg.norm(direction))


@pytest.mark.parametrize("kind", ["coplanar_aligned", "coplanar_oblique", "identical"])
def test_coplanar_pairs_part_off_their_plane(kind):
    first, second = adversarial.pairs(kind, 20, np.random.default_rng(99))
    found = pl.collide(pl.Body(*meshes.soup(first)), pl.Body(*meshes.soup(second)), contacts=True)
    met = 0
    for (i, j), normal, coplanar in zip(found.faces.tolist(), found.normals, found.coplanar, strict=True):
        little = 1e-9 * np.abs([first[i], second[j]]).max()
        if coplanar:
            met += 1
            assert not meets_when_moved(first[i], second[j], little * normal)
            assert not meets_when_moved(first[i], second[j], -little * normal)
    assert met > 10


# --- queries -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_without_contacts_there_are_none():
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    for found in (pl.collide(a, b), pl.self_collide(a), pl.collide(a, b, contacts=False), pl.collide(a, b, first=True)):
        assert found.segments is found.normals is found.depths is found.coplanar is None


@pytest.mark.formulas
def test_no_pairs_no_rows():
    a, empty = pl.Body(*meshes.cube()), pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))
    far = pl.Body(*meshes.cube((9, 9, 9)))
    for found in (pl.collide(a, far, contacts=True), pl.collide(a, empty, contacts=True), pl.self_collide(a, contacts=True),
                  pl.self_collide(empty, contacts=True), pl.collide(a, far, contacts=True, first=True)):
        assert len(found) == 0
        check_contacts(found, [], [])


@pytest.mark.formulas
def test_first_has_one_row():
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    found = pl.collide(a, b, first=True, contacts=True)
    assert len(found) == 1
    check_contacts(found, corners(a), corners(b))
    crossed = pl.Body(*meshes.joined(meshes.cube(), meshes.cube((0.5, 0.5, 0.5))))
    found = pl.self_collide(crossed, first=True, contacts=True)
    assert len(found) == 1
    check_contacts(found, corners(crossed), corners(crossed))


@pytest.mark.formulas
@pytest.mark.parametrize("name", ["first", "contacts"])
def test_flags_are_true_or_false(name):
    with pytest.raises(TypeError, match=name):
        pl.collide(pl.Body(*meshes.cube()), pl.Body(*meshes.cube()), **{name: 1})


def test_bodies_of_all_options(options, deforming):
    """Contacts belong to the pairs they stand beside, whatever the trees; pairs and counters are those of a query without."""
    for first, second, _ in list(deforming)[1:2]:
        a, b = pl.Body(first, deforming.faces, **options), pl.Body(second, deforming.faces, **options)
        found, plain = pl.collide(a, b, contacts=True), pl.collide(a, b)
        assert np.array_equal(found.faces, plain.faces)
        assert found.stats[:2] == plain.stats[:2]
        assert len(found) > 50
        some = slice(None, None, 9)
        thinned = pl.Pairs(found.faces[some], found.stats, **{name: np.ascontiguousarray(getattr(found, name)[some])
                                                              for name in ("segments", "normals", "depths", "coplanar")})
        check_contacts(thinned, corners(a), corners(b))


def test_self_collisions(kept):
    """Neighbours included: the contact is all that two faces share, and so the edge or the corner as well."""
    vertices, faces = shapes.icosphere(1)
    crumple = np.random.default_rng(90).standard_normal(vertices.shape)
    body, seen = pl.Body(vertices, faces, **kept), set()
    for frame in (meshes.pinched(vertices, 1.5), vertices + 0.5 * crumple, vertices * [1, 1, 0]):
        body.update(frame)
        for adjacent in ("exact", "ignore"):
            found, plain = pl.self_collide(body, contacts=True, adjacent=adjacent), pl.self_collide(body, adjacent=adjacent)
            assert np.array_equal(found.faces, plain.faces)
            seen |= {(len(set(faces[i]) & set(faces[j])), bool(flat)) for (i, j), flat in zip(found.faces, found.coplanar, strict=True)}
        check_contacts(found, corners(body), corners(body))
    assert {(0, False), (1, False), (0, True), (1, True), (2, True)} <= seen


def test_neighbours():
    """A doubled face, a folded edge, two faces at a vertex, segments and points by name."""
    vertices = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, 0], [1, 1, 5], [1, 1, -5], [8, 0, 0]]
    faces = [[0, 1, 2], [2, 0, 1], [0, 1, 3], [0, 4, 5], [0, 6, 6], [0, 0, 1], [3, 3, 3]]
    body = pl.Body(vertices, faces)
    found = pl.self_collide(body, contacts=True)
    assert len(found) > 8
    check_contacts(found, corners(body), corners(body))


@often(100)
@given(mesh(lattice, 6))
def test_small_meshes(given_mesh):
    body = pl.Body(*given_mesh)
    check_contacts(pl.self_collide(body, contacts=True), corners(body), corners(body))


def test_welded_bodies():
    """A contact is where the vertices are that stand for others."""
    vertices, faces = shapes.icosphere(1)
    soup = meshes.soup(vertices[faces])
    body, whole = pl.Body(*soup, weld=True), pl.Body(vertices, faces)
    whole.update(meshes.pinched(vertices, 1.5))
    lowest = {tuple(row): k for k, row in reversed(list(enumerate(soup[0].tolist())))}
    stands = np.array([k == lowest[tuple(row)] for k, row in enumerate(soup[0].tolist())])
    body.update(np.where(stands[:, None], corners(whole).reshape(-1, 3), 77.0))
    found, right = pl.self_collide(body, contacts=True), pl.self_collide(whole, contacts=True)
    assert len(right) > 5
    assert np.array_equal(found.faces, right.faces)
    same_contacts(found, right, 1)
    probe = pl.Body(*meshes.cube((0, 0, -0.5)))
    found, right = pl.collide(body, probe, contacts=True), pl.collide(whole, probe, contacts=True)
    assert np.array_equal(found.faces, right.faces)
    same_contacts(found, right, 1)


@pytest.mark.parametrize("n", [1, 2])
def test_threads_do_not_change_contacts(n, set_threads):
    a, b = (pl.Body(*meshes.soup(triangles)) for triangles in np.random.default_rng(89).standard_normal((2, 250, 3, 3)))
    set_threads(1)
    alone = pl.collide(a, b, contacts=True)
    set_threads(n)
    together = pl.collide(a, b, contacts=True)
    assert len(alone) > 5000
    assert np.array_equal(alone.faces, together.faces)
    same_contacts(alone, together, 1)


def test_an_answer_is_the_callers_own():
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    found, again = pl.collide(a, b, contacts=True), pl.collide(a, b, contacts=True)
    for array in (found.segments, found.normals, found.depths, found.coplanar):
        array[:] = 0
    check_contacts(again, corners(a), corners(b))
