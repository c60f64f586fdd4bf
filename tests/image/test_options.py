"""Options of the image engine: bad ones are refused by name and value, before anything runs, and each engine refuses those of the other."""

from types import SimpleNamespace

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant.errors import DeviceError, MeshError
from pliant.image import api
from pliant.image.merge import MAX_SIZE
from pliant.image.options import MAX_PASSES, CheckedOptions, check_options

pytestmark = pytest.mark.formulas
CUBE, OTHER = meshes.cube(), meshes.cube((0.5, 0.5, 0.5))
BODY, SECOND = pl.Body(*CUBE), pl.Body(*OTHER)


@pytest.fixture
def idle(monkeypatch):
    """Nothing may run."""
    def refuse(*args, **keywords):
        raise AssertionError("something ran")
    monkeypatch.setattr(api, "run_pipeline", refuse)
    monkeypatch.setattr(api, "CpuEngine", refuse)
    monkeypatch.setattr(api, "contacts_of", refuse)


# (options, class, what the message must say)
BAD = [
    ({"resolution": 0}, ValueError, ["resolution", "1 to 8192", "got 0"]),
    ({"resolution": -3}, ValueError, ["resolution", "got -3"]),
    ({"resolution": MAX_SIZE + 1}, ValueError, ["resolution", "got 8193"]),
    ({"resolution": 64.0}, TypeError, ["resolution", "integer", "64.0"]),
    ({"resolution": True}, TypeError, ["resolution", "True"]),
    ({"resolution": "fine"}, TypeError, ["resolution", "'fine'"]),
    ({"resolution": None}, TypeError, ["resolution", "None"]),
    ({"mode": "exact"}, ValueError, ["mode", "'conservative'", "'sampled'", "'exact'"]),
    ({"mode": None}, ValueError, ["mode", "None"]),
    ({"passes": 0}, ValueError, ["passes", "got 0"]),
    ({"passes": MAX_PASSES + 1}, ValueError, ["passes", "got 65537"]),
    ({"passes": 2.5}, TypeError, ["passes", "2.5"]),
    ({"passes": False}, TypeError, ["passes", "False"]),
    ({"rest": "forget", "mode": "sampled"}, ValueError, ["rest", "'mark'", "'drop'", "'forget'"]),
    ({"rest": "drop"}, ValueError, ["rest", "drop", "conservative", 'mode="sampled"']),
    ({"direction": (0, 0, 0)}, ValueError, ["direction", "[0.0, 0.0, 0.0]"]),
    ({"direction": (0, 1)}, MeshError, ["direction", "3"]),
    ({"direction": (0, 1, np.nan)}, MeshError, ["direction", "nan", "finite"]),
    ({"direction": (0, np.inf, 0)}, MeshError, ["direction", "inf"]),
    ({"direction": "up"}, TypeError, ["direction"]),
    ({"direction": np.eye(3)}, MeshError, ["direction"]),
    ({"closed": 1}, TypeError, ["closed", "True or False", "1"]),
    ({"closed": "yes"}, TypeError, ["closed", "'yes'"]),
    ({"device": "gpu"}, ValueError, ["device", "'cpu'", "'cuda'", "'gpu'"]),
    ({"device": 0}, ValueError, ["device", "0"]),
    ({"out": "list"}, ValueError, ["out", "'numpy'", "'device'", "'list'"]),
    ({"colour": "red"}, TypeError, ["colour", "resolution", "mode"]),
    ({"ends": 1}, TypeError, ["ends", 'engine="image"']),
]


@pytest.mark.parametrize(("options", "error", "words"), BAD, ids=[str(options) for options, *_ in BAD])
def test_bad_options_are_refused_by_name_and_value(idle, options, error, words):
    for call in (lambda: pl.collide(CUBE, OTHER, engine="image", **options), lambda: pl.self_collide(BODY, engine="image", **options)):
        with pytest.raises(error) as caught:
            call()
        for word in words:
            assert word in str(caught.value)


def test_good_options_arrive():
    assert check_options({}) == CheckedOptions() == (1024, "conservative", None, "mark", None, None, None, "numpy", 2)
    given = {"resolution": np.int64(MAX_SIZE), "mode": "sampled", "passes": np.int8(7), "rest": "drop", "direction": [0, 2, 0],
             "closed": np.True_, "device": "cpu", "out": "numpy"}
    found = check_options(given)
    assert found._replace(direction=None) == (MAX_SIZE, "sampled", 7, "drop", None, True, "cpu", "numpy", 2)
    assert found.direction.tolist() == [0, 2, 0]
    assert len(pl.collide(CUBE, OTHER, engine="image", device="cpu", out="numpy", resolution=1)) == len(pl.collide(BODY, SECOND))


@pytest.mark.parametrize("name", ["resolution", "mode", "passes", "rest", "direction", "closed", "device", "out"])
def test_the_tree_engine_refuses_options_of_the_image_engine(name):
    for call in (lambda: pl.collide(BODY, SECOND, **{name: None}), lambda: pl.self_collide(BODY, **{name: None})):
        with pytest.raises(TypeError, match=f'{name}.*engine="image".*engine is "tree"'):
            call()


@pytest.mark.parametrize(("name", "value"),
                         [("traversal", pl.Traversal("lite")), ("traversal", pl.Traversal(descend="larger")), ("budget_ms", 5.0),
                          ("budget_ms", 0)])
def test_the_image_engine_refuses_options_of_the_tree_engine(idle, name, value):
    with pytest.raises(TypeError, match=f'{name}.*engine="tree".*engine is "image"'):
        pl.collide(CUBE, OTHER, engine="image", **{name: value})
    if name == "budget_ms":
        with pytest.raises(TypeError, match=f'{name}.*engine="tree".*engine is "image"'):
            pl.self_collide(CUBE, engine="image", **{name: value})


def test_other_options_of_both_engines(idle):
    for options, error, words in (({"first": 1}, TypeError, "first.*1"), ({"contacts": "all"}, TypeError, "contacts.*'all'")):
        with pytest.raises(error, match=words):
            pl.collide(CUBE, OTHER, engine="image", **options)
        with pytest.raises(error, match=words):
            pl.self_collide(CUBE, engine="image", **options)
    with pytest.raises(ValueError, match=r"adjacent.*'exact', 'ignore'.*'some'"):
        pl.self_collide(CUBE, engine="image", adjacent="some")
    for engine in ("Image", "gpu", None, 1):
        with pytest.raises(ValueError, match=f"engine.*'tree', 'image'.*{engine!r}"):
            pl.collide(CUBE, OTHER, engine=engine)
        with pytest.raises(ValueError, match=f"engine.*'tree', 'image'.*{engine!r}"):
            pl.self_collide(CUBE, engine=engine)


def test_pairs_cannot_stay_on_a_gpu_when_the_work_is_done_on_the_host(idle):
    for device in (None, "cpu"):
        with pytest.raises(DeviceError, match=r'out: "device".*host.*device="cuda".*out="numpy"'):
            pl.collide(CUBE, BODY, engine="image", out="device", device=device)
        with pytest.raises(DeviceError, match=r'out: "device"'):
            pl.self_collide(CUBE, engine="image", out="device", device=device)


# --- surfaces -------------------------------------------------------------------------------------------------------------------

def spoilt(row, value):
    vertices = CUBE[0].copy()
    vertices[row] = value
    return vertices


# (what is given, class, what the message must say after the name of the argument)
SURFACES = {
    "a number": (5, TypeError, ["expected a Body", "int"]),
    "nothing": (None, TypeError, ["expected a Body", "NoneType"]),
    "vertices alone": (CUBE[0], TypeError, ["expected a Body", "ndarray"]),
    "three things": ((*CUBE, None), TypeError, ["expected a Body", "tuple"]),
    "an object without faces": (SimpleNamespace(vertices=CUBE[0]), TypeError, ["expected a Body", "SimpleNamespace"]),
    "a scene": (pl.Scene([BODY]), TypeError, ["expected a Body", "Scene"]),
    "not a number": ((spoilt(3, [0, np.nan, 1]), CUBE[1]), MeshError, [".vertices", "row 3", "[0.0, nan, 1.0]"]),
    "infinite": ((spoilt(7, -np.inf), CUBE[1]), MeshError, [".vertices", "row 7", "-inf"]),
    "flat vertices": ((CUBE[0].reshape(-1), CUBE[1]), MeshError, [".vertices", "(n, 3)", "(24,)"]),
    "complex": ((CUBE[0] + 0j, CUBE[1]), TypeError, [".vertices", "complex128"]),
    "an index too large": ((CUBE[0], np.where(CUBE[1] == 7, 8, CUBE[1])), MeshError, [".faces", "row", "8", "0 to 7"]),
    "a negative index": ((CUBE[0], CUBE[1] - 1), MeshError, [".faces", "row 0", "-1"]),
    "quadrangles": ((CUBE[0], np.zeros((2, 4), int)), MeshError, [".faces", "(f, 3)", "(2, 4)"]),
    "whole floats": ((CUBE[0], CUBE[1].astype(float)), TypeError, [".faces", "integer", "float64"]),
    "faces of an object": (SimpleNamespace(vertices=CUBE[0], triangles=[[0, 1, 9]]), MeshError, [".faces", "row 0", "[0, 1, 9]"]),
    "no vertices, but faces": (([], [[0, 0, 0]]), MeshError, [".faces", "row 0"]),
}


@pytest.mark.parametrize("name", SURFACES)
def test_bad_surfaces_are_refused_by_argument_row_and_value(idle, name):
    given, error, words = SURFACES[name]
    for argument, call in (("a", lambda: pl.collide(given, OTHER, engine="image")), ("b", lambda: pl.collide(BODY, given, engine="image")),
                           ("body", lambda: pl.self_collide(given, engine="image"))):
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value).startswith(argument)
        for word in words:
            assert word in str(caught.value)


def test_a_surface_and_itself():
    for a in (BODY, CUBE):
        with pytest.raises(ValueError, match=r"same body.*self_collide"):
            pl.collide(a, a, engine="image")
    assert len(pl.collide(CUBE, (CUBE[0], CUBE[1]), engine="image", resolution=3)) == len(pl.collide(BODY, pl.Body(*CUBE)))
