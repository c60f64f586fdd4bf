"""Clips that move different nodes are played together; of those that move the same, the first. Rates of programs that bake are found."""

import numpy as np
import pytest

import gltfs
from pliant.errors import ArgumentError
from pliant.io.animation import Settings
from pliant.io.gltf.gltf import read_gltf
from pliant.io.read import read

STEP = 1 / 24


def scene_with(tmp_path, clips):
    """Three nodes with meshes; clips as {name: {(node, path): (times, distance)}}."""
    scene = gltfs.Scene(0, nodes=3, scaled=False)
    for node in range(3):
        scene.mesh(node)
    path = scene.write(tmp_path / "shot.glb")
    document = scene.writer.document
    for node in document["nodes"]:
        for key in ("children", "translation", "rotation", "scale", "matrix"):
            node.pop(key, None)
    document["scenes"], document["scene"], document["animations"] = [{"nodes": [0, 1, 2]}], 0, []
    for name, moved in clips.items():
        clip = {"name": name, "samplers": [], "channels": []}
        for (node, path_name), (times, distance) in moved.items():
            rows = np.linspace(0, 1, len(times))[:, None] * [distance, 0, 0] + (path_name == "scale")
            clip["samplers"].append({"input": scene.writer.put(list(times)), "output": scene.writer.put(rows.tolist())})
            clip["channels"].append({"sampler": len(clip["channels"]), "target": {"node": node, "path": path_name}})
        document["animations"].append(clip)
    return scene.writer.write(path)


def shift(animation, place, frame):
    """How far a body has moved along x since it is at rest."""
    actor = animation.actors[place]
    return float((actor.at(frame).vertices - animation.actors[place].at(0).vertices)[:, 0].mean())


SHOT = {"One": {(0, "translation"): ((0, 1), 2.0)}, "Two": {(1, "translation"): ((0, 2), 6.0)},
        "Again": {(0, "translation"): ((0, 1), 9.0)}, "Grow": {(0, "scale"): ((0, 1), 1.0)}}  # fmt: skip


def test_clips_of_different_nodes_play_together(tmp_path):
    animation = read_gltf(scene_with(tmp_path, {name: SHOT[name] for name in ("One", "Two")}), Settings(rate=4))
    assert animation.frames == 9
    assert [shift(animation, place, 8) for place in range(3)] == pytest.approx([2.0, 6.0, 0.0])
    assert shift(animation, 1, 4) == pytest.approx(3.0) and shift(animation, 0, 4) == pytest.approx(2.0)
    assert animation.notes == ("clips: One, Two; they move different nodes and are played together: --clip NAME chooses",)
    assert [(clip.name, clip.seconds, clip.plays) for clip in animation.clips] == [("One", 1.0, True), ("Two", 2.0, True)]


def test_of_clips_that_move_the_same_the_first_is_played(tmp_path):
    path = scene_with(tmp_path, SHOT)
    animation = read_gltf(path, Settings(rate=4))
    assert [clip.plays for clip in animation.clips] == [True, True, False, True]
    assert animation.notes == ("clips: One, Two, Again, Grow; One, Two, Grow are played together, Again not, moving the same nodes: "
                               "--clip NAME chooses",)  # fmt: skip
    again = read_gltf(path, Settings(rate=4, clip=("Again", "1")))
    assert [shift(again, place, 8) for place in range(3)] == pytest.approx([9.0, 6.0, 0.0]) and again.notes == ()
    assert [clip.plays for clip in read_gltf(path, Settings(clip="Two")).clips] == [False, True, False, False]


def test_all_clips_or_some_that_do_not_go_together_are_refused(tmp_path):
    path = scene_with(tmp_path, SHOT)
    message = "clip: 'One' and 'Again' both move the translation of .*; expected clips that move different nodes"
    for wanted in ("all", ("One", "Again"), ("Two", "2", "0")):
        with pytest.raises(ArgumentError, match=message.replace("'One' and 'Again'", ".*")):
            read(path, Settings(clip=wanted))
    with pytest.raises(ArgumentError, match=message):
        read(path, Settings(clip=("One", "Again")))
    two = scene_with(tmp_path, {name: SHOT[name] for name in ("One", "Two")})
    assert [clip.plays for clip in read(two, Settings(clip="all")).clips] == [True, True]


def test_files_without_clips_have_none_to_choose(tmp_path):
    np.savez(tmp_path / "still.npz", faces=[[0, 1, 2]], vertices=np.eye(3))
    with pytest.raises(ArgumentError, match="clip: expected none, as still has no clips, got 'Walk'"):
        read(tmp_path / "still.npz", Settings(clip="Walk"))


@pytest.mark.parametrize(("times", "rate", "labels"), [
    (STEP * np.arange(1001, 1006), 24.0, ["1001", "1002", "1003", "1004", "1005"]),
    (np.arange(5) / 25, 25.0, ["0", "1", "2", "3", "4"]),
    (np.arange(5) * 1001 / 30000, 30000 / 1001, ["0", "1", "2", "3", "4"]),
    (STEP * np.array([3, 4, 7]), 24.0, ["3", "4", "5", "6", "7"]),
    (np.array([0.0, 0.31, 0.4]), 30.0, None),
    (np.array([0.0, 1.0]), 30.0, None),
])
def test_the_rate_of_baked_keys_is_found(tmp_path, times, rate, labels):
    animation = read_gltf(scene_with(tmp_path, {"One": {(0, "translation"): (times, 1.0)}}))
    assert animation.rate == pytest.approx(rate) and animation.frame_labels == labels
    doubled = read_gltf(tmp_path / "shot.glb", Settings(rate=2 * rate))
    assert labels is None or doubled.frame_labels[:3] == [labels[0], f"{int(labels[0]) + 0.5:g}", labels[1]]
