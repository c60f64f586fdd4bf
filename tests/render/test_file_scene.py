"""Scenes of animations in files: all bodies are in the picture, in every frame, and stand where the file says."""

from pathlib import Path

import numpy as np
import pytest

import mesh_files
from pliant.io.animation import Settings
from pliant.render.file_scene import read_file_scene

FILES = Path(__file__).parents[1] / "fixtures" / "blender"


@pytest.mark.parametrize("names", [["book_morph.glb"], ["book", "rod/rod.obj"], ["shot.glb"]])
def test_everything_is_in_the_picture_and_where_the_file_says(names):
    show = read_file_scene([FILES / name for name in names], Settings(), policy="hybrid")
    playback = show.playback(policy="hybrid")
    assert show.frames == 6 and len(playback.bodies) == 2
    for frame in (5, 0, 2):
        playback.move(frame)
        camera = show.camera(frame, 200, 150)
        right, down, ahead = camera.axes()
        for body, actor in zip(playback.bodies, show.animation.actors, strict=True):
            expected = actor.at(frame).vertices
            assert np.array_equal(body.vertices, expected)
            seen = expected - camera.eye
            depth = seen @ ahead
            assert (depth > 0).all()
            assert (np.abs(seen @ right) / depth * camera.focus <= 100).all() and (np.abs(seen @ down) / depth * camera.focus <= 75).all()


def test_bodies_whose_faces_change_are_replaced(tmp_path):
    for k in range(3):
        (tmp_path / f"fluid{k}.obj").write_bytes(mesh_files.obj(polygons=mesh_files.QUADS[: 6 - 2 * k]))
    show = read_file_scene([tmp_path], Settings(numbered="frames"))
    playback = show.playback()
    for frame in (0, 2, 1):
        playback.move(frame)
        assert [len(body) for body in playback.bodies] == [12 - 4 * frame] and len(playback.stage.scene) == 1
