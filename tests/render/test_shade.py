"""Rays through stages: mirrors, glass and shadows are what geometry says; order and budget of the work."""

import numpy as np
import pytest

import pliant
from pliant.render.camera import Camera
from pliant.render.colours import srgb_to_linear
from pliant.render.materials import Light, Material, Sky
from pliant.render.scene import RenderScene
from pliant.render.shade import trace
from pliant.shapes import bumpy, icosphere, sheet

BLACK = Sky("#000000", "#000000", "#000000", ambient=0.0)
SQUARE = sheet(1, 1)
FLOOR = Material.diffuse((0.5, 0.6, 0.7))


def stage_of(*bodies, lights=(), sky=BLACK):
    """A stage of (vertices, faces, material)."""
    stage = RenderScene(lights, sky)
    for vertices, faces, material in bodies:
        stage.add(pliant.Body(vertices, faces), material)
    return stage


def floor(size=20.0, height=0.0, material=FLOOR):
    vertices, faces = SQUARE
    return (vertices - (0.5, 0.5, 0.0)) * size + (0, 0, height), faces, material


def box(low, high):
    corner = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.where(corner > 0, high, low).astype(float), [(a, *two) for a, b, c, d in sides for two in ((b, c), (c, d))]


def rays(n, seed, above=1.0):
    """Rays from points above the plane z = 0 down to it."""
    rng = np.random.default_rng(seed)
    origins = np.column_stack([rng.uniform(-2, 2, (n, 2)), rng.uniform(above, above + 1, n)])
    directions = np.column_stack([rng.uniform(-1, 1, (n, 2)), rng.uniform(-2, -0.3, n)])
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def unlike_sky():
    return Sky("#3060a0", "#d0c0b0", "#402010", ambient=0.3)


def test_nothing_but_sky():
    origins, directions = rays(50, 1)
    for stage in (stage_of(sky=unlike_sky()), stage_of(floor(), sky=unlike_sky())):
        traced = trace(stage, origins + np.array([0, 0, 5]), directions * (1, 1, -1), bounces=3)
        np.testing.assert_array_equal(traced.light, unlike_sky().radiance(directions * (1, 1, -1)))
        assert traced.complete and [phase.name for phase in traced.phases] == ["primary", "shadow"]
    assert trace(stage, np.empty((0, 3)), np.empty((0, 3))).light.shape == (0, 3)


def test_a_mirror_shows_what_is_behind():
    """What a perfect mirror shows is what the mirrored ray sees by itself."""
    directions, faces = icosphere(2)
    mirror = Material.mirror(reflect=1.0, gloss=0.0)
    behind = [(0.7 * directions + (x, 0.4, 2.5 + x), faces, Material.glossy(shade)) for x, shade in ((-1, "#c04020"), (1, "#20c040"))]
    stage = stage_of(floor(material=mirror), *behind, lights=[Light((3, -2, 9), strength=0.9)], sky=unlike_sky())
    origins, ways = rays(300, 2, above=0.1)
    origins[:, 2] *= 0.2  # below what hangs there
    points = origins - ways * (origins[:, 2:] / ways[:, 2:])
    away = ways * (1, 1, -1)
    seen, direct = trace(stage, origins, ways, bounces=1), trace(stage, points + 1e-9 * away, away, bounces=0)
    assert (pliant.cast(stage.scene, points + 1e-9 * away, away).face >= 0).mean() > 0.1, "some see the balls"
    np.testing.assert_allclose(seen.light, direct.light, atol=1e-7)


def test_mirrors_take_their_share_and_their_tint():
    sky = Sky("#ffffff", "#ffffff", "#ffffff", ambient=0.0)
    stage = stage_of(floor(material=Material.mirror("#ff8000", 0.5, gloss=0.0)), sky=sky)
    straight = trace(stage, np.array([[0.1, 0.2, 3.0]]), np.array([[0, 0, -1.0]]))
    np.testing.assert_allclose(straight.light[0], 0.5 * srgb_to_linear((1, 128 / 255, 0)), atol=1e-12)


def test_bounces_are_limited():
    """Between two mirrors each bounce is one more phase; what lies beyond the last counts as sky."""
    mirror = Material.mirror(reflect=0.5, gloss=0.0, colour="#000000")
    stage = stage_of(floor(material=mirror), floor(height=2.0, material=mirror), sky=Sky("#ffffff", "#ffffff", "#ffffff", ambient=0.0))
    for bounces in range(5):
        traced = trace(stage, np.array([[0.1, 0.2, 1.0]]), np.array([[0, 0, -1.0]]), bounces=bounces)
        assert [phase.bounce for phase in traced.phases if phase.name != "shadow"] == list(range(bounces + 1))
        np.testing.assert_allclose(traced.light, 0.5 ** (bounces + 1))


@pytest.mark.parametrize("index", [1.0, 1.33, 1.5, 2.4])
def test_a_slab_of_glass_by_formula(index):
    """At a right angle: R is mirrored; the rest is absorbed on its way, and mirrored again inside."""
    absorb = np.array([0.2, 0.7, 0.0])
    glass = Material.glass(index, absorb, gloss=0.0, smooth=False)
    stage = stage_of((*box((-1, -1, 0), (1, 1, 0.8)), glass), sky=Sky("#ffffff", "#ffffff", "#ffffff", ambient=0.5))
    traced = trace(stage, np.array([[0.1, 0.2, 3.0]]), np.array([[0, 0, -1.0]]), bounces=2)
    share, kept = ((index - 1) / (index + 1)) ** 2, np.exp(-0.8 * absorb)
    expected = share + (1 - share) * kept * (1 - share + share * kept)
    # Faint rays are not followed: they are taken to see the sky, less than half a step of a pixel away.
    np.testing.assert_allclose(traced.light[0], expected, atol=1 / 512)


def test_light_goes_through_a_slab_as_snell_says():
    """A patch on the floor is seen through a slab exactly where the bent ray ends, shifted sideways by the law."""
    glass, depth, angle = Material.glass(1.5, gloss=0.0, smooth=False), 1.0, np.radians(50)
    inside = np.arcsin(np.sin(angle) / 1.5)
    way = np.array([np.sin(angle), 0, -np.cos(angle)])
    start = np.array([-0.5, 0.1, 2.0])
    enters = start + way * (0.5 / np.cos(angle))  # top at z = 1.5, bottom at 0.5, floor at 0
    leaves = enters + depth * np.array([np.tan(inside), 0, -1])
    ends = leaves + 0.5 * np.array([np.tan(angle), 0, -1])
    straight = start + way * (2.0 / np.cos(angle))
    assert np.linalg.norm(straight - ends) > 0.1, "unbent it would end elsewhere"
    sky = Sky("#ffffff", "#000000", "#000000", ambient=1.0)
    bodies = (*box((-8, -8, 0.5), (8, 8, 1.5)), glass), floor(40, material=Material.diffuse("#000000"))

    def seen(place):
        vertices, faces = SQUARE
        patch = (vertices - (0.5, 0.5, 0)) * 0.02 + place + (0, 0, 1e-4), faces, Material.diffuse("#ffffff")
        return trace(stage_of(*bodies, patch, sky=sky), start[None], way[None], bounces=2).light

    nothing = trace(stage_of(*bodies, sky=sky), start[None], way[None], bounces=2).light
    assert (seen(ends) > nothing + 0.3).all()
    np.testing.assert_array_equal(seen(straight), nothing)


def test_total_reflection_inside_glass():
    """Beyond the critical angle nothing gets out: the colour above the surface does not matter."""
    glass = Material.glass(1.5, gloss=0.0, smooth=False)
    for degrees, out in ((30, True), (41, True), (42.5, False), (60, False)):
        way = np.array([[np.sin(np.radians(degrees)), 0, np.cos(np.radians(degrees))]])
        light = []
        for shade in ("#ffffff", "#000000"):
            above = floor(40, 1.5, Material.diffuse(shade))
            stage = stage_of((*box((-9, -9, -5), (9, 9, 0.5)), glass), above, sky=Sky("#ffffff", "#ffffff", "#ffffff", ambient=1.0))
            light.append(trace(stage, np.array([[0.1, 0.2, 0.0]]), way, bounces=1).light)
        assert (np.abs(light[0] - light[1]).max() > 0.1) == out, degrees


@pytest.mark.parametrize("reach", [np.inf, 3.0])
def test_shadows_are_exactly_where_the_light_is_blocked(reach):
    corners = np.array([[-1.0, -0.8, 1.0], [1.2, -0.5, 1.4], [0.1, 1.1, 0.8]])
    lights = [Light((0.3, 0.2, 5.0), (1, 0.9, 0.8), 0.8, reach), Light((-4.0, 1.0, 3.0), (0.5, 0.6, 1.0), 0.5, reach)]
    stage = stage_of(floor(), (corners, [[0, 1, 2]], Material.diffuse("#ff0000")), lights=lights)
    x, y = (each.ravel() for each in np.meshgrid(np.linspace(-3.01, 3.07, 45), np.linspace(-3.03, 3.11, 45)))
    points = np.column_stack([x, y, np.zeros(len(x))])
    expected, blocked_by = np.zeros((len(points), 3)), []
    for light in lights:
        to = np.asarray(light.position) - points
        weights = np.linalg.solve(corners.T - points[:, :, None], to[:, :, None])[:, :, 0]  # the way to the light, by ways to the corners
        assert np.abs(weights).min() > 1e-9, "no point is on an edge of the shadow"
        blocked = (weights > 0).all(axis=1) & (weights.sum(axis=1) > 1)
        distance = np.linalg.norm(to, axis=1)
        gain = srgb_to_linear(FLOOR.colour) * light.light * (to[:, 2] / distance)[:, None] / (1 + (distance / reach) ** 2)[:, None]
        expected += np.where(blocked[:, None], 0, gain)
        blocked_by.append(blocked)
    assert all(0.01 < blocked.mean() < 0.6 for blocked in blocked_by) and (blocked_by[0] != blocked_by[1]).any()
    eyes = points + np.array([0, 0, 0.05])  # below the triangle, so that primary rays meet the floor
    traced = trace(stage, eyes, np.broadcast_to((0, 0, -1.0), eyes.shape).copy(), bounces=0)
    np.testing.assert_allclose(traced.light, expected, atol=1e-7)


def test_what_is_behind_the_light_throws_no_shadow():
    stage = stage_of(floor(), floor(2.0, 3.0), lights=[Light((0, 0, 2.0))])
    traced = trace(stage, np.array([[0, 0, 1.0]]), np.array([[0, 0, -1.0]]))
    np.testing.assert_allclose(traced.light[0], srgb_to_linear(FLOOR.colour))


@pytest.mark.parametrize(("size", "place"), [(1.0, 0.0), (1e-3, 1.0), (1e6, 0.0), (1.0, 1e5), (1e-6, 0.0), (1e12, -1e12)])
@pytest.mark.parametrize("smooth", [False, True])
def test_a_convex_body_never_shades_itself(size, place, smooth):
    """At any size and place: no ray hits the face it starts from, however flat it leaves it."""
    directions, faces = icosphere(3)
    material = Material.diffuse("#ffffff", smooth=smooth)
    lamp = np.array([5.0, 0.4, 0.3]) * size + place
    stage = stage_of((directions * size + place, faces, material), lights=[Light(tuple(lamp))])
    camera = Camera((2.0 * size + place, 3.0 * size + place, place), (place, place, place), width=60, height=60)
    origins, ways = camera.rays()
    traced = trace(stage, origins, ways, bounces=0)
    hits = pliant.cast(stage.scene, origins, ways)
    hit = hits.face >= 0
    corners = stage.scene[0].vertices[faces[hits.face[hit]]]
    points = origins[hit] + hits.t[hit, None] * ways[hit]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    to = lamp - points
    facing = (normals * to).sum(axis=1) / np.linalg.norm(to, axis=1)
    assert 0.2 < hit.mean() < 0.9 and (facing > 0.01).any() and (facing < -0.01).any()
    light = traced.light[hit, 0]
    if smooth:
        assert (light[facing > 0.2] > 0.05).all() and (light[facing < 0] == 0).all()
    else:
        np.testing.assert_allclose(light, np.maximum(facing, 0), atol=2e-3 if abs(place) > 100 * size else 1e-6)


def test_smooth_normals_are_the_same_however_many_are_asked_for():
    directions, faces = icosphere(3)
    stage = stage_of((bumpy(directions, 1.0), faces, FLOOR))
    member, = stage._members.values()
    all_normals = member.normals(np.arange(len(faces)))
    some = np.array([3, 77, 1200, 3])
    np.testing.assert_allclose(member.normals(some), all_normals[some], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(all_normals, axis=2), 1)
    round_stage = stage_of((directions, faces, FLOOR))
    member, = round_stage._members.values()
    np.testing.assert_allclose(member.normals(some), directions[faces[some]], atol=0.02)


def test_pictures_follow_bodies():
    """New vertices are seen, and so is a body that comes or goes."""
    stage, eye, way = stage_of(floor(), sky=unlike_sky()), np.array([[0, 0, 5.0]]), np.array([[0, 0, -1.0]])
    before = trace(stage, eye, way).light
    vertices, faces, _ = floor(height=1.0)
    number = stage.add(pliant.Body(vertices, faces), Material.diffuse("#ffffff"))
    with_body = trace(stage, eye, way).light
    assert (with_body > before).all()
    stage.scene[number].update(vertices - (0, 0, 3))
    np.testing.assert_array_equal(trace(stage, eye, way).light, before)
    stage.scene[number].update(vertices)
    stage.remove(number)
    np.testing.assert_array_equal(trace(stage, eye, way).light, before)


def test_haze_hides_what_is_far():
    stage = stage_of(floor(1e4), lights=[Light((0, 0, 1e3))], sky=Sky("#000000", "#ff0000", "#000000", haze=10.0))
    traced = trace(stage, np.array([[0, 0, 1.0], [0, 0, 1.0]]), np.array([[0, 0, -1.0], [0.9999, 0, -0.014]]))
    assert traced.light[0, 1] > 0.1 and traced.light[1] == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_ball_of_light_has_soft_shadows():
    corners = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 1.5, 1.0]])
    eyes = np.column_stack([np.linspace(-2.5, 2.5, 400), np.zeros(400), np.full(400, 0.1)])
    levels = []
    for radius in (0.0, 0.6):
        stage = stage_of(floor(), (corners, [[0, 1, 2]], FLOOR), lights=[Light((0, 0, 5.0), radius=radius)])
        light = trace(stage, eyes, np.broadcast_to((0, 0, -1.0), eyes.shape).copy(), bounces=0).light[:, 0]
        dark = (light == 0).astype(int)
        levels.append(np.abs(np.diff(dark)).sum())
        assert 0.2 < dark.mean() < 0.6
    assert levels[0] == 2 and levels[1] > 10, "two sharp edges; many points in between that see a part of the light"


# --- order and budget ------------------------------------------------------------------------------------------------------

def lively_stage():
    directions, faces = icosphere(2)
    bodies = [(0.8 * directions + (x, 0, 1), faces, material) for x, material in ((-1, Material.mirror()), (1, Material.glass()))]
    return stage_of(floor(), *bodies, lights=[Light((3, -3, 6)), Light((-3, -3, 6))], sky=unlike_sky())


def test_rays_are_traced_breadth_first(monkeypatch):
    stage, asked = lively_stage(), []
    cast, occluded = pliant.cast, pliant.occluded

    def spy(name, query):
        def ask(scene, origins, directions, **options):
            asked.append((name, len(origins)))
            return query(scene, origins, directions, **options)
        return ask

    monkeypatch.setattr(pliant, "cast", spy("cast", cast))
    monkeypatch.setattr(pliant, "occluded", spy("occluded", occluded))
    camera = Camera((0, -6, 3), (0, 0, 0.5), width=40, height=30)
    traced = trace(stage, *camera.rays(), bounces=2, batch=500)
    expected = []
    for phase in traced.phases:
        expected += [("occluded" if phase.name == "shadow" else "cast", min(500, phase.rays - at)) for at in range(0, phase.rays, 500)]
    assert asked == expected
    assert [(phase.name, phase.bounce) for phase in traced.phases] == [
        ("primary", 0), ("shadow", 0), ("secondary", 1), ("shadow", 1), ("secondary", 2), ("shadow", 2)]
    assert traced.phases[0].rays == 1200 and traced.phases[1].rays > 1000 and traced.phases[2].rays > 200 and traced.complete


def test_batches_make_no_difference():
    stage, (origins, directions) = lively_stage(), Camera((0, -6, 3), (0, 0, 0.5), width=40, height=30).rays()
    whole = trace(stage, origins, directions, bounces=3)
    for batch in (7, 1000):
        np.testing.assert_allclose(trace(stage, origins, directions, bounces=3, batch=batch).light, whole.light, atol=1e-12)
    order = np.random.default_rng(0).permutation(1200)
    np.testing.assert_allclose(trace(stage, origins[order], directions[order], bounces=3).light, whole.light[order], atol=1e-12)


def test_there_is_a_picture_whenever_it_stops():
    stage, (origins, directions) = lively_stage(), Camera((0, -6, 3), (0, 0, 0.5), width=20, height=15).rays()
    complete, seen = trace(stage, origins, directions, bounces=2, batch=40), set()
    batches = sum(-(-phase.rays // 40) for phase in complete.phases)
    for stop in range(batches + 2):
        clock = iter([False] * stop + [True] * 10_000)
        traced = trace(stage, origins, directions, bounces=2, batch=40, at_least=50, out_of_time=lambda clock=clock: next(clock))
        assert traced.light.shape == (300, 3) and np.isfinite(traced.light).all() and traced.light.min() > -1e-9
        assert traced.phases[0].traced == min(300, max(80, 40 * stop)), "at least what was asked for, in whole batches"
        assert all(phase.complete for phase in traced.phases[:-1]) and traced.complete == (stop >= batches)
        seen.add(traced.phases[-1].name)
    assert seen == {"primary", "shadow", "secondary"}
    np.testing.assert_array_equal(traced.light, complete.light)


def test_other_options_of_tracing_are_refused():
    for options in ({"bounces": -1}, {"batch": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            trace(stage_of(), np.zeros((1, 3)), np.ones((1, 3)), **options)
