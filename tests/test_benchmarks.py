"""What benchmarks rest on: fair turns, honest comparisons, and a reader of files. No peers are needed."""

import argparse
import struct
from typing import NamedTuple

import numpy as np
import pytest

import pliant as pl
from benchmarks import cloth, distances, files, gaps, harness, nearness, rigid, soups, swarm
from benchmarks.ply import read_ply
from pliant.core import jit
from pliant.shapes import icosphere
from pliant.shapes import swarm as bodies_in_flight

pytestmark = pytest.mark.formulas

FACES = np.array([[0, 1, 2], [1, 3, 2], [4, 5, 6], [5, 7, 6]], np.int32)
ALL = np.array([[0, 1], [0, 2], [2, 3]])  # two pairs of neighbours, one of strangers


class Still(NamedTuple):
    """A scene whose vertices say which frame it is."""

    faces: np.ndarray
    frames: int

    def frame(self, k):
        return (np.full((8, 3), k, np.float64),)


def peer(answer, **attributes):
    """A library that gives `answer`, an array or a function of the frame, and keeps a list of the frames it saw."""

    class Fake(harness.Peer):
        name, module, seen = "fake", "numpy", []

        def step(self, vertices):
            k = int(vertices[0, 0])
            self.seen.append(k)
            return answer(k) if callable(answer) else answer

        def common(self, pairs):
            return cloth.non_adjacent(pairs, self.faces)

    for name, value in attributes.items():
        setattr(Fake, name, value)
    return Fake


def rows_of(*peers, frames=6, budget=9.0, turn=2):
    return harness.compare(Still(FACES, frames), peers, budget, turn)["rows"]


def test_keys_are_pairs():
    pairs = np.array([[5, 2], [0, 7], [5, 1]])
    np.testing.assert_array_equal(harness.sorted_pairs(harness.packed(pairs)), [[0, 7], [5, 1], [5, 2]])


def test_every_library_sees_every_frame_after_three_to_warm_up():
    one, two = peer(ALL), peer(ALL)
    rows = rows_of(one, two)
    assert [row["frames"] for row in rows] == [6, 6] and [row["differing_frames"] for row in rows] == [0, 0]
    assert one.seen[3:] == two.seen[3:] == list(range(6))
    assert rows[0]["ratio"] == 1 and rows[0]["total_pairs"] == 18 and "kin" not in rows[1] and "examples" not in rows[1]


def test_differences_are_counted_per_frame_and_named():
    rows = rows_of(peer(ALL[1:2]), peer(lambda k: ALL[1:2] if k % 3 else np.array([[1, 3]])))
    assert rows[1]["differing_frames"] == 2 and rows[1]["largest_difference"] == 2
    assert rows[1]["examples"] == [(0, 0, 2), (0, 1, 3), (3, 0, 2), (3, 1, 3)]


def test_kinds_are_compared_by_what_they_have_in_common_and_in_full_among_themselves():
    few, full, short = peer(ALL[1:2], kind="ignore"), peer(ALL, kind="exact", name="full"), peer(ALL[1:], kind="exact")
    rows = rows_of(few, full, short)
    assert [row["differing_frames"] for row in rows] == [0, 0, 0]
    assert "kin" not in rows[1] and rows[2]["kin"] == {"library": "full", "differing_frames": 6, "largest_difference": 1}
    table = harness.table_of({"faces": 4, "frames": 6, "reference": "few", "rows": rows}, "job")
    assert list(table.columns[-1].cells) == ["", "", "6, 1 from full"]


def test_a_slow_library_runs_on_some_frames_and_the_reference_on_all():
    rows = rows_of(peer(ALL), peer(ALL), budget=1e-12, frames=4)
    assert rows[0]["frames"] == 4 and rows[1]["frames"] == 1 and rows[1]["every"] > 4


def test_what_comes_after_a_step_is_judged_but_not_timed(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(harness.time, "perf_counter", lambda: next(clock))

    def after(self, answer):
        next(clock)
        return np.array(answer)

    rows = rows_of(peer(ALL), peer(ALL.tolist(), after=after))
    assert rows[1]["differing_frames"] == 0 and rows[1]["best_ms"] == rows[0]["best_ms"] == 1000


def test_what_fails_or_is_absent_says_so():
    def fail(k):
        raise RuntimeError("no")

    rows = rows_of(peer(ALL), peer(fail), peer(ALL, module="no_such_module_anywhere"))
    assert [row["status"] for row in rows] == ["ran", "failed: RuntimeError: no", "not installed"]


def test_scenes_of_the_cloth_move_and_flat_sheets_are_flat():
    scenes = [cloth.cloth_scene(200, 5), *(scene for _, scene in cloth.flat_scenes(200, 5))]
    for scene in scenes:
        first, last = scene.frame(0)[0], scene.frame(4)[0]
        assert first.shape == last.shape and not np.array_equal(first, last) and scene.faces.max() == len(first) - 1
    for scene in scenes[1:]:
        vertices = scene.frame(3)[0]
        thickness = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)[2]
        assert thickness < 1e-14
    assert len(np.unique(scenes[1].frame(3)[0][:, 2])) == 1


def test_culling_finds_the_boxes_that_meet():
    rng = np.random.default_rng(5)
    vertices = [rng.uniform(0, 1, (40, 3)) + rng.uniform(0, 3, 3) for _ in range(12)]
    near, low, high = swarm.Culling(12, 40, np.float64).near(vertices)
    right = [[i, j] for i in range(12) for j in range(i + 1, 12)
             if (vertices[i].min(axis=0) <= vertices[j].max(axis=0)).all() and (vertices[j].min(axis=0) <= vertices[i].max(axis=0)).all()]
    assert near.tolist() == right and 5 < len(right) < 60
    assert low.tolist() == [v.min(axis=0).tolist() for v in vertices] and high.tolist() == [v.max(axis=0).tolist() for v in vertices]


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_a_swarm_numbers_faces_through_all_bodies():
    scene = bodies_in_flight(27, 320, 9)
    library = swarm.Pliant()
    library.package = pl
    library.setup(*scene.frame(0), scene.faces)
    for k in (0, 4):
        vertices = scene.frame(k)
        found = library.step(*vertices)
        assert found.dtype == np.int32 and len(found) > 10
        first, second = found[:, 0] // 320, found[:, 1] // 320
        for i, j in zip(*np.triu_indices(27, 1), strict=True):
            pairs = pl.collide(pl.Body(vertices[i], scene.faces), pl.Body(vertices[j], scene.faces)).faces
            np.testing.assert_array_equal(found[(first == i) & (second == j)] - [320 * i, 320 * j], pairs)


def test_poses_are_rigid_never_the_same_and_mostly_overlap():
    scene, seen, gaps = rigid.rigid_pair(320, 50), set(), []
    for k in range(50):
        first, second, *poses = scene.frame(k)
        assert first is scene.first and second is scene.second
        for pose in poses:
            np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-14)
            assert np.linalg.det(pose[:3, :3]) > 0 and pose[3].tolist() == [0, 0, 0, 1]
        seen |= {pose.tobytes() for pose in poses}
        assert [pose.tobytes() for pose in scene.frame(k)[2:]] == [pose.tobytes() for pose in poses]
        gaps.append(np.linalg.norm(poses[0][:3, 3] - poses[1][:3, 3]))
    assert len(seen) == 100 and (np.array(gaps) < 1.9).mean() > 0.7 and min(gaps) > 0.5
    assert scene._replace(frames=51).frame(3)[2].tobytes() not in seen


def test_vertices_are_placed_to_the_bit():
    vertices, faces = icosphere(1)
    body, rng = pl.Body.rigid(vertices, faces), np.random.default_rng(3)
    for _ in range(20):
        pose = rigid.matrix(rigid.any_turn(rng), rng.normal(size=3) * 10.0 ** rng.integers(-3, 4))
        body.update(pose)
        assert rigid.placed(vertices, pose).tobytes() == body.vertices.tobytes()


def test_degenerate_faces_are_told_exactly():
    assert cloth.degenerate(np.array([[0, 0, 0], [1, 2, 3], [-2, -4, -6.0]]))
    assert not cloth.degenerate(np.array([[0, 0, 0], [1, 2, 3], [-2, -4, np.nextafter(-6, 0)]]))


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
@pytest.mark.parametrize("name", soups.SOUPS)
def test_soups_are_answered_alike(name):
    """`measure` refuses ways that differ; rows have all that the table shows."""
    result = soups.measure(name, argparse.Namespace(faces=256, frames=3, rays=200))
    assert result["faces"] == 256 and 0 < result["hit"] < 1
    assert result["rows"][0]["library"] == "grid" and len(result["rows"]) == 6
    assert soups.table_of(result).row_count == 6
    keys = soups.SOUPS[name](256)
    for k in range(soups.KEYS):
        rows, key = soups.between(keys, k / (soups.KEYS - 1))
        assert key == k
        np.testing.assert_allclose(rows, keys[k], rtol=0, atol=1e-14)


def test_gaps_of_triangles():
    """Known cases, then scaled, turned and taken the other way round; a triangle may be a segment or a point."""
    flat, far = [[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[9, 0, 3], [9, 1, 3], [9, 0, 4]]
    cases = [
        (flat, [[1, 1, 2], [1, 1, 5], [2, 1, 5]], 2),                   # a corner over the inside
        (flat, [[2, 1, -3], [2, -1, -3], [2, 0, -5]], 3),               # a side across a side
        (flat, [[1, 1, -1], [1, 1, 1], [9, 9, 9]], 0),                  # pierced
        (flat, [[1, 1, 0], [2, 1, 0], [1, 2, 0]], 0),                   # one in the other, in a plane
        (flat, [[-3, 0, 0], [-3, 0, 0], [-3, -4, 0]], 3),               # a segment
        (flat, [[7, -4, 0]] * 3, 5),                                    # a point
        ([[0, 0, 3]] * 3, [[0, 4, 0]] * 3, 5),                          # two points
        (flat, far, np.sqrt(25 + 9)),
    ]
    first, second, right = (np.array(x, np.float64) for x in zip(*cases, strict=True))
    turn = rigid.any_turn(np.random.default_rng(4))
    for scale in (1e-6, 1.0, 1e6):
        a, b = scale * first @ turn.T + scale, scale * second @ turn.T + scale
        np.testing.assert_allclose(gaps.triangle_gaps(a, b), scale * right, rtol=1e-12, atol=1e-14 * scale)
        np.testing.assert_allclose(gaps.triangle_gaps(b, a), scale * right, rtol=1e-12, atol=1e-14 * scale)
    assert gaps.mesh_gap(second[[7]], first) == pytest.approx(min(gaps.triangle_gaps(second[[7] * 8], first)), rel=1e-14)


def test_bodies_stay_apart_and_points_stay_near():
    options = distances.command_line().parse_args("--faces 320 --points 50 --cloth 200 --thickness 0.5 1".split())
    [(_, pair)], [(_, poses)] = distances.apart_scenes(6, options), distances.rigid_scenes(6, options)
    for k in range(6):
        first, second = pair.frame(k)
        at = rigid.placed(poses.first, poses.frame(k)[2]), rigid.placed(poses.second, poses.frame(k)[3])
        for a, b in ((first, second), at):
            assert 0.09 < gaps.mesh_gap(a[pair.faces], b[pair.faces]) < 1.5
    [(_, anywhere)], [(_, near)] = distances.points_scenes(6, options), distances.near_scenes(6, options)
    (vertices, points), (_, close) = anywhere.frame(2), near.frame(2)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    assert (points < low).any() and (np.abs(points - (low + high) / 2) <= 0.75 * (high - low)).all()
    triangles = vertices[near.faces]
    away = [gaps.triangle_gaps(np.tile(p, (len(triangles), 3, 1)), triangles).min() for p in close]
    assert 0.001 < np.mean(away) < 0.02
    thin, thick = (scene for _, scene in distances.cloth_scenes(6, options))
    assert thick.thickness == 2 * thin.thickness and not np.array_equal(thin.frame(0)[0], thin.frame(1)[0])


def judged(kind, mine, other, scene=None, **attributes):
    """What a run says of an answer to frame 0, and of the reference's."""
    known = {"accuracy": 1e-3, "blind": False, "scene": scene, "common": lambda self, pairs: pairs} | attributes
    run, reference = kind(peer(None, **known)()), kind(peer(None, **known)())
    run.times[0] = reference.times[0] = 1.0
    run.judge(0, {(run, 0): mine, (reference, 0): other}, reference)
    return run.summary(reference)


def test_distances_may_differ_by_the_accuracy_only():
    fine, wrong, lost = (judged(distances.Gaps, np.array([1.0, x]), np.array([1.0, 2.0])) for x in (2.0005, 2.002, np.nan))
    assert [row["differing_frames"] for row in (fine, wrong, lost)] == [0, 1, 1]
    assert wrong["largest_difference"] == pytest.approx(0.002) and wrong["total_pairs"] == 2


def test_pairs_may_differ_at_the_thickness_only():
    class Layers(NamedTuple):
        faces: np.ndarray
        thickness: float

        def frame(self, k):
            return (np.array([[x, y, z] for z in (0.0, 0.0, 1.0002, 2.5) for x, y in ((0, 0), (1, 0), (0, 1))]),)

    scene = Layers(np.arange(12).reshape(4, 3), 1.0)
    all_pairs, none = np.array([[0, 1], [0, 2], [0, 3]]), np.empty((0, 2), int)  # that meet, at the thickness, beyond
    row = judged(distances.Near, all_pairs, none, scene)
    assert row["largest_difference"] == 2 and row["excused"] == 1 and row["examples"] == [(0, 0, 1), (0, 0, 3)]
    row = judged(distances.Near, all_pairs, none, scene, blind=True)
    assert row["largest_difference"] == 1 and row["excused"] == 2 and row["examples"] == [(0, 0, 3)]
    table = harness.table_of({"faces": 4, "frames": 1, "reference": "fake", "rows": [row]}, "job")
    assert list(table.columns[-1].cells) == ["2"]


def test_faces_around_parts():
    around = nearness.incident(np.repeat(np.arange(4), 3), FACES.ravel(), 8)
    assert around.tolist() == [[0, -1], [0, 1], [0, 1], [1, -1], [2, -1], [2, 3], [2, 3], [3, -1]]
    collisions = [argparse.Namespace(face=0, vertex=5), argparse.Namespace(face=1, vertex=4)]
    found = nearness.faces_of(collisions, "face", np.arange(4)[:, None], "vertex", around)
    assert found.tolist() == [[0, 2], [0, 3], [1, 2]]


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_distances_agree_with_numpy():
    options = distances.command_line().parse_args("--only apart --faces 320 --frames 3 --peers numpy".split())
    [(title, result)] = distances.results_of(options)
    assert [row["status"] for row in result["rows"]] == ["ran", "ran"] and result["job"] == "apart" and result["faces"] == 320
    assert not any(row["differing_frames"] for row in result["rows"])
    assert harness.table_of(result, title).row_count == 2


def ply(form):
    """The same square and triangle in any form, with a comment, properties to read over and an element that is no mesh."""
    vertices, polygons = [(0, 0, 0), (1, 0, 0), (1, 1, 0.5), (0, 1, 0), (-2.25, 3, 1)], [(0, 1, 2, 3), (0, 3, 4)]
    header = f"""ply\nformat {form} 1.0\ncomment made by hand\nelement vertex 5\nproperty float x\nproperty double y\nproperty float z
property uchar red\nelement edge 1\nproperty int vertex1\nproperty int vertex2\nelement face 2\nproperty list uchar int vertex_indices
property short flags\nend_header\n""".encode()
    if form == "ascii":
        lines = [f"{x} {y} {z} 255" for x, y, z in vertices] + ["0 1"] + [" ".join(map(str, (len(p), *p, 7))) for p in polygons]
        return header + "\n".join(lines).encode()
    order = "<" if "little" in form else ">"
    body = [struct.pack(f"{order}fdfB", *v, 255) for v in vertices] + [struct.pack(f"{order}2i", 0, 1)]
    body += [struct.pack(f"{order}B{len(p)}ih", len(p), *p, 7) for p in polygons]
    return header + b"".join(body)


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply_files(tmp_path, form):
    path = tmp_path / "mesh.ply"
    path.write_bytes(ply(form))
    vertices, faces = read_ply(path)
    assert vertices.dtype == np.float64 and faces.dtype == np.int32
    np.testing.assert_array_equal(vertices, [(0, 0, 0), (1, 0, 0), (1, 1, 0.5), (0, 1, 0), (-2.25, 3, 1)])
    np.testing.assert_array_equal(faces, [(0, 1, 2), (0, 2, 3), (0, 3, 4)])


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "mesh.ply"
    path.write_bytes(b"solid")
    with pytest.raises(ValueError, match="not a PLY file"):
        read_ply(path)


def test_pairs_of_files_are_compared_one_by_one(monkeypatch, tmp_path):
    """A missing pair is a difference; one that libigl leaves out, of a flat face, is counted apart."""
    vertices = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0.5, 0.5, -1], [0.5, 0.5, 1], [0.6, 0.5, 1], [0.5, 0.6, -1],
                         [0.5, 0.6, 1]], float)
    np.savez(tmp_path / "two.npz", vertices=[vertices, vertices], faces=[[0, 1, 2], [3, 4, 5], [6, 7, 7]])
    answers = {"right": [[0, 1]], "missing": np.zeros((0, 2)), "more": [[0, 1], [1, 2]]}
    for name, (n_pairs, other) in {"right": (2, 0), "missing": (0, 2), "more": (4, 2)}.items():
        monkeypatch.setattr(files, "libigl_pairs", lambda one, other, name=name: np.array(answers[name], np.int32).reshape(-1, 2))
        assert files.compare([tmp_path / "two.npz"], 20) == (1, 3, 2, n_pairs, 2, other)
