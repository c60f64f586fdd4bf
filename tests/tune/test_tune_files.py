"""Animations of files as they are tuned for: welded, whole, and refused where faces change."""

from pathlib import Path

import numpy as np
import pytest

import mesh_files
from pliant.errors import FileError
from pliant.io.animation import Settings
from pliant.io.read import read
from pliant.tune import read_animation, read_animations

FILES = Path(__file__).parents[1] / "fixtures" / "blender"


@pytest.mark.parametrize("name", ["book_morph.glb", "book_skin.glb", "shot.glb"])
def test_bodies_are_where_the_file_says(name):
    found, actors = read_animation(FILES / name), read(FILES / name).actors
    assert found.frames == 6 and len(found.bodies) == 2
    for (faces, vertices), actor in zip(found.bodies, actors, strict=True):
        for frame in range(6):
            body = actor.at(frame, weld=True)
            assert np.array_equal(vertices[min(frame, len(vertices) - 1)][faces], body.vertices[body.faces])
        assert len(np.unique(vertices, axis=1)[0]) == vertices.shape[1], "no two vertices stay together"


def test_one_body_and_options_of_files():
    (book,) = read_animation(FILES / "book_morph.glb", bodies=["Book"], settings=Settings(rate=48)).bodies
    assert book[1].shape[0] == 11
    links = [FILES / "link0.stl", FILES / "link1.stl"]
    with pytest.raises(FileError, match="body: expected one of Ball, Wall, got 'Sky'"):
        read_animation(FILES / "shot.glb", bodies=["Sky"])
    with pytest.raises(FileError, match="has one frame"):
        read_animations(links)


def test_a_cache_belongs_to_the_mesh_before_it(tmp_path):
    (tmp_path / "cube.obj").write_bytes(mesh_files.obj())
    shapes = mesh_files.CUBE + np.arange(4)[:, None, None]
    (tmp_path / "cube.pc2").write_bytes(mesh_files.pc2(shapes))
    (found,) = read_animations([tmp_path / "cube.obj", tmp_path / "cube.pc2"])
    assert np.array_equal(found.bodies[0][1], shapes)


def test_other_faces_and_too_many_bodies_are_refused(tmp_path):
    for k in range(3):
        (tmp_path / f"fluid{k}.obj").write_bytes(mesh_files.obj(polygons=mesh_files.QUADS[: 6 - 2 * k]))
    with pytest.raises(FileError, match=r"has 3 bodies \(fluid0, fluid1, fluid2\); expected one or two, which --body NAME chooses"):
        read_animation(tmp_path)
    with pytest.raises(FileError, match="its faces change in frame 1"):
        read_animation(tmp_path, settings=Settings(numbered="frames"))
