"""Pictures of stages in all modes, and the shows that come with the library."""

import time

import numpy as np
import pytest

import pliant
from pliant.render import demo_soup as museum_module
from pliant.render import demo_spheres as nine_module
from pliant.render import frames as frames_module
from pliant.render.animation import Actor, AnimatedScene, CameraPose, Playback
from pliant.render.camera import Camera
from pliant.render.colours import linear_to_srgb, to_uint8, tone_map
from pliant.render.frames import Renderer, Settings
from pliant.render.keyframes import interpolate
from pliant.render.materials import Light, Material, Sky
from pliant.render.sampling import pixel_grid
from pliant.render.scene import RenderScene
from pliant.render.scenes import SCENES
from pliant.render.shade import trace
from pliant.shapes import icosphere, sheet

SMALL = {"width": 45, "height": 31}


@pytest.fixture(scope="module")
def stage():
    stage = RenderScene([Light((3, -3, 6))])
    vertices, faces = sheet(1, 1)
    stage.add(pliant.Body((vertices - (0.5, 0.5, 0)) * 20, faces), Material.diffuse("#808890", second="#c0b8b0", checker=1.0))
    directions, faces = icosphere(2)
    stage.add(pliant.Body(0.9 * directions + (0, 0, 1), faces), Material.mirror("#e0a040"))
    return stage


CAMERA = Camera((1, -6, 3), (0, 0, 0.8), **SMALL)


@pytest.fixture(scope="module")
def whole(stage):
    return Renderer(stage, Settings(**SMALL)).draw(CAMERA)


def test_a_picture_shows_the_light_of_its_rays(stage, whole):
    light = trace(stage, *CAMERA.rays()).light
    assert np.array_equal(whole.image, to_uint8(linear_to_srgb(tone_map(light))).reshape(31, 45, 3))
    assert whole.image.dtype == np.uint8 and whole.complete and whole.rays == sum(phase.rays for phase in whole.phases) > 2000
    assert len(np.unique(whole.image.reshape(-1, 3), axis=0)) > 200


@pytest.mark.parametrize("step", [2, 5, 10])
@pytest.mark.parametrize("way", ["quads", "bilinear"])
def test_sub_sampling_traces_fewer_rays_of_the_same_picture(stage, whole, step, way):
    picture = Renderer(stage, Settings(**SMALL, step=step, reconstruct=way)).draw(CAMERA)
    assert picture.image.shape == whole.image.shape
    assert np.array_equal(picture.image[::step, ::step], whole.image[::step, ::step])
    assert picture.phases[0].rays == pixel_grid(45, 31, step).points < 45 * 31 / step


def test_antialiasing_takes_the_mean(stage):
    picture = Renderer(stage, Settings(**SMALL, antialias=3, exposure=1.5)).draw(CAMERA)
    light = tone_map(trace(stage, *CAMERA.rays(antialias=3)).light, 1.5).reshape(-1, 9, 3).mean(axis=1)
    assert np.array_equal(picture.image, to_uint8(linear_to_srgb(light)).reshape(31, 45, 3))
    assert picture.phases[0].rays == 9 * 45 * 31


def test_blocks_make_no_difference(stage, whole, monkeypatch):
    monkeypatch.setattr(frames_module, "BLOCK_SIZE", 100)
    picture = Renderer(stage, Settings(**SMALL)).draw(CAMERA)
    assert np.array_equal(picture.image, whole.image)
    assert [(p.name, p.bounce, p.rays, p.traced) for p in picture.phases] == [(p.name, p.bounce, p.rays, p.traced) for p in whole.phases]


@pytest.mark.parametrize("step", [1, 2])
def test_frameless_pictures_are_whole_after_a_cycle(stage, step):
    away = Camera((-4, -5, 2), (0, 0, 0.8), **SMALL)
    settings = Settings(**SMALL, mode="frameless", parts=4, step=step)
    renderer, full = Renderer(stage, settings), Renderer(stage, Settings(**SMALL, step=step))
    before, after = full.draw(CAMERA), full.draw(away)
    assert np.array_equal(renderer.draw(CAMERA).image, before.image), "the first is traced as a whole"
    points, traced = pixel_grid(45, 31, step).points, []
    for turn in range(4):
        picture = renderer.draw(away)
        traced.append(picture.phases[0].traced)
        if step == 1:
            same, old = (picture.image == after.image).all(axis=2), (picture.image == before.image).all(axis=2)
            assert (same | old).all() and same.mean() > 0.2 * (turn + 1)
    assert sum(traced) == points and max(traced) - min(traced) <= 1
    assert np.array_equal(picture.image, after.image)


def test_a_budget_of_nothing_still_gives_a_picture(stage, whole, monkeypatch):
    monkeypatch.setattr(frames_module, "SHORT_BATCH", 24)
    picture = Renderer(stage, Settings(**SMALL, mode="budget", budget_ms=0)).draw(CAMERA)
    assert picture.image.shape == (31, 45, 3) and not picture.complete and len(picture.phases) == 1
    assert picture.phases[0].traced == 24, "every eighth point in both directions"
    primary = Renderer(stage, Settings(**SMALL, bounces=0)).draw(CAMERA)
    difference = np.abs(picture.image.astype(int) - primary.image)
    assert np.median(difference) < 30, "a coarse picture of the scene"
    assert len(np.unique(picture.image.reshape(-1, 3), axis=0)) > 10


def test_a_large_budget_gives_the_whole_picture(stage, whole):
    picture = Renderer(stage, Settings(**SMALL, mode="budget", budget_ms=1e6)).draw(CAMERA)
    assert picture.complete and np.array_equal(picture.image, whole.image)


def test_a_budget_counts_from_the_beginning_of_the_frame(stage):
    renderer = Renderer(stage, Settings(**SMALL, mode="budget", budget_ms=1e5))
    assert not renderer.draw(CAMERA, started=time.perf_counter() - 1e3).complete
    assert renderer.draw(CAMERA).complete


def test_what_a_budget_traces_grows_with_it(stage, monkeypatch):
    """With a clock of its own: a batch a tick."""
    monkeypatch.setattr(frames_module, "SHORT_BATCH", 100)
    reached = []
    for ticks in (0, 5, 20, 40, 1000):
        clock = iter(np.arange(10_000) * 1e-3)
        monkeypatch.setattr(frames_module.time, "perf_counter", lambda clock=clock: float(next(clock)))
        picture = Renderer(stage, Settings(**SMALL, mode="budget", budget_ms=4 * ticks)).draw(CAMERA)
        monkeypatch.undo()
        monkeypatch.setattr(frames_module, "SHORT_BATCH", 100)
        reached.append((picture.rays, picture.phases[-1].name))
    rays = [each for each, _ in reached]
    assert rays == sorted(rays) and rays[0] < rays[1] < rays[-1]
    assert reached[0][1] == "primary"


def test_a_camera_must_fit_the_picture(stage):
    with pytest.raises(ValueError, match="45 × 31"):
        Renderer(stage, Settings(**SMALL)).draw(Camera((1, -6, 3), (0, 0, 0.8)))


@pytest.mark.parametrize("options", [
    {"width": 0}, {"step": 0}, {"mode": "fast"}, {"reconstruct": "cubic"}, {"bounces": -1}, {"antialias": 99}, {"budget_ms": float("nan")},
    {"exposure": -1.0}, {"parts": 0}, {"height": 2.5},
])
def test_other_settings_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        Settings(**options)


# --- shows -----------------------------------------------------------------------------------------------------------------

def test_the_first_experiment_is_that_of_the_paper():
    show = SCENES["nine"]()
    moving = [actor for actor in show.actors if actor.moves]
    assert [len(actor.faces) for actor in moving] == [81_920] * 9 and sum(len(actor.faces) for actor in moving) == 737_280
    assert all(actor.material.reflect > 0.5 for actor in moving) and len(show.lights) == 2 and show.frames == 280


def test_the_second_experiment_is_that_of_the_paper():
    show = SCENES["museum"]()
    art, *room = show.actors
    assert len(art.faces) == 65_536 and art.material.reflect > 0.5 and len(show.lights) == 2 and show.frames == 300
    assert np.array_equal(np.unique(art.faces), np.arange(3 * 65_536)), "no two triangles share a vertex"
    assert len(art.trees) == 5 and not any(actor.moves for actor in room)
    assert [museum_module.frame_time(frame) for frame in (0, 299)] == [0, 4]


@pytest.mark.parametrize("name", SCENES)
def test_frames_of_shows_are_finite_and_never_alike(name):
    show = SCENES[name](faces={"nine": 320, "museum": 256}[name])
    for actor in show.actors:
        first, later = actor.shape(0), actor.shape(show.frames // 2)
        assert np.isfinite(first).all() and first.shape == (int(actor.faces.max()) + 1, 3)
        assert (not np.array_equal(first, later)) == actor.moves
        corners = first[actor.faces]
        assert np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).max() > 0
    eyes = np.array([show.view(frame).eye for frame in range(show.frames)])
    steps = np.linalg.norm(np.diff(eyes, axis=0), axis=1)
    assert 0 < steps.max() < 0.5 and all(show.camera(frame, 8, 6) for frame in range(0, show.frames, 7))


def test_the_number_of_bodies_in_sight_varies():
    """Over the 280 frames from few to all of them; in most frames more than half (thesis C 7.4)."""
    performance = Playback(SCENES["nine"](320), policy="hybrid")
    counts = []
    for frame in range(0, 280, 20):
        performance.move(frame)
        origins, directions = performance.show.camera(frame, 40, 30).rays()
        counts.append(len(set(pliant.cast(performance.stage.scene, origins, directions).body.tolist()) & set(range(9))))
    assert min(counts) <= 4 and max(counts) == 9 and np.mean(np.array(counts) > 4) > 0.6


def test_bodies_of_nine_stay_apart_and_above_the_floor():
    show = SCENES["nine"](320)
    for frame in range(0, 280, 40):
        bodies = [pliant.Body(actor.shape(frame), actor.faces) for actor in show.actors]
        assert not pliant.Scene(bodies).collide()
        assert min(body.vertices[:, 2].min() for body in bodies[:9]) > 0


def test_the_soup_goes_straight_from_one_constellation_to_the_next():
    keys = museum_module.constellations(256)
    assert keys.shape == (5, 768, 3)
    assert np.array_equal(museum_module.soup_at(keys, 0), keys[0])
    np.testing.assert_allclose(museum_module.soup_at(keys, 299), keys[4], atol=1e-12)
    at = museum_module.frame_time(100)
    np.testing.assert_allclose(museum_module.soup_at(keys, 100), keys[1] + (at - 1) * (keys[2] - keys[1]))
    for key, frame in enumerate(museum_module.key_frames()):
        assert museum_module.nearest_constellation(frame) == key and abs(museum_module.frame_time(frame) - key) < 0.01
    radii = np.linalg.norm(keys - museum_module.CENTRE, axis=2)
    np.testing.assert_allclose(radii[0], museum_module.RADIUS)
    assert radii.max() < 1.4 * museum_module.RADIUS


def test_the_room_is_closed():
    """No ray from inside gets out."""
    performance = Playback(SCENES["museum"](64))
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(2000, 3))
    hits = pliant.cast(performance.stage.scene, (0.3, 2.5, 3.0), directions)
    assert (hits.face >= 0).all()


def test_the_tree_of_the_nearest_key_frame_is_on_stage():
    show = SCENES["museum"](64)
    performance, ids = Playback(show), []
    for frame in (0, 30, 60, 120, 299, 0):
        performance.move(frame)
        ids.append(performance._ids[0])
        body = performance.stage.scene[ids[-1]]
        assert np.array_equal(body.vertices, show.actors[0].shape(frame))
        assert len(performance.stage.scene) == len(show.actors)
    assert len(set(ids)) == 5 and ids[0] == ids[1], "ids are never used again"
    with pytest.raises(ValueError, match="0 … 299"):
        performance.move(300)


def test_shows_are_drawn():
    for name, faces in (("nine", 320), ("museum", 256)):
        show = SCENES[name](faces)
        performance = Playback(show, policy="hybrid")
        moved = performance.move(show.poster)
        picture = Renderer(performance.stage, Settings(**SMALL)).draw(show.camera(show.poster, 45, 31), moved.started)
        assert picture.image.std() > 15 and picture.complete and moved.deform > 0 and moved.update >= 0


@pytest.mark.parametrize(("name", "faces"), [("nine", 100), ("museum", 100), ("nine", -320)])
def test_other_sizes_are_refused(name, faces):
    with pytest.raises(ValueError, match="faces must be one of"):
        SCENES[name](faces)


def test_an_actor_that_stands_still_is_not_asked_again():
    calls, (vertices, faces) = [], sheet(1, 1)

    def shape(frame):
        calls.append(frame)
        return vertices

    show = AnimatedScene("still", 5, [Actor(faces, Material(), shape, moves=False)], [], Sky(),
                         lambda frame: CameraPose((0, 0, 3), (0.5, 0.5, 0)))
    performance = Playback(show)
    for frame in range(5):
        performance.move(frame)
    assert calls == [0]


def test_ways_go_through_their_key_frames():
    times, rows = np.array([0.0, 10.0, 15.0, 40.0]), np.random.default_rng(1).normal(size=(4, 3))
    for time_, row in zip(times, rows, strict=True):
        np.testing.assert_allclose(interpolate(times, rows, time_), row, atol=1e-12)
    np.testing.assert_array_equal(interpolate(times, rows, -5), interpolate(times, rows, 0))
    np.testing.assert_array_equal(interpolate(times, rows, 99), interpolate(times, rows, 40))
    line = np.outer(times, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(interpolate(times, line, 12.3), 12.3 * np.array([1, -2, 0.5]))
    around = np.array([interpolate(times, rows, time_) for time_ in np.linspace(9.9, 10.1, 21)])
    assert np.abs(np.diff(around, 2, axis=0)).max() < 1e-3, "without a bend"
    np.testing.assert_array_equal(interpolate(np.array([3.0]), rows[:1], 7), rows[0])
    assert nine_module.camera_pose(60).eye == pytest.approx(nine_module.CAMERA_KEYS[1][1])
