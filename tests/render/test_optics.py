"""Formulas of light: Snell's law, total reflection, Fresnel's shares by Schlick, colours."""

import numpy as np
import pytest

from pliant.render import colours
from pliant.render.materials import Light, Material, Materials, Sky, parse_colour
from pliant.render.optics import above_face, dot, glass_reflectance, reflect, refract, schlick, unit

pytestmark = pytest.mark.formulas


def random_units(n, seed):
    return unit(np.random.default_rng(seed).normal(size=(n, 3)))


@pytest.fixture
def meeting():
    """Directions and normals against them."""
    directions, normals = random_units(500, 1), random_units(500, 2)
    return directions, np.where(dot(directions, normals) > 0, -normals, normals)


def test_mirrored_rays_leave_at_the_angle_they_come_in(meeting):
    directions, normals = meeting
    away = reflect(directions, normals)
    np.testing.assert_allclose(dot(away, normals), -dot(directions, normals), atol=1e-14)
    np.testing.assert_allclose(np.cross(away, normals), np.cross(directions, normals), atol=1e-14)
    np.testing.assert_allclose(dot(away, away), 1)


@pytest.mark.parametrize("ratio", [1 / 1.5, 1 / 1.33, 1.0, 1.5, 2.4])
def test_snells_law(meeting, ratio):
    directions, normals = meeting
    through, total = refract(directions, normals, np.full((500, 1), ratio))
    before, after = np.linalg.norm(np.cross(directions, normals), axis=1), np.linalg.norm(np.cross(through, normals), axis=1)
    assert np.array_equal(total, ratio * before > 1)
    assert total.any() == (ratio > 1) and not total.all()
    np.testing.assert_allclose(after[~total], ratio * before[~total], atol=1e-14)
    assert (dot(through, normals)[~total] < 0).all(), "it goes on behind the surface"
    np.testing.assert_allclose(np.cross(through, normals)[~total], ratio * np.cross(directions, normals)[~total], atol=1e-14)


def test_there_and_back_through_a_surface(meeting):
    directions, normals = meeting
    inside, _ = refract(directions, normals, np.full((500, 1), 1 / 1.5))
    back, total = refract(-inside, -normals, np.full((500, 1), 1.5))
    assert not total.any()
    np.testing.assert_allclose(back, -directions, atol=1e-7)


def test_shares_of_glass():
    cosine = np.linspace(0, 1, 101)[:, None]
    into, out = glass_reflectance(cosine, np.full((101, 1), 1 / 1.5)), glass_reflectance(cosine, np.full((101, 1), 1.5))
    assert into[-1, 0] == pytest.approx(0.04) and out[-1, 0] == pytest.approx(0.04) and into[0, 0] == 1
    assert (np.diff(into[:, 0]) < 0).all()
    critical = np.sqrt(1 - 1 / 1.5**2)
    assert (out[cosine < critical] == 1).all() and (out[cosine > critical + 1e-9] < 1).all(), "total reflection below the critical angle"
    inside = np.sqrt(1 - (1 - cosine**2) / 1.5**2)
    np.testing.assert_allclose(glass_reflectance(inside, np.full((101, 1), 1.5)), into, atol=1e-7)  # the same share both ways
    assert (glass_reflectance(cosine, np.ones((101, 1)))[1:] < 1).all()


def test_schlick_is_straight_at_a_right_angle_and_one_along_the_surface():
    straight = np.array([[0.9, 0.5, 0.2]])
    np.testing.assert_allclose(schlick(np.array([[1.0]]), straight), straight)
    np.testing.assert_allclose(schlick(np.array([[0.0]]), straight), 1)
    np.testing.assert_allclose(schlick(np.array([[0.5]]), straight), straight + (1 - straight) / 32)


def test_rays_are_kept_off_their_own_face():
    directions, faces = random_units(500, 3), random_units(500, 4)
    kept = above_face(directions, faces)
    rise = dot(directions, faces)[:, 0]
    assert (dot(kept, faces) > 0).all()
    assert np.array_equal(kept[rise > 1e-3], directions[rise > 1e-3])
    np.testing.assert_allclose(dot(kept, kept), 1)


def test_colours_there_and_back():
    srgb = np.linspace(0, 1, 256)
    np.testing.assert_allclose(colours.linear_to_srgb(colours.srgb_to_linear(srgb)), srgb, atol=1e-12)
    assert np.array_equal(colours.to_uint8(srgb), np.arange(256))
    light = np.linspace(0, 50, 5001)
    shown = colours.tone_map(light)
    assert (np.diff(shown) >= 0).all() and shown.max() <= 1 and np.array_equal(shown[light <= 0.7], light[light <= 0.7])
    assert colours.tone_map(0.2, 2.0) == pytest.approx(0.4) and colours.tone_map(-1.0) == 0


def test_colours_have_names():
    assert parse_colour("colour", "#ff8000") == pytest.approx((1, 128 / 255, 0))
    for wrong in ("ff8000", "#ff80", "#gg0000", "red", [1, 2, 3], [0.1, 0.2], [0, 0, -0.1], [0, 0, float("nan")], None, 3):
        with pytest.raises((ValueError, TypeError), match="colour"):
            parse_colour("colour", wrong)


@pytest.mark.parametrize("options", [
    {"reflect": 1.5}, {"reflect": -0.1}, {"index": 0.5}, {"index": 11}, {"shine": 0}, {"gloss": -1}, {"checker": float("nan")},
    {"absorb": (-1, 0, 0)}, {"smooth": 1}, {"tint": "blue"}, {"gloss": "much"},
])
def test_other_materials_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        Material(**options)


@pytest.mark.parametrize(("maker", "options"), [
    (Light, {"strength": -1}), (Light, {"reach": 0}), (Light, {"radius": float("inf")}), (Light, {"reach": float("nan")}),
    (Light, {"reach": True}),
    (Sky, {"haze": 0}), (Sky, {"ambient": -1}), (Sky, {"zenith": (2, 0, 0)}),
])
def test_other_lights_and_skies_are_refused(maker, options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        maker(**({"position": (0, 0, 1)} if maker is Light else {}), **options)


def test_a_sky_is_a_gradient():
    sky = Sky("#0000ff", "#ffffff", "#00ff00")
    up, across, down = sky.radiance(np.array([[0, 0, 1.0], [1, 0, 0], [0, 0, -1]]))
    assert up.tolist() == [0, 0, 1] and across.tolist() == [1, 1, 1] and down.tolist() == [0, 1, 0]


def test_a_checkerboard():
    table = Materials.from_list([Material(colour="#ffffff", second="#000000", checker=2.0), Material(colour="#ff0000")])
    points = np.array([[0.5, 0.5, 9], [2.5, 0.5, 9], [2.5, 2.5, 9], [-0.5, 0.5, 0], [0.5, 0.5, 0]])
    assert table.diffuse_colour(np.array([0, 0, 0, 0, 1]), points)[:, 1].tolist() == [1, 0, 1, 0, 0]
