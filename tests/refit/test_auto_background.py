"""New trees of `auto`, built at once or in the background: whatever happens meanwhile, answers are right."""

import contextlib
import signal
import threading

import numpy as np
import pytest
from degraded import CUBE, OFF, quiet, reasons, scattered, slow, until
from volume_checks import assert_true, shape_of

import meshes
import pliant as pl
from child import python
from pliant.refit import auto
from pliant.refit.policy import Bvh
from pliant.tree.nodes import Tree

pytestmark = quiet  # kernels overflow in lanes that nobody reads; as Python they say so


# --- new trees, at once or in the background -----------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("in_background", [False, True])
def test_a_worn_tree_is_renewed(hasty, in_background):
    """The same in a few frames, at once or in the background; the new tree is another one, and true."""
    frame, faces = scattered(24 if OFF else 60)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": in_background}, arity=2, leaf=1), pl.Body(*CUBE)
    tree = shape_of(body).tree
    for k in until(lambda: reasons(body, "rebuild")):
        body.update(frame(min(k, 1)))
        pl.collide(body, other)
    assert shape_of(body).tree is not tree
    meshes.assert_right(body, other)
    assert_true(body)
    said = [choice.reason for choice in body.policy_log[1:]]
    assert any("another tree is being built" in reason for reason in said) is in_background
    assert any("built in the background is ready" in reason for reason in said) is in_background


# --- in the background -----------------------------------------------------------------------------------------------------------

class Late:
    """A builder that waits until it is let go, or fails."""

    def __init__(self, monkeypatch, error=None):
        self.go_on, self.calls, self.error, self.real = threading.Event(), 0, error, Bvh.build
        monkeypatch.setattr(Bvh, "build", lambda shape, points=None: self(shape, points))

    def __call__(self, shape, points):
        if points is None:
            return self.real(shape)
        self.calls += 1
        assert self.go_on.wait(60)
        if self.error is not None:
            raise self.error
        return self.real(shape, points)


def ask_right(body, other, vertices):
    """Update and ask; the answer must be right."""
    body.update(vertices)
    np.testing.assert_array_equal(pl.collide(body, other).faces,
                                  pl.collide(pl.Body(vertices, body.faces, policy="bottom_up"), other).faces)


@slow
def test_right_while_a_tree_is_being_built_and_after(hasty, monkeypatch):
    """Frames go on, full and local, while one tree is built of an old one; nobody starts a second; then it is taken."""
    frame, faces = scattered(120)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": True}), pl.Body(*CUBE)
    late, old = Late(monkeypatch), shape_of(body).tree
    for k in range(60):
        ask_right(body, other, frame(k))
        if k % 5 == 2:
            body.update(frame(k + 1)[:30], changed=np.arange(30))
            pl.collide(body, other)
    assert late.calls == 1
    assert shape_of(body).tree is old
    assert reasons(body, "rebuild") == []
    monkeypatch.undo()
    late.go_on.set()
    for _ in until(lambda: reasons(body, "rebuild")):
        ask_right(body, other, frame(60))
    assert shape_of(body).tree is not old
    for k in range(60, 70):
        ask_right(body, other, frame(k))
    assert_true(body)


@slow
def test_a_tree_that_cannot_be_built_is_done_without(hasty, monkeypatch):
    """Memory may be short in the background: whoever asks may be told, once, and gets answers from the old tree."""
    frame, faces = scattered(120)
    body, other, told = pl.Body(frame(0), faces, policy={"name": "auto", "background": True}), pl.Body(*CUBE), 0
    late = Late(monkeypatch, MemoryError("no room for a tree"))
    late.go_on.set()
    for k in range(30):
        try:
            ask_right(body, other, frame(k))
        except MemoryError:
            told += 1
    assert late.calls >= 1
    assert told <= late.calls
    ask_right(body, other, frame(1))


@slow
@pytest.mark.parametrize("where", [(Tree, "allocate"), (Bvh, "set_context")], ids=["before its records", "before their addresses"])
@pytest.mark.parametrize("in_background", [False, True])
def test_ctrl_c_while_a_tree_is_planted(hasty, in_background, where, monkeypatch):
    """Half of the old tree and half of the new one must never meet."""
    frame, faces = scattered(120)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": in_background}, leaf=1), pl.Body(*CUBE)
    real, stopped = getattr(*where), []

    def stop(*args, **arrays):
        if arrays and "nodes" not in arrays:                            # not a new tree
            return real(*args, **arrays)
        monkeypatch.setattr(*where, real)
        stopped.append(args)
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, stop)
    for k in until(lambda: stopped):
        body.update(frame(k))
        with contextlib.suppress(KeyboardInterrupt):
            pl.collide(body, other)
    shape = shape_of(body)
    assert (len(shape.nodes), len(shape.leaves)) == (len(shape.tree.child), len(shape.tree.faces))
    assert np.array_equal(shape.nodes["child"], shape.tree.child)
    assert np.array_equal(shape.leaves["face"], shape.tree.faces)
    assert (shape.record["nodes"][0], shape.record["leaves"][0]) == (shape.nodes.ctypes.data, shape.leaves.ctypes.data)
    np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(frame(k), faces), other).faces)


@slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no forks on this system")
def test_a_fork_while_a_tree_is_being_built():
    """The child never gets that tree, and needs none; nor does a process that ends wait for one."""
    python("""
    import os, signal, sys, threading, time, warnings
    import numpy as np
    import pliant as pl
    from pliant import shapes
    from pliant.refit import auto
    from pliant.refit.policy import Bvh

    warnings.simplefilter("ignore", DeprecationWarning)     # from 3.12 on, Python warns of forks in the presence of threads
    auto.MIN_SAMPLE_INTERVAL, auto.TEST_COST, started, real = 1, 0, threading.Event(), Bvh.build

    def late(shape, points=None):
        if points is not None:
            started.set()
            time.sleep(3600)
        return real(shape, points)

    Bvh.build = late
    rng, faces = np.random.default_rng(0), np.arange(360).reshape(-1, 3)
    moved = [(rng.uniform(-1, 1, (120, 1, 3)) + rng.standard_normal((120, 3, 3)) * 0.02).reshape(-1, 3) for _ in range(6)]
    body, other = pl.Body(moved[0], faces, policy={"name": "auto", "background": True}), pl.Body(*shapes.icosphere(2))

    def ask(k):
        body.update(moved[k])
        assert np.array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(moved[k], faces, policy="lazy"), other).faces)

    for k in range(4):
        ask(k)
    assert started.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            for k in range(6):
                ask(k)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ask(5)
    """)


@slow
def test_a_tree_from_the_background_that_is_no_better_is_not_taken(hasty, monkeypatch):
    """It is compared when it is there: meanwhile the body may have come back."""
    monkeypatch.setattr(auto, "FULL_TEST_CHANGE", -100)                 # no samples
    frame, faces = scattered(2400)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": True}), pl.Body(*CUBE)
    late, tree = Late(monkeypatch), shape_of(body).tree
    for k in range(12):
        ask_right(body, other, frame(k))
    assert late.calls == 1
    monkeypatch.undo()
    body.update(frame(0))
    late.go_on.set()
    for _ in until(lambda: any("the old one stays" in choice.reason for choice in body.policy_log)):
        ask_right(body, other, frame(0))
    assert shape_of(body).tree is tree
