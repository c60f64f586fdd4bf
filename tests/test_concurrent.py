"""Right answers whoever asks at once: queries and updates in several Python threads, in forked children, and after Ctrl-C."""

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pliant as pl
import poses
from child import LATE, assert_stops_soon, python, start, together
from pliant import shapes
from pliant.core import jit
from pliant.query import scheduler

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")

# ------------------------------------------------------------------------------------------------ several threads

SCENE = shapes.bumpy_pair(1280, 9)
FRAMES = [SCENE.frame(k) for k in (2, 3, 5)]
ROUNDS = 40


@pytest.fixture(params=[1 << 14, 64], ids=["serial", "shared"])
def chunk(request, monkeypatch, set_threads):
    """Each query alone in its thread, or all of them sharing their work through the pool."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", request.param)
    set_threads(2)


@pytest.fixture(scope="module")
def known():
    """The pairs of each frame, found by one thread."""
    answers = [pl.collide(pl.Body(a, SCENE.faces), pl.Body(b, SCENE.faces)).faces for a, b in FRAMES]
    assert len({answer.tobytes() for answer in answers}) == 3 and min(map(len, answers)) > 50
    return answers


def test_threads_ask_a_scene_that_has_just_moved():
    """The first of them tells the broad phase and answers; the others may not take an answer that is older than the move."""
    directions, faces = shapes.icosphere(1)
    still, moves = pl.Body(directions, faces), pl.Body.rigid(directions, faces)
    scene, rng, before = pl.Scene([still, moves]), np.random.default_rng(7), sys.getswitchinterval()
    scene.collide()
    try:
        sys.setswitchinterval(1e-5)
        for _ in range(400):
            moves.update(poses.matrix(move=(rng.choice([0.5, 1.0, 1.5, 9.0]), 0, 0)))
            right = len(pl.collide(still, moves))
            with ThreadPoolExecutor(3) as pool:
                asked = [pool.submit(scene.collide) for _ in range(3)]
            assert [len(found.result(LATE)) for found in asked] == [right] * 3
    finally:
        sys.setswitchinterval(before)


def test_eight_threads_ask_about_one_body(policy, chunk, known):
    """All start on volumes that are stale, in both orders of arguments, while other threads update other bodies."""
    a, b = (pl.Body(vertices, SCENE.faces, policy=policy) for vertices in FRAMES[1])
    a.update(FRAMES[0][0])
    b.update(FRAMES[0][1])
    swapped = known[0][np.lexsort((known[0][:, 0], known[0][:, 1]))][:, ::-1]
    start = threading.Barrier(10)

    def ask(order):
        start.wait(LATE)
        for _ in range(ROUNDS):
            found = pl.collide(*((a, b) if order else (b, a))).faces
            np.testing.assert_array_equal(found, known[0] if order else swapped)

    def move_another():
        mine, other = pl.Body(FRAMES[0][0], SCENE.faces, policy=policy), pl.Body(FRAMES[0][1], SCENE.faces)
        start.wait(LATE)
        for k in range(ROUNDS):
            mine.update(FRAMES[k % 3][0])
            other.update(FRAMES[k % 3][1])
            np.testing.assert_array_equal(pl.collide(mine, other).faces, known[k % 3])

    together(*[lambda order=k % 2: ask(order) for k in range(8)], move_another, move_another)


def test_an_update_is_seen_whole_or_not_at_all(policy, chunk):
    """One thread moves a body to and fro; every answer of the others is that of one of the two states."""
    still = pl.Body(FRAMES[0][1], SCENE.faces)
    states = FRAMES[0][0], FRAMES[1][0]
    expected = [pl.collide(pl.Body(state, SCENE.faces), still).faces.tobytes() for state in states]
    positions = [state.tobytes() for state in states]
    assert expected[0] != expected[1]
    body, done, seen = pl.Body(states[0], SCENE.faces, policy=policy), threading.Event(), set()

    def move():
        try:
            for k in range(1, 4 * ROUNDS):
                body.update(states[k % 2], copy=k % 3 > 0)
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.add(expected.index(pl.collide(body, still).faces.tobytes()))
            assert body.vertices.tobytes() in positions

    together(*[ask] * 4, move)
    assert seen <= {0, 1} and seen
    assert pl.collide(body, still).faces.tobytes() == expected[(4 * ROUNDS - 1) % 2]


def test_first_pairs_from_many_threads(chunk, known):
    a, b = (pl.Body(vertices, SCENE.faces) for vertices in FRAMES[0])
    right = {tuple(pair) for pair in known[0].tolist()}

    def ask():
        for _ in range(ROUNDS):
            found = pl.collide(a, b, first=True).faces.tolist()
            assert found and {tuple(pair) for pair in found} <= right

    together(*[ask] * 8)


def test_sharing_changes_neither_answers_nor_counters(set_threads, monkeypatch, known):
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 16)
    stats = set()
    for n in (1, 2, 5):
        set_threads(n)
        pairs = pl.collide(*(pl.Body(vertices, SCENE.faces) for vertices in FRAMES[0]))
        np.testing.assert_array_equal(pairs.faces, known[0])
        stats.add(pairs.stats)
    assert len(stats) == 1
    assert min(stats.pop()[:3]) > 0


# ------------------------------------------------------------------------------------------------ forks

FORK = """
    import os, signal, sys, threading, warnings
    import numpy as np
    import pliant as pl
    from pliant import shapes
    from pliant.core import threads
    from pliant.core.threads import ReadLock
    from pliant.query import scheduler

    warnings.simplefilter("ignore", DeprecationWarning)     # from 3.12 on, Python warns of forks in the presence of threads
    scheduler.CALL_BUDGET = 64
    pl.set_threads(2)
    scene = shapes.bumpy_pair(1280, 9)
    a, b = (pl.Body(vertices, scene.faces) for vertices in scene.frame(2))
    first = pl.collide(a, b).faces
    a.update(scene.frame(3)[0])
    second = pl.collide(a, b).faces
    a.update(scene.frame(2)[0])
    assert threads._pools and len(first) > 50 and not np.array_equal(first, second)

    def in_child(work):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                work()
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def work():
        assert np.array_equal(pl.collide(a, b).faces, first)
        a.update(scene.frame(3)[0])
        assert np.array_equal(pl.collide(a, b).faces, second)
        assert threads._pools
"""
forks = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no forks on this system")


@forks
def test_a_forked_child_has_a_pool_of_its_own():
    """And a child of it too; the parent goes on as before."""
    python(FORK + """
    def deeper():
        work()
        a.update(scene.frame(2)[0])
        assert in_child(work) == 0

    assert in_child(deeper) == 0
    assert np.array_equal(pl.collide(a, b).faces, first)
    """)


@forks
def test_a_fork_while_another_thread_asks():
    """The readers of the parent are not in the child: an update there must not wait for them."""
    python(FORK + """
    reading, done = threading.Event(), threading.Event()

    def read():
        with ReadLock(a._guard, b._guard):
            reading.set()
            done.wait(60)

    thread = threading.Thread(target=read)
    thread.start()
    assert reading.wait(60)
    status = in_child(work)
    done.set()
    thread.join()
    assert status == 0, status
    assert np.array_equal(pl.collide(a, b).faces, first)
    """)


# ------------------------------------------------------------------------------------------------ Ctrl-C

# "near": oblique triangles, all but coincident, so that only exact arithmetic can tell them apart. "far": parallel ones of size 1e300, some
# 1e-324 from each other, for which that arithmetic is the slowest there is, and hardly any of which meet.
INTERRUPT = """
    import sys, time
    import numpy as np
    import pliant as pl

    kind, n = sys.argv[1], int(sys.argv[2])
    rng = np.random.default_rng(0)

    def bundle(n):
        if kind == "near":
            corners = np.array([[-.1, -.1, .3], [.7, .1, .2], [.1, .9, .4]]) + rng.integers(-3, 4, (n, 3, 3)) * 2.0**-54
        else:
            corners = np.tile([[-1e300, -1.1e300, 3e-322], [1e300, 1e-300, 5e-322], [1e-308, 1e300, 1e-321]], (n, 1, 1))
            corners[:, :, 2] += rng.integers(0, 500, (n, 1)) * 5e-324
        return pl.Body(corners.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3))

    a, b, small = bundle(n), bundle(n), bundle(1)
    expected = pl.collide(a, small).faces
    assert 0 < len(expected) < n
    print("ready", flush=True)
    try:
        pl.collide(a, b)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    else:
        sys.exit("ended before it was interrupted")
    assert np.array_equal(pl.collide(a, small).faces, expected)
    for body in (a, b):
        body.update(body.vertices)
    assert np.array_equal(pl.collide(a, small).faces, expected)
    print("right", flush=True)
"""


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(("kind", "n"), [("near", 20_000), ("far", 4_000)])
def test_an_interrupted_query_ends_soon(kind, n, n_threads):
    """It would take minutes. The bodies are as good as new."""
    process = start(INTERRUPT, kind, n, PLIANT_THREADS=n_threads)
    assert_stops_soon(process, 1.0)
