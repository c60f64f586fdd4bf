"""What touches between two frames and is shown by neither: against contacts that are worked out with rational numbers, and whole checks."""

import csv
import itertools
import json

import numpy as np
import pytest
from test_cli_check import run as command
from test_cli_check import text
from typer.testing import CliRunner

import naive
import naive_ccd
import pliant as pl
from gltfs import Writer
from pliant.check import between_frames
from pliant.check.motions import CHANGED_NOTE
from pliant.check.plan import CheckOptions
from pliant.check.run import MOTION_NOTE, Output, check_animation
from pliant.cli import application
from pliant.io.animation import Animation, FrameActor, Settings
from pliant.shapes import icosphere

PLATE = np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], float), np.array([[0, 1, 2], [0, 2, 3]], np.int32)
BALL, BALL_FACES = icosphere(1)
HEIGHTS = (3.0, 2.4, -2.0, -3.0)  # of a ball of radius 0.5
TOUCH = 1 + (2.4 - 0.5) / 4.4  # when its lowest vertex is in the plate
BETWEEN = "between frames"


def ball(x=0.1, y=0.2, z=0.0):
    return 0.5 * BALL + [x, y, z]


def animation(**bodies):
    """Bodies of (positions of each frame, faces)."""
    count = max(len(frames) for frames, _ in bodies.values())
    actors = [FrameActor(name, len(frames), lambda k, frames=frames, faces=faces: (np.asarray(frames[k], float), faces))
              for name, (frames, faces) in bodies.items()]
    return Animation("scene", actors, count)


def bullet():
    return animation(plate=([PLATE[0]], PLATE[1]), ball=([ball(z=z) for z in HEIGHTS], BALL_FACES))


def check(made, folder, options=None, *, form="npz", report=False, **more):
    options = options or CheckOptions(between_frames=True)
    return check_animation(made, options, Output(folder, form, report, plots=False), **more).summary


def motion_rows(folder):
    """(frame, body, body, face, face, kind, time) of each pair that only touches between frames."""
    with np.load(folder / "pairs.npz", allow_pickle=False) as file:
        arrays = [file[f"motion_{name}"] for name in ("frame", "bodies", "faces", "kind", "time")]
    return [(frame, *bodies, *faces, kind, when)
            for frame, bodies, faces, kind, when in zip(*(column.tolist() for column in arrays), strict=True)]


# --- against rational numbers ------------------------------------------------------------------------------------------------------------


def features(faces):
    """{(kind, index or edge): the faces around it}, kinds "vertex", "edge", "face"."""
    found = {}
    for number, face in enumerate(faces.tolist()):
        for v in face:
            found.setdefault(("vertex", v), []).append(number)
        for u, v in itertools.combinations(sorted(face), 2):
            found.setdefault(("edge", (u, v)), []).append(number)
        found[("face", tuple(face))] = [number]
    return found


def expected_rows(start, end, one, other=None):
    """{(face, face): (low, high) of the first time} of contacts that neither frame shows, of bodies (place of vertices, faces)."""
    sides = [features(one), features(one if other is None else other)]
    impacts = []
    for (a, star_a), (b, star_b) in itertools.product(sides[0].items(), sides[1].items()):
        kinds = a[0], b[0]
        if kinds not in (("vertex", "face"), ("face", "vertex"), ("edge", "edge")) or (other is None and (kinds[0] == "face" or (
                kinds[0] == "edge" and b[1] <= a[1]))):
            continue
        ids_a, ids_b = (np.atleast_1d(each[1]).tolist() for each in (a, b))
        if other is None and set(ids_a) & set(ids_b):
            continue
        points = [(*start[0][ids_a], *start[-1][ids_b]), (*end[0][ids_a], *end[-1][ids_b])]
        if kinds[0] == "face":
            points = [(each[3], *each[:3]) for each in points]
        kind = naive_ccd.EDGE_EDGE if kinds[0] == "edge" else naive_ccd.VERTEX_FACE
        when = naive_ccd.first_contact(*map(np.array, points), kind)
        if when:
            impacts.append(([tuple(sorted(pair)) if other is None else pair for pair in itertools.product(star_a, star_b)], when))
    shown = set()
    for vertices in (start, end):
        found = naive.self_collide(vertices[0], one) if other is None else naive.collide(vertices[0], one, vertices[-1], other)
        shown |= {tuple(pair) for pair in np.asarray(found).tolist()}
    while True:  # contacts that a frame shows grow
        grown = shown | {pair for pairs, _ in impacts if shown & set(pairs) for pair in pairs}
        if grown == shown:
            break
        shown = grown
    rows = {}
    for pairs, when in impacts:
        if not shown & set(pairs) and (pairs[0] not in rows or when < rows[pairs[0]]):
            rows[pairs[0]] = when
    return rows


def random_scene(seed):
    """Two sheets of four faces and a strip that folds, somewhere at the start and the end of a motion; coordinates of few bits."""
    rng = np.random.default_rng(seed)
    fan = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]], np.int32)
    flat = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], float)

    def near(scale):
        return np.round(rng.normal(size=(5, 3)) * scale * 64) / 64

    low, high = flat + near(0.15), flat + near(0.15) + [0, 0, 0.7]
    return fan, [low, low + near(0.1)], [high, high + near(0.3) - [0, 0, 1.4]]


@pytest.mark.parametrize("seed", range(12))
def test_contacts_that_no_frame_shows(tmp_path, seed):
    fan, low, high = random_scene(seed)
    check(animation(low=(low, fan), high=(high, fan)), tmp_path)
    starts, ends = ([low[k], high[k]] for k in (0, 1))
    expected = {(0, 1, *pair): when for pair, when in expected_rows(starts, ends, fan, fan).items()}
    for place, frames in enumerate((low, high)):
        expected |= {(place, place, *pair): when for pair, when in expected_rows(frames[:1], frames[1:], fan).items()}
    found = {row[1:5]: row[6] for row in motion_rows(tmp_path)}
    assert found.keys() == expected.keys()
    assert all(float(expected[pair][0]) - 2**-39 <= found[pair] <= float(expected[pair][1]) + 2**-52 for pair in found)


def test_the_scenes_have_both(tmp_path):
    """Some of the contacts above are shown by a frame, and some are not; else they test little."""
    unseen = [len(expected_rows([low[0], high[0]], [low[1], high[1]], fan, fan)) for fan, low, high in map(random_scene, range(12))]
    assert 0 in unseen and sum(count > 0 for count in unseen) > 3


# --- whole checks ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("form", ["npz", "parquet", "csv"])
def test_a_bullet_passes_through_a_plate(tmp_path, form, jobs):
    check(bullet(), tmp_path / "one")
    check(bullet(), tmp_path / "other", form=form)
    summary = check(bullet(), tmp_path, form=form, jobs=jobs)
    (event,) = summary["events"]
    assert (event["names"], event["state"], event["kind"], event["first"], event["last"], event["frames"]) == (
        ["plate", "ball"], BETWEEN, "touching", 1, 2, 0)
    assert event["motion"] == [1, 2] and abs(event["time"] - TOUCH) < 1e-6
    assert event["between_pairs"] == summary["by_state"][BETWEEN] == len(motion_rows(tmp_path / "one")) > 1
    assert (summary["verdict"], summary["failed"], summary["pairs"], summary["frames_with_pairs"]) == ("collisions", True, 0, 0)
    assert summary["between_frames"] == [0, summary["by_state"][BETWEEN], 0] and summary["event_counts"][BETWEEN] == 1
    assert MOTION_NOTE not in summary["notes"]
    for path in (tmp_path / "other").glob("pairs.*"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()
    if form == "parquet":
        from pyarrow import parquet

        rows = parquet.read_table(tmp_path / "pairs.parquet").to_pylist()
        assert {(row["first"], row["last"], row["state"]) for row in rows} == {(1, 2, 3)}
        assert abs(min(row["time"] for row in rows) - TOUCH) < 1e-9
    elif form == "csv":
        with open(tmp_path / "pairs.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {row["state"] for row in rows} == {BETWEEN} and abs(min(float(row["time"]) for row in rows) - TOUCH) < 1e-9
        with open(tmp_path / "events.csv", newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        assert (row["state"], row["time"], row["between_pairs"]) == (BETWEEN, str(event["time"]), str(event["between_pairs"]))


def test_nothing_is_told_unless_asked(tmp_path):
    summary = check(bullet(), tmp_path, CheckOptions())
    assert (summary["verdict"], summary["between_frames"], motion_rows(tmp_path)) == ("clean", None, []) and MOTION_NOTE in summary["notes"]


def test_chosen_frames_are_joined_by_straight_lines(tmp_path):
    (event,) = check(bullet(), tmp_path, CheckOptions(between_frames=True, frames="0:4:3"))["events"]
    assert event["motion"] == [0, 3] and abs(event["time"] - 3 * (3 - 0.5) / 6) < 1e-6 and event["worst_frame"] == 0
    assert check(bullet(), tmp_path / "b", CheckOptions(between_frames=True, frames="1"))["verdict"] == "clean"


class Stop(Exception):
    pass


def test_a_check_that_is_stopped_between_frames_goes_on(tmp_path):
    def stop(done, total):
        assert total == len(HEIGHTS) - 1
        if done == 2:
            raise Stop

    check(bullet(), tmp_path / "whole")
    with pytest.raises(Stop):
        check(bullet(), tmp_path / "parts", moving=stop)
    seen = []
    check(bullet(), tmp_path / "parts", moving=lambda *now: seen.append(now), resume=True)
    assert seen == [(3, 3)]
    assert (tmp_path / "parts" / "pairs.npz").read_bytes() == (tmp_path / "whole" / "pairs.npz").read_bytes()


def sinking():
    """A ball that sinks into the plate; another one goes through it beside, unseen."""
    deeper = [ball(z=z) for z in (1.0, 0.3, 0.1, -0.05)]
    return animation(plate=([PLATE[0]], PLATE[1]), sinking=(deeper, BALL_FACES), bullet=([ball(4, z=z) for z in HEIGHTS], BALL_FACES))


def test_what_frames_show_is_not_told_again(tmp_path, monkeypatch):
    told = []
    real = between_frames.search_features
    monkeypatch.setattr(between_frames, "search_features", lambda *args: told.append(real(*args)) or told[-1])
    summary = check(sinking(), tmp_path)
    assert {tuple(row[1:3]) for row in motion_rows(tmp_path)} == {(0, 2)} and sum(len(impacts.values) > 0 for impacts in told) > 1
    events = {row["names"][1]: row for row in summary["events"]}
    assert events["sinking"]["state"] == "new" and events["sinking"]["time"] is None and events["sinking"]["between_pairs"] == 0
    assert events["bullet"]["state"] == BETWEEN


def test_two_contacts_of_the_same_bodies_are_told_apart(tmp_path):
    """One body of two balls: one of them sinks into the plate, the other passes through it."""
    both = [np.concatenate([ball(z=a), ball(4, z=b)]) for a, b in zip((0.3, 0.1, 0.05, -0.05), HEIGHTS, strict=True)]
    faces = np.concatenate([BALL_FACES, BALL_FACES + len(BALL)])
    summary = check(animation(plate=([PLATE[0]], PLATE[1]), balls=(both, faces)), tmp_path)
    (event,) = [row for row in summary["events"] if row["state"] == "new"]
    assert (event["first"], event["last"], event["frames"], event["motion"]) == (0, 3, 4, [1, 2]) and abs(event["time"] - TOUCH) < 1e-6
    assert {row[4] >= len(BALL_FACES) for row in motion_rows(tmp_path)} == {True} and event["between_pairs"] > 0
    assert summary["event_counts"] == dict.fromkeys(summary["event_counts"], 0) | {"new": 1, "static": summary["event_counts"]["static"]}


def flaps():
    """A body of two sheets: one passes through the other between frames 0 and 1."""
    sheet = np.concatenate([PLATE[0], 0.1 * PLATE[0] + [0, 0, 1]])
    faces = np.concatenate([PLATE[1], PLATE[1] + 4])
    return animation(flaps=([sheet, sheet - np.repeat([[0, 0, 0], [0, 0, 3]], 4, axis=0)], faces))


def test_a_body_with_itself(tmp_path):
    summary = check(flaps(), tmp_path)
    (event,) = summary["events"]
    assert event["bodies"] == [0, 0] and abs(event["time"] - 1 / 3) < 1e-6 and summary["between_frames"] == [len(motion_rows(tmp_path))]
    assert {row[3] < 2 <= row[4] for row in motion_rows(tmp_path)} == {True}, "the lower face first"
    actor = flaps().actors[0]
    with_two = animation(flaps=([actor.mesh(k)[0] for k in (0, 1)], actor.mesh(0)[1]), plate=([PLATE[0] - 50], PLATE[1]))
    for name, options in {"self": {"with_self": False}, "rule": {"ignore": ("flaps:flaps",)}}.items():
        assert check(with_two, tmp_path / name, CheckOptions(between_frames=True, **options))["verdict"] == "clean"


def test_rules_of_pairs_hold_between_frames(tmp_path):
    for name, options in {"ignore": {"ignore": ("plate:ball",)}, "pairs": {"pairs": ("ball:ball",)}, "between": {"between": False}}.items():
        assert check(bullet(), tmp_path / name, CheckOptions(between_frames=True, **options))["verdict"] == "clean"


def fold():
    """Two faces that share an edge: one goes through the other and on to where it does not touch."""
    vertices = np.array([[0, 0, 0], [0, 2, 0], [2, 1, 1], [1, 1, -1]], float)
    after = vertices.copy()
    after[3] = [1, 1, 2]
    return animation(fold=([vertices, after], np.array([[0, 1, 2], [1, 0, 3]], np.int32)))


def test_faces_that_share_a_vertex(tmp_path):
    assert check(fold(), tmp_path / "exact")["event_counts"][BETWEEN] == 1
    assert check(fold(), tmp_path / "ignore", CheckOptions(between_frames=True, adjacent="ignore"))["verdict"] == "clean"
    assert check(flaps(), tmp_path / "flaps", CheckOptions(between_frames=True, adjacent="ignore"))["verdict"] == "collisions"


def test_bodies_at_rest_cost_nothing(tmp_path, monkeypatch):
    asked = []
    real = between_frames.search_features
    monkeypatch.setattr(between_frames, "search_features", lambda *args: asked.append(args[1:3]) or real(*args))
    still = {f"plate{k}": ([PLATE[0] + 0.1 * k] * 2, PLATE[1]) for k in range(5)}
    check(animation(**still), tmp_path / "rest")
    assert asked == []
    check(animation(**still, ball=([ball(30), ball(31)], BALL_FACES)), tmp_path / "one")
    assert len(asked) == 1 and asked[0][1] is None, "the ball with itself; no plate is near"


def test_faces_that_change_have_no_motion(tmp_path):
    made = bullet()
    positions = [ball(z=z) for z in HEIGHTS]
    made.actors[1] = FrameActor("ball", 4, lambda k: (positions[k], np.roll(BALL_FACES, k, axis=0)))
    for jobs in (1, 2):
        summary = check(made, tmp_path / str(jobs), jobs=jobs)
        assert summary["verdict"] == "clean" and f"{CHANGED_NOTE}ball" in summary["notes"]
    made.actors[1] = FrameActor("ball", 4, lambda k: (positions[k], BALL_FACES if k else np.roll(BALL_FACES, 1, axis=0)))
    summary = check(made, tmp_path / "first")
    assert f"{CHANGED_NOTE}ball" in summary["notes"], "from frame 0 to 1"


def write_gltf(path):
    """A ball that turns by half a turn and passes through a plate between two keys."""
    writer = Writer()
    meshes = [{"primitives": [{"attributes": {"POSITION": writer.put(points)}, "indices": writer.put(faces.reshape(-1, 1), "u4")}]}
              for points, faces in (PLATE, (0.5 * BALL, BALL_FACES))]
    times, z = np.array([0.0, 0.1]), np.array([[0.1, 0.2, 2.4], [0.1, 0.2, -2.0]])
    turns = np.array([[0, 0, 0, 1], [0, 0, 1, 0]], float)
    samplers = [{"input": writer.put(times.reshape(-1, 1)), "output": writer.put(rows)} for rows in (z, turns)]
    channels = [{"sampler": k, "target": {"node": 1, "path": name}} for k, name in enumerate(("translation", "rotation"))]
    nodes = [{"mesh": 0, "name": "plate"}, {"mesh": 1, "name": "ball"}]
    writer.document |= {"meshes": meshes, "nodes": nodes, "scenes": [{"nodes": [0, 1]}], "scene": 0,
                        "animations": [{"samplers": samplers, "channels": channels}]}
    return writer.write(path)


def test_rigid_bodies_of_a_gltf_file(tmp_path):
    """The ball shrinks to its axis on the way, and yet it does not collide with itself."""
    made = pl.read(write_gltf(tmp_path / "shot.glb"), Settings(rate=10))
    assert made.frames == 2 and made.actors[1].kind == "rigid"
    summary = check(made, tmp_path / "out")
    assert [(row["names"], row["state"]) for row in summary["events"]] == [(["plate", "ball"], BETWEEN)]


def test_a_baseline_knows_them(tmp_path):
    check(bullet(), tmp_path / "a", form="npz")
    check(bullet(), tmp_path / "b", form="parquet")
    for folder in ("a", "b"):
        options = CheckOptions(between_frames=True, baseline=str(tmp_path / folder), fail_on="new")
        summary = check(bullet(), tmp_path / f"{folder} again", options)
        assert (summary["verdict"], summary["failed"], summary["resolved_pairs"]) == ("clean", False, 0) and summary["known_pairs"] > 0


# --- the command and the report ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bullet")
    np.savez(folder / "plate.npz", faces=PLATE[1], vertices=[PLATE[0]] * 4)
    np.savez(folder / "ball.npz", faces=BALL_FACES, vertices=[ball(z=z) for z in HEIGHTS])
    return [folder / "plate.npz", folder / "ball.npz"]


def test_the_command(files, tmp_path):
    result = command(*files, "--out", tmp_path, "--start", 1001)
    assert result.exit_code == 0 and "--between-frames finds them" in text(result), result.output
    result = command(*files, "--out", tmp_path, "--start", 1001, "--between-frames")
    found = text(result)
    assert result.exit_code == 1 and "1 collision between frames, which no frame shows, of 4 frames." in found, result.output
    assert "plate – ball between 1002 and 1003 1002.43 –" in found
    assert "touch, bodies inside others and what touches between frames on straight lines, but" in found
    assert "--between-frames finds them" not in found and "motion between frames" in found
    for rule, code in (("new", 1), ("near", 1), ("depth>0", 0)):
        assert command(*files, "--out", tmp_path / rule[:4], "--between-frames", "--no-report", "--fail-on", rule).exit_code == code
    result = command(*files, "--out", tmp_path / "json", "--between-frames", "--no-report", "--json")
    assert json.loads(result.stdout)["events"][0]["state"] == BETWEEN
    done = CliRunner().invoke(application(), ["baseline", str(tmp_path)])
    assert done.exit_code == 0 and "pairs of triangles accepted" in done.output
    known = "--baseline", tmp_path / "baseline.npz"
    assert command(*files, "--out", tmp_path / "known", "--between-frames", "--no-report", *known).exit_code == 0


def test_a_resumed_check_shows_the_same_verdict(files, tmp_path):
    command(*files, "--out", tmp_path, "--between-frames", "--no-report")
    result = command(*files, "--out", tmp_path, "--between-frames", "--no-report", "--resume")
    assert result.exit_code == 1 and "This check is finished" in text(result)
    assert command(*files, "--out", tmp_path, "--no-report", "--resume").exit_code == 0, "another check"


def test_the_report_has_the_event(tmp_path):
    import read_report

    check(bullet(), tmp_path, report=True)
    told, _ = read_report.parts(tmp_path / "report.html")
    (event,) = told["events"]
    assert event["frames"] == "between 1 and 2 (at 1.43)" and event["between"]["before"] == 1
    assert abs(event["between"]["share"] - TOUCH + 1) < 1e-6 and len(event["marked"][1]) > 1
    assert {"name": BETWEEN, "values": [0, event["pairs"], 0, 0], "quiet": False} in told["counts"]
    assert abs(event["centre"][2] + 1.75) < 0.2 and event["radius"] < 0.5, "at the ball in the plate, relative to the middle of frame 0"
