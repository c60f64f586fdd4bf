"""Bodies inside others that they do not touch: who encloses whom, in a frame and in a check."""

import json

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.check.enclosed import EnclosedFinder, part_vertices
from pliant.check.plan import CheckOptions
from pliant.check.run import Output, check_animation
from pliant.errors import ArgumentTypeError
from pliant.io.animation import Animation, FrameActor


def ball(radius, centre=(0, 0, 0), level=1, inward=False):
    vertices, faces = shapes.icosphere(level)
    return radius * vertices + centre, faces[:, ::-1] if inward else faces


def find(*bodies, pairs=None):
    every = [(i, j) for i in range(len(bodies)) for j in range(i + 1, len(bodies))]
    return EnclosedFinder().find([pl.Body(*body) for body in bodies], every if pairs is None else pairs)


def test_nested_bodies():
    assert find(ball(1), ball(3), ball(0.3), ball(0.3, (9, 0, 0))) == [(0, 2), (1, 0), (1, 2)]
    assert find(ball(1), ball(3), ball(0.3), pairs=[(0, 1)]) == [(1, 0)]
    assert find(ball(1), ball(3, inward=True)) == [(1, 0)]


def test_boxes_that_overlap_say_nothing():
    """A small ball in the corner of the box of a large one, and in the hole of a ring."""
    u, v = np.meshgrid(np.arange(24), np.arange(8), indexing="ij")
    a, b = 2 * np.pi * u.ravel() / 24, 2 * np.pi * v.ravel() / 8
    vertices = np.column_stack([(1 + 0.3 * np.cos(b)) * np.cos(a), (1 + 0.3 * np.cos(b)) * np.sin(a), 0.3 * np.sin(b)])
    p, q, r, s = (((u + i) % 24 * 8 + (v + j) % 8).ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    ring = vertices, np.concatenate([np.column_stack([p, q, r]), np.column_stack([p, r, s])])
    assert find(ball(1, level=3), ball(0.05, (0.8, 0.8, 0.8)), ball(0.05, (0.5, 0.5, 0.5))) == [(0, 2)]
    assert find(ring, ball(0.2), ball(0.05, (1, 0, 0))) == [(0, 2)]


def test_open_bodies_enclose_nothing_but_may_be_enclosed():
    vertices, faces = ball(1)
    sheet = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [[0, 1, 2]]
    assert find((vertices, faces[1:]), ball(0.3)) == []
    assert find((vertices, faces), sheet) == [(0, 1)]


def test_a_cavity():
    outer, inner = ball(3), ball(1, inward=True)
    shell = np.vstack([outer[0], inner[0]]), np.vstack([outer[1], inner[1] + len(outer[0])])
    assert find(shell, ball(0.3), ball(0.3, (2, 0, 0))) == [(0, 2)]


def test_one_of_several_parts():
    here, there = ball(0.3), ball(0.3, (9, 0, 0))
    both = np.vstack([there[0], here[0]]), np.vstack([there[1], here[1] + len(there[0])])
    assert find(ball(1), both) == [(0, 1)]
    assert part_vertices(np.asarray(both[1], np.int32)).tolist() == [0, len(there[0])]
    assert part_vertices(np.array([[4, 5, 6], [9, 9, 9], [6, 7, 8]], np.int32)).tolist() == [4, 9]


def test_no_faces():
    assert find(ball(1), (np.zeros((0, 3)), np.zeros((0, 3), int)), ball(0.1)) == [(0, 2)]


@pytest.mark.parametrize("motion", ["rigid", "morph", "blended"])
def test_motions_and_frames(motion):
    """The finder keeps parts, not positions."""
    vertices, faces = ball(0.3)
    inner = {"rigid": pl.Body.rigid(vertices, faces), "morph": pl.Body.morph([vertices, vertices + [9, 0, 0]], faces),
             "blended": pl.Body.blended(vertices, faces, np.ones((len(vertices), 1)))}[motion]
    away = {"rigid": np.array([[1.0, 0, 0, 9], [0, 1, 0, 0], [0, 0, 1, 0]]), "morph": [0.0, 1.0]}
    away["blended"] = away["rigid"][None]
    finder, outer = EnclosedFinder(), pl.Body(*ball(1))
    assert finder.find([outer, inner], [(0, 1)]) == [(0, 1)]
    inner.update(away[motion])
    assert finder.find([outer, inner], [(0, 1)]) == []
    outer.update(ball(1, (9, 0, 0))[0])
    assert finder.find([outer, inner], [(0, 1)]) == [(0, 1)]


# --- in a check --------------------------------------------------------------------------------------------------------------

def moving():
    """A small ball that leaves a large one in four frames, through its surface in the third, and a cube around nothing."""
    places = [0.0, 0.2, 1.0, 3.0]
    parts = {"large": lambda k: ball(1), "small": lambda k: ball(0.3, (places[k], 0, 0)), "cube": lambda k: meshes.cube((5, 5, 5))}
    actors = [FrameActor(name, 4, part) for name, part in parts.items()]
    return Animation("balls", actors, 4)


@pytest.mark.parametrize("options", [{}, {"within": 0.01}, {"engine": "image"}, {"with_self": False}], ids=str)
def test_a_check(tmp_path, options):
    result = check_animation(moving(), CheckOptions(**options), Output(tmp_path, report=False, plots=False))
    assert result.summary["enclosed"] == 2
    assert result.summary["enclosed_bodies"] == [{"frame": k, "outer": 0, "inner": 1} for k in (0, 1)]
    assert json.loads((tmp_path / "summary.json").read_text())["enclosed"] == 2
    assert {row["frame"] for row in result.summary["worst_contacts"]} == {2}


@pytest.mark.parametrize("options", [{"enclosed": False}, {"ignore": ["large:small"]}, {"between": False}, {"frames": "2:"}], ids=str)
def test_what_is_not_asked(tmp_path, options):
    result = check_animation(moving(), CheckOptions(**options), Output(tmp_path, report=False, plots=False))
    assert result.summary["enclosed"] == 0 and result.summary["enclosed_bodies"] == []


def test_jobs_find_the_same(tmp_path):
    one, other = (check_animation(moving(), CheckOptions(), Output(tmp_path / str(jobs), report=False, plots=False), jobs=jobs).summary
                  for jobs in (1, 3))
    assert one["enclosed_bodies"] == other["enclosed_bodies"] != []


def test_wrong_option():
    with pytest.raises(ArgumentTypeError, match="enclosed"):
        CheckOptions(enclosed="yes")
