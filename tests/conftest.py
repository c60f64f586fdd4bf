"""Fixtures that every folder of tests shares. Options come from the registries: a volume type, builder or policy that registers is tested.

This file also puts `tests/` on the path, so that `import naive` works in the folders below it.
"""

import gc
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numba
import pytest

import naive
import pliant
import pliant.body
import tiers
from pliant import shapes
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS, WIDTH_OF_ARITY
from pliant.volume.protocol import VOLUME_TYPES
from siblings import NARROW, PAIRS, VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
LEFT_OUT = pytest.StashKey[int]()
LEAVES = (1, 2, 4, 8)
TREES = ({"arity": 8, "leaf": 8}, {"arity": 2, "leaf": 1}, {"arity": 4, "leaf": 3})


def pytest_addoption(parser):
    parser.addoption("--tier", choices=tiers.TIERS, default=tiers.TIERS[0], help="the short tier of tests, or all others: docs/tiers.md")


def pytest_collection_modifyitems(config, items):
    """Tests of kernels for a GPU are left out, unless they are asked for by -m cuda or Numba's simulator is on. Of the others, files with
    slow tests first, then those with many: a worker that comes to a long one last would keep the others waiting."""
    cuda = numba.config.ENABLE_CUDASIM or "cuda" in config.getoption("markexpr")
    if not cuda:
        left_out = [item for item in items if item.get_closest_marker("cuda")]
        config.stash[LEFT_OUT] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("cuda")]
    if not OFF:
        left = {item for item in items if _rare(getattr(item, "callspec", None))}
        items[:] = [item for item in items if item not in left]
    if (tier := config.getoption("--tier")) != tiers.TIERS[0]:
        mode = "cuda" if cuda else "off" if OFF else "jit"
        marked = [item for item in items if mode == "jit" or item.get_closest_marker("cuda" if cuda else "formulas")]
        chosen = tiers.short(marked, Path(__file__).parent, mode)
        config.hook.pytest_deselected(items=[item for item in items if (item in chosen) != (tier == "short")])
        items[:] = [item for item in items if (item in chosen) == (tier == "short")]
    slow, count = {item.path for item in items if item.get_closest_marker("slow")}, Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -count[item.path]))


def _rare(call):
    """Formulas on four lanes of a volume type that bodies have in nodes of eight: kernels to compile, of code that the same tests try on
    eight lanes, and with the JIT off on four."""
    return call is not None and call.params.get("width") == 4 and call.params.get("volume_type", "aabb") not in NARROW


def pytest_sessionfinish(session):
    """A worker tells how many tests it left out; all of them see the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LEFT_OUT] = max(node.config.stash.get(LEFT_OUT, 0), getattr(node, "workeroutput", {}).get("left_out", 0))


def pytest_terminal_summary(terminalreporter, config):
    count = config.stash.get(LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(f"{count} tests of kernels for GPUs are left out: they run on one (make test-gpu), or in the simulator "
                                    "with NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 (a step of make test and make test-full)")


@pytest.fixture(autouse=True, scope="module")
def _settled():
    """What is compiled stays for the whole run, millions of objects after a while. The collector passes over what was there before a file
    of tests: benchmarks call it before each of hundreds of runs. What nobody refers to goes first: it may hold a process or a file."""
    gc.collect()
    gc.freeze()


def _named(option):
    return "-".join(str(value) for value in option.values())


def _products(**choices):
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def _covering(**choices):
    """Few of the products of these choices, in which any two choices occur together, such as a builder and a leaf size: again and again
    the product that brings the most pairs that are missing, of several the one whose choices were used least, of these the first.
    A fault that takes three particular choices at once is rare; with four builders and one volume type all products would be 144, not 16.
    With the JIT off, where the same formulas take a thousand times as long, every choice occurs once. Nodes of two or four children are for
    boxes and balls alone, unless no volume type is chosen: every type and width is another loop to compile, and lanes of either width have
    tests of their own (`tests/volume`)."""
    rows = [row for row in _products(**choices) if OFF or row.get("arity", 8) == 8 or row.get("volume", "aabb") in NARROW]
    brings = [set(combinations(row.items(), 1 if OFF else 2)) for row in rows]
    missing, used, chosen = set().union(*brings), Counter(), []
    while missing:
        best = max(range(len(rows)), key=lambda k: (len(brings[k] & missing), -sum(used[item] for item in rows[k].items())))
        missing -= brings[best]
        used.update(rows[best].items())
        chosen.append(rows[best])
    return chosen


def _furthest(rows):
    """How far to go round the rows so that options differ in as much as there is to choose from."""
    n = len(rows)
    return max(range(n), key=lambda step: sum(row[name] != rows[(k + step) % n][name] for k, row in enumerate(rows) for name in row))


COVER = _covering(volume=VOLUMES, build=list(BUILDERS), policy=list(POLICIES), arity=list(WIDTH_OF_ARITY), leaf=list(LEAVES))


def _twos():
    """Options of two bodies. With boxes: those of a cover, so that every one is once the first and once the second. With two types,
    several with each: nodes of eight only, because every pair of types and of widths is another loop to compile, 5 s."""
    boxes = _covering(volume=["aabb"], build=list(BUILDERS), policy=list(POLICIES), arity=list(WIDTH_OF_ARITY), leaf=list(LEAVES))
    step, wide = _furthest(boxes), [row for row in COVER if row["arity"] == 8]
    for k, row in enumerate(boxes):
        yield row, boxes[(k + step) % len(boxes)]
    for k, (first, second) in enumerate(PAIRS):
        one, other = wide[k % len(wide)], wide[(3 * k + 1) % len(wide)]
        yield {**one, "volume": first}, {**other, "volume": second}


TWOS = list(_twos())


@pytest.fixture(params=COVER, ids=_named)
def options(request):
    """Keywords of `Body`: every two of volume type, builder, policy, arity and leaf size in all combinations."""
    return dict(request.param)


@pytest.fixture(params=TWOS, ids=lambda two: "-".join(map(_named, two)))
def two_options(request):
    """Keywords for two bodies that differ in as much as there is to choose from."""
    return dict(request.param[0]), dict(request.param[1])


@pytest.fixture(params=_covering(build=list(BUILDERS), arity=list(WIDTH_OF_ARITY), leaf=list(LEAVES)), ids=_named)
def builds(request):
    """Keywords of `Body` that shape the tree: every two of builder, arity and leaf size in all combinations."""
    return dict(request.param)


def _unlike():
    """Every volume type, builder and policy at least once, on unlike trees; with the JIT off two of them, with nodes of either width."""
    choices = VOLUMES, list(BUILDERS), list(POLICIES), TREES
    for k in range(2 if OFF else max(map(len, choices))):
        volume_type, builder, policy, tree = (choice[k % len(choice)] for choice in choices)
        arity = tree["arity"] if OFF or volume_type in NARROW else 8
        yield {"volume": volume_type, "build": builder, "policy": policy, **tree, "arity": arity}


@pytest.fixture(params=list(_unlike()), ids=_named)
def kept(request):
    """Keywords of `Body`, a few unlike ones: for tests of hard meshes."""
    return dict(request.param)


@pytest.fixture(params=list(POLICIES))
def policy(request):
    """The name of every policy."""
    return request.param


@pytest.fixture(params=VOLUMES)
def volume_type(request):
    """Every volume type; of several with one class the first."""
    return VOLUME_TYPES[request.param]


@pytest.fixture
def set_threads():
    """`pliant.set_threads`, taken back afterwards."""
    yield pliant.set_threads
    pliant.set_threads(None)


class Deforming:
    """Two bumpy spheres of 320 faces (20 with the JIT off) that pass through each other; the right answers are worked out once."""

    frames = (0, 2, 3, 5, 8)

    def __init__(self):
        scene = shapes.bumpy_pair(320, 9)
        directions, faces = shapes.icosphere(0)
        self.scene = scene._replace(directions=directions, faces=faces) if numba.config.DISABLE_JIT else scene
        self.faces, self._answers = self.scene.faces, {}

    def __iter__(self):
        for k in self.frames:
            a, b = self.scene.frame(k)
            if k not in self._answers:
                self._answers[k] = naive.collide(a, self.faces, b, self.faces)
            yield a, b, self._answers[k]


@pytest.fixture(scope="session")
def deforming():
    """Frames (vertices of a, vertices of b, right pairs) of a small scene in which the bodies are apart, then meet, then are apart."""
    scene = Deforming()
    counts = [len(answer) for _, _, answer in scene]
    assert 0 in counts
    assert max(counts) > len(scene.faces) / 4
    return scene
