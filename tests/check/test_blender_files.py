"""Checks of files that Blender has exported, with default options: the verdict is right without a word of the user.

`tests/fixtures/make_blender.py` makes the files. A book whose pages coincide when it is closed opens, in six frames; where it is open, a
rod goes through the page that has turned.
"""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mesh_files
import naive
from pair_rows import pair_rows
from pliant.check.plan import CheckOptions
from pliant.check.run import Output, check_animation
from pliant.cli import application
from pliant.errors import ArgumentError
from pliant.io.animation import Animation, FrameActor, Settings
from pliant.io.read import read

FILES = Path(__file__).parents[1] / "fixtures" / "blender"
BOOKS = {"morph": ["book_morph.glb"], "skin": ["book_skin.glb"], "frames": ["book", "rod/rod.obj"], "points": ["book_points.usdc"],
         "shapes": ["book_shapes.usdc"], "skeleton": ["book_skin.usdc"]}  # fmt: skip
LABELS = [str(frame) for frame in range(1001, 1007)]


def animation_of(names: Sequence[str], **settings):
    return read([FILES / name for name in names], Settings(**settings))


def check(animation, folder, frames=":", **more):
    return check_animation(animation, CheckOptions(frames=frames), Output(folder, report=False, plots=False), **more)


@pytest.mark.parametrize("kind", BOOKS)
def test_a_book_that_opens(kind, tmp_path):
    animation = animation_of(BOOKS[kind])
    summary = check(animation, tmp_path).summary
    assert animation.frames == 6 and animation.frame_labels == LABELS
    assert summary["with_self"][0] > 100, "closed, its pages are at one place"
    assert not any(summary["with_self"][1:]), "open, they are apart, and the spine is no collision"
    assert summary["between"][:4] == [0] * 4 and min(summary["between"][4:]) > 5, "the rod is met by the open page alone"
    place = next(k for k, actor in enumerate(animation.actors) if actor.name.startswith("Book"))
    bodies = [actor.at(5) for actor in animation.actors]
    expected = naive.collide(bodies[0].vertices, bodies[0].faces, bodies[1].vertices, bodies[1].faces)
    found = pair_rows(tmp_path)
    assert sorted(map(tuple, found[found[:, 0] == 5, 3:].tolist())) == sorted(map(tuple, np.asarray(expected).tolist()))
    book = animation.actors[place]
    assert set(book.materials) == {"Paper", "Ink"} and len(book.material_of_face) == len(bodies[place].faces)
    assert np.bincount(book.material_of_face).tolist() == [32, 32]
    assert animation.actors[1 - place].materials == ["Steel"] and not animation.actors[1 - place].material_of_face.any()
    assert book.bones == (["Left", "Right"] if kind in ("skin", "skeleton") else ["joint1"] if kind == "shapes" else None)
    assert book.source_name.split("/")[-1] == book.name and (not kind.startswith("s") or "Book" in book.source_name)


@pytest.mark.parametrize("form", ["npz", "parquet", "csv"])
@pytest.mark.parametrize("kind", ["skin", "skeleton", "frames"])
def test_polygons_materials_and_bones_of_faces(kind, form, tmp_path):
    """Files of results have them for each face, as the actors do: in arrays, in a table of faces, or in the rows of pairs."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="pliant[parquet] is not installed")
    animation = animation_of(BOOKS[kind])
    check_animation(animation, CheckOptions(frames="4:"), Output(tmp_path, form, report=False, plots=False))
    expected = []
    for number, actor in enumerate(animation.actors):
        for face in range(len(actor.at(0).faces)):
            polygon = face if actor.polygon_of_face is None else int(actor.polygon_of_face[face])
            labels = [None if names is None or rows[face] < 0 else names[rows[face]] for names, rows in (
                (actor.materials, actor.material_of_face), (actor.bones, actor.bone_of_face))]  # fmt: skip
            expected.append((number, face, polygon, *labels))
    assert {row[3] for row in expected} == {"Paper", "Ink", "Steel"} and len({row[4] for row in expected}) == (1 if kind == "frames" else 3)
    if form == "npz":
        assert npz_faces(tmp_path / "pairs.npz") == expected
    elif form == "parquet":
        assert parquet_faces(tmp_path / "faces.parquet") == expected
    else:
        assert npz_faces(tmp_path / "pairs.npz") == expected
        known = {row[:2]: [str(row[2]), *(each or "" for each in row[3:])] for row in expected}
        with open(tmp_path / "pairs.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {row["first"] for row in rows} <= {"1005", "1006"}, "frames as Blender calls them"
        with open(tmp_path / "events.csv", newline="", encoding="utf-8") as file:
            events = list(csv.DictReader(file))
        assert events
        for event in events:
            worst = int(event["worst_frame"])
            mine = [row for row in rows if row["state"] == event["state"] and int(row["first"]) <= worst <= int(row["last"])]
            for side in "ab":
                faces = {(int(row[f"body_{side}"]), int(row[f"face_{side}"])) for row in mine}
                counts = Counter(known[face][2] for face in faces if known[face][2])
                assert counts.get(event[f"bone_{side}"], 0) == max(counts.values(), default=0)
        assert rows and all([row[f"{what}_{side}"] for what in ("polygon", "material", "bone")] == known[int(row[f"body_{side}"]),
                            int(row[f"face_{side}"])] for row in rows for side in "ab")  # fmt: skip


def npz_faces(path):
    """(body, face, polygon, material, bone) of each face, by the words of the format."""
    with np.load(path, allow_pickle=False) as file:
        names = {what: json.loads(file[f"{what}s"].tobytes()) for what in ("material", "bone")}
        begins, rows = np.cumsum(file["face_counts"]) - file["face_counts"], []
        for body, count in enumerate(file["face_counts"].tolist()):
            for face in range(count):
                places = {what: int(file[f"{what}_of_face"][begins[body] + face]) for what in ("polygon", "material", "bone")
                          if len(file[f"{what}_of_face"])}  # fmt: skip
                labels = [names[what][places[what]] if places.get(what, -1) >= 0 else None for what in names]
                rows.append((body, face, places.get("polygon", face), *labels))
    return rows


def parquet_faces(path):
    """The same, of Parquet."""
    from pyarrow import parquet

    return [tuple(row[name] for name in ("body", "face", "polygon", "material", "bone")) for row in parquet.read_table(path).to_pylist()]


@pytest.mark.parametrize("kind", ["morph", "frames"])
def test_what_is_welded_does_not_depend_on_how_it_is_asked(kind, tmp_path):
    whole = check(animation_of(BOOKS[kind]), tmp_path / "all")
    everything = pair_rows(tmp_path / "all")
    for name, frames, jobs in (("one", "5", 1), ("some", "1:", 2), ("first", "0", 1), ("jobs", ":", 3)):
        check(animation_of(BOOKS[kind]), tmp_path / name, frames, jobs=jobs)
        found = pair_rows(tmp_path / name)
        assert found.tolist() == everything[np.isin(everything[:, 0], np.arange(6)[slice(*{"5": (5, 6), "1:": (1, 6), "0": (0, 1)}.get(
            frames, (0, 6)))])].tolist()  # fmt: skip
    assert whole.pairs == len(everything)


class Stop(Exception):
    pass


@pytest.mark.parametrize("weld", [True, False, 1e-6])
def test_a_book_of_stl_files_opens(tmp_path, weld):
    """Faces of STL share no vertices; they are adjacent where they stay together, whatever is asked, by how many, and after a stop."""
    book = next(actor for actor in animation_of(BOOKS["frames"]).actors if actor.frames == 6)
    for frame in range(6):
        (tmp_path / f"book.{frame:04}.stl").write_bytes(mesh_files.stl(*book.mesh(frame)))

    def check_book(folder, frames=":", **more):
        options = CheckOptions(frames=frames, weld=weld)
        return check_animation(read(tmp_path), options, Output(tmp_path / folder, report=False, plots=False), **more)

    summary = check_book("all").summary
    assert summary["with_self"][0] > 100 and not any(summary["with_self"][1:]), "its pages are apart, and the spine is no collision"
    everything = pair_rows(tmp_path / "all")
    for name, frames, jobs in (("one", "0", 1), ("jobs", ":", 3), ("some", "1:", 2)):
        check_book(name, frames, jobs=jobs)
        wanted = np.arange(6)[slice(1)] if frames == "0" else np.arange(6)[slice(1, None)] if frames == "1:" else np.arange(6)
        assert pair_rows(tmp_path / name).tolist() == everything[np.isin(everything[:, 0], wanted)].tolist()

    def stop(now):
        if now.done == 3:
            raise Stop

    with pytest.raises(Stop):
        check_book("parts", progress=stop)
    seen = []
    check_book("parts", resume=True, welding=lambda *now: seen.append(now))
    assert not seen and (tmp_path / "parts" / "pairs.npz").read_bytes() == (tmp_path / "all" / "pairs.npz").read_bytes()


def seam(frames=8):
    """A strip of two triangles that are joined at a seam in all frames, and one that is only there in the first five: it lies on them."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    faces, asked = np.array([[0, 1, 2], [3, 5, 4], [6, 7, 8]], np.int32), []

    def frame(k):
        asked.append(k)
        moved = corners + (0, 0, k)
        moved[6:, 2] += 1.0 * (k >= 5)
        return moved, faces

    return Animation("strip", [FrameActor("strip", frames, frame)], frames), asked


def test_a_pass_over_the_frames_finds_what_stays_together(tmp_path):
    animation, asked = seam()
    seen = []
    summary = check(animation, tmp_path, welding=lambda frame, frames: seen.append((frame, frames))).summary
    assert animation.actors[0].welds(0.0).tolist() == [0, 1, 2, 1, 2, 5, 6, 7, 8]
    assert "2 of 9 vertices are welded: they are at the position of another one in every frame" in summary["notes"]
    assert seen == [(k, 8) for k in range(1, 8)] and set(asked) == set(range(8))
    assert [n > 0 for n in summary["with_self"]] == [True] * 5 + [False] * 3
    only, asked = seam()
    check(only, tmp_path / "one", "0")
    assert only.actors[0].welds(0.0).tolist() == [0, 1, 2, 1, 2, 5, 6, 7, 8] and set(asked) == set(range(8))


def test_frames_are_not_read_for_a_mesh_without_duplicates():
    vertices, asked = np.eye(3), []

    def frame(k):
        asked.append(k)
        return vertices + k, np.array([[0, 1, 2]], np.int32)

    FrameActor("triangle", 100, frame).at(3, weld=True)
    assert set(asked) == {0, 3}


def test_a_resumed_check_takes_the_weld_maps_of_its_journal(tmp_path):
    def stop(now):
        if now.done == 3:
            raise Stop

    check(seam()[0], tmp_path / "whole")
    with pytest.raises(Stop):
        check(seam()[0], tmp_path / "parts", progress=stop)
    seen = []
    check(seam()[0], tmp_path / "parts", resume=True, welding=lambda *now: seen.append(now))
    assert not seen, "no frame is read to compare vertices"
    assert (tmp_path / "parts" / "pairs.npz").read_bytes() == (tmp_path / "whole" / "pairs.npz").read_bytes()


def test_a_shot_of_two_objects_is_two_clips_that_play_together(tmp_path):
    animation = animation_of(["shot.glb"])
    assert [(clip.name, clip.plays) for clip in animation.clips] == [("BallAction", True), ("WallAction", True)]
    assert animation.rate == 24 and animation.frame_labels == LABELS
    summary = check(animation, tmp_path / "both").summary
    assert summary["between"][:3] == [0, 0, 0] and summary["between"][-1] > 0
    assert any("BallAction, WallAction; they move different nodes" in note for note in summary["notes"])
    alone = check(animation_of(["shot.glb"], clip="BallAction"), tmp_path / "one").summary
    assert alone["pairs"] == 0 and [clip.plays for clip in animation_of(["shot.glb"], clip="BallAction").clips] == [True, False]
    with pytest.raises(ArgumentError, match="clip: expected one of BallAction, WallAction, got 'Fly'"):
        animation_of(["shot.glb"], clip="Fly")


def test_more_samples_find_what_is_between_frames(tmp_path):
    animation = animation_of(BOOKS["frames"], rate=120)
    assert animation.frames == 21 and animation.frame_labels[:6] == ["1001", "1001.25", "1001.5", "1001.75", "1002", "1002.25"]
    summary = check(animation, tmp_path).summary
    assert not any(summary["with_self"][1:]) and sum(n > 0 for n in summary["between"]) > 2
    assert any(note.startswith("Frames are checked, not the motion between them") for note in summary["notes"])


def test_links_are_bodies(tmp_path):
    animation = animation_of(["link0.stl", "link1.stl", "link2.stl"])
    assert [(actor.name, actor.frames) for actor in animation.actors] == [("link0", 1), ("link1", 1), ("link2", 1)]
    summary = check(animation, tmp_path).summary
    assert {tuple(row["names"]) for row in summary["by_bodies"]} == {("link0", "link1"), ("link1", "link2")}
    frames = animation_of(["link0.stl", "link1.stl", "link2.stl"], numbered="frames")
    assert frames.frames == 3 and frames.actors[0].kind == "soup"


def test_the_command_says_what_is_played_and_welded(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(application(), [*map(str, arguments)], env={"COLUMNS": "300", "TERM": "dumb"})

    result = run("info", FILES / "shot.glb")
    assert result.exit_code == 0 and all(word in result.output for word in ("BallAction", "WallAction", "0.21", "seconds", "yes"))
    common = "--no-report", "--out", tmp_path, "--start", 7
    result = run("check", FILES / "shot.glb", *common)
    assert result.exit_code == 1 and "32 of 48 vertices are welded" in result.output and "not the motion between them" in result.output
    assert run("check", FILES / "shot.glb", *common, "--clip", "WallAction").exit_code == 0
    assert run("check", FILES / "shot.glb", *common, "--clip", "WallAction", "--clip", "0").exit_code == 1
    result = run("check", FILES / "link0.stl", FILES / "link1.stl", *common, "--as", "frames")
    assert result.exit_code == 0 and "1 body, 2 frames" in result.output
    result = run("check", FILES / "shot.glb", *common, "--clip", "Fly")
    assert result.exit_code == 2 and "--clip: expected one of BallAction, WallAction, got 'Fly'" in result.output
