"""Processes of their own: what they answer, how they end, and that nobody else does with them."""

import gc
import json
import os
import signal
import struct
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from child import SOON, assert_stops_soon, python, start, together
from pliant.errors import FileError
from pliant.io import subprocess_client
from pliant.io.subprocess_client import SubprocessClient
from pliant.io.subprocess_server import HELLO

PATH = Path("a.file")
HARM = "the file is damaged, or made to do harm"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux alone: limits of memory, and what /proc tells")


def service(*arguments):
    return SubprocessClient("services", "Service", *arguments)


def alive(process):
    """Whether there is a process of this number that does more than wait to be buried."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_soon(process):
    end = time.monotonic() + SOON
    while alive(process) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(process)


@pytest.fixture(scope="module")
def shared():
    """One process for all tests that do not harm it."""
    made = service("first", None)
    yield made
    made.close()


def test_values_and_arrays(shared):
    odd = "é\udce9\n\0 "
    assert shared.request(PATH, "echo", odd, 1.5, None, [True])[0] == [["first", None], [odd, 1.5, None, [True]]]
    kinds = ["<f8", ">f4", "<f2", "i1", "<u8", ">i2"]
    count, arrays = shared.request(PATH, "arrays", *kinds)
    assert count == 6
    for kind, array in zip(kinds, arrays, strict=True):
        assert array.dtype == np.dtype(kind) and array.flags.writeable
        np.testing.assert_array_equal(array, [[2, 1, 0], [5, 4, 3]])
    _, (empty, scalar) = shared.request(PATH, "empty")
    assert empty.shape == (0, 3) and scalar == 7
    assert len(shared.request(PATH, "echo", "x" * 1_000_000)[0][1][0]) == 1_000_000


@pytest.mark.parametrize("kind, arrives", [("FileError", FileError), ("ValueError", ValueError), ("UnicodeError", ValueError),
                                           ("ImportError", ImportError), ("MemoryError", MemoryError), ("KeyError", RuntimeError),
                                           ("OSError", RuntimeError), ("RecursionError", RuntimeError)])  # fmt: skip
def test_errors_arrive_as_what_they_are(kind, arrives, shared):
    with pytest.raises(arrives) as caught:
        shared.request(PATH, "fail", kind, "a.file: is wrong")
    assert type(caught.value) is arrives and str(caught.value) == ("'a.file: is wrong'" if kind == "KeyError" else "a.file: is wrong")
    with pytest.raises(arrives) as caught:
        shared.request(PATH, "fail", kind, "")
    assert str(caught.value) in (kind, "''")
    shared.request(PATH, "echo")


def test_what_libraries_print_goes_nowhere(shared, capfd):
    assert shared.request(PATH, "printed")[0] == ""
    assert shared.request(PATH, "echo", 1)[0][1] == [1]
    assert capfd.readouterr() == ("", "")


def test_threads_are_answered_one_at_a_time(shared):
    def work(seed):
        for value in range(50):
            assert shared.request(PATH, "echo", seed, value)[0][1] == [seed, value]

    together(*(lambda seed=seed: work(seed) for seed in range(4)))


def test_neither_kernels_nor_libraries_are_loaded(shared):
    """The process starts quickly because it knows little."""
    code = "import sys, pliant.io.vtk.hdf5, pliant.io.usd.scene; print({'numba', 'scipy', 'pliant.body', 'pxr', 'h5py'} & set(sys.modules))"
    assert python(code) == "set()\n"


@pytest.mark.parametrize("harm, told", [(("crash",), "ends the library that reads it (signal 6)"), (("leave", 3), "(status 3)"),
                                        (("hit", 11), "ends the library that reads it (signal 11)"), (("leave", 0), "answer nonsense"),
                                        (("spin",), "busy without end")])  # fmt: skip
def test_the_end_of_a_process_is_the_fault_of_the_file(harm, told):
    apart = service()
    first = apart.request(PATH, "process")[0]
    with pytest.raises(FileError) as caught:
        apart.request(PATH, *harm)
    assert str(caught.value).startswith("a.file: ") and told in str(caught.value) and str(caught.value).endswith(HARM)
    second = apart.request(PATH, "process")[0]  # another one
    assert first != second and not alive(first)
    apart.close()
    assert not alive(second)


def test_a_process_that_does_nothing_is_tried_again():
    """It may have been stopped, and gone on later than its clock allows."""
    made = service()
    made.request(PATH, "echo")
    with pytest.raises(FileError, match=r"^a\.file: cannot be read: the library that reads it neither answers nor works$"):
        made.request(PATH, "sleep", 60, 0.1)
    process = made.request(PATH, "process")[0]
    os.kill(process, signal.SIGSTOP)
    threading.Timer(0.5, os.kill, (process, signal.SIGALRM)).start()
    threading.Timer(0.6, os.kill, (process, signal.SIGCONT)).start()
    assert made.request(PATH, "process")[0] != process


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_what_ends_it_from_outside_is_not_the_fault_of_the_file(sent):
    """Once is bad luck; twice is an error, which accuses nobody."""
    made = service()
    process = made.request(PATH, "process")[0]
    os.kill(process, getattr(signal, sent))
    assert gone_soon(process) and made.request(PATH, "echo", 1)[0] == [[], [1]]
    with pytest.raises(FileError, match=rf"ended from outside \(signal {getattr(signal, sent):d}\), perhaps because"):
        made.request(PATH, "hit", getattr(signal, sent))


def test_a_caller_without_signals_for_pipes_goes_on():
    code = BEGIN + """
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.kill(made.request(Path("a"), "process")[0], signal.SIGKILL)
time.sleep(0.5)
print(made.request(Path("a"), "echo", 5)[0][1])
"""
    assert python(code, TESTS).splitlines()[1:] == ["[5]"]


def test_what_an_interpreter_prints_as_it_starts_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('welcome')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert service().request(PATH, "echo", 1)[0] == [[], [1]]
    (tmp_path / "sitecustomize.py").write_text("import sys\nwhile True: sys.stdout.write('welcome ' * 1000)")
    with pytest.raises(FileError, match=r"a\.file: no process can be started to read it: it prints without end"):
        service().request(PATH, "echo", 1)


def test_what_is_no_interpreter_is_not_waited_for(tmp_path, monkeypatch):
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 100\n")
    sleeper.chmod(0o700)
    monkeypatch.setenv("PLIANT_PYTHON", str(sleeper))
    monkeypatch.setattr(subprocess_client, "START_SECONDS", 0.3)
    with pytest.raises(FileError, match=r"a\.file: no process can be started"):
        service().request(PATH, "echo")
    monkeypatch.delenv("PLIANT_PYTHON")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(FileError, match=r"a\.file: a Python interpreter is needed .*PLIANT_PYTHON"):
        service().request(PATH, "echo")


def test_so_many_run_at_a_time(monkeypatch):
    """The one that was asked longest ago makes room, and comes back when it is asked."""
    monkeypatch.setattr(subprocess_client, "MAX_PROCESSES", 2)
    made = [service(k) for k in range(3)]
    first, second = (each.request(PATH, "process")[0] for each in made[:2])
    made[0].request(PATH, "echo")
    third = made[2].request(PATH, "process")[0]
    assert [alive(process) for process in (first, second, third)] == [True, False, True]
    assert made[1].request(PATH, "echo", 5)[0] == [[1], [5]] and not alive(first)


def test_a_process_may_be_idle_longer_than_a_request_may_take():
    apart = service()
    first = apart.request(PATH, "process")[0]
    apart.request(PATH, "sleep", 0, 0.3)
    time.sleep(0.6)
    assert apart.request(PATH, "process")[0] == first


@linux
def test_memory_is_limited(shared):
    assert shared.request(PATH, "take", 1 << 28)[0] == 1 << 28
    with pytest.raises(MemoryError):
        shared.request(PATH, "take", 1 << 30)
    shared.request(PATH, "echo")


def test_a_service_that_cannot_be_made():
    apart = SubprocessClient("services", "Refusing")
    for _ in range(2):
        with pytest.raises(ImportError, match=r"pip install 'pliant\[more\]'"):
            apart.request(PATH, "anything")
    with pytest.raises(FileError, match=r"a\.file: no process can be started to read it"):
        SubprocessClient("services", "Nothing").request(PATH, "anything")


def test_without_an_interpreter(monkeypatch):
    monkeypatch.setattr(sys, "executable", str(Path("nowhere").resolve()))
    with pytest.raises(FileError, match=r"a\.file: no process can be started"):
        service().request(PATH, "echo")


READY = {"arrays": []}
FAKE = """
import sys
first, rest = (bytes.fromhex(text) for text in sys.argv[2].split())
sys.stdout.buffer.write(first)
sys.stdout.flush()
sys.stdin.buffer.readline()
sys.stdout.buffer.write(rest)
"""


def packed(head, content=b""):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + content


def begun(head):
    """What a process says first, in hexadecimal digits."""
    return (HELLO + packed(head)).hex()


@pytest.mark.parametrize("answer", [
    b"garbage!garbage!", struct.pack("<Q", 1 << 60), struct.pack("<Q", subprocess_client.MAX_HEADER + 1), packed(b"not JSON"),
    packed(b"[" * 20_000),
    packed([]), packed(5), packed({}), packed({"arrays": 5}), packed({"arrays": [["<f8"]]}), packed({"arrays": [["<f8", [-1]]]}),
    packed({"arrays": [["<f8", [1 << 62, 1 << 62]]]}), packed({"arrays": [["|O", [1]]]}, bytes(8)), packed({"arrays": [["<U9", [1]]]}),
    packed({"arrays": [["<f8", [True]]]}), packed({"arrays": [["<f8", [1, 1, 1, 1]]]}), packed({"arrays": [[{}, [1]]]}),
    packed({"arrays": [["<f8", "1"]]}), packed({"arrays": [["<f3", [1]]]}), packed({"arrays": [["|u16", [1]]]}),
    packed({"arrays": [["<f8", [0]]] * 17}), packed({"error": "SystemExit", "text": "", "arrays": []}),
    packed({"error": "ValueError", "text": 5, "arrays": []}), packed({"error": [], "text": "", "arrays": []}),
])  # fmt: skip
def test_answers_that_are_none(answer, monkeypatch):
    monkeypatch.setattr(subprocess_client, "SERVER_CODE", FAKE)
    with pytest.raises(FileError, match="answer nonsense; the file is damaged"):
        SubprocessClient("fake", f"{begun(READY)} {answer.hex()}").request(PATH, "echo")


@pytest.mark.parametrize("first", [b"hello, world", HELLO + packed(b"{"), HELLO + packed(5), HELLO + packed({"arrays": [["|u16", [1]]]})])
def test_beginnings_that_are_none(first, monkeypatch):
    monkeypatch.setattr(subprocess_client, "SERVER_CODE", FAKE)
    monkeypatch.setattr(subprocess_client, "START_SECONDS", 2.0)
    with pytest.raises(FileError, match=r"a\.file: no process can be started"):
        SubprocessClient("fake", f"{first.hex()} 00").request(PATH, "echo")


def test_text_of_the_other_process_is_plain(monkeypatch):
    monkeypatch.setattr(subprocess_client, "SERVER_CODE", FAKE)
    answer = packed({"error": "FileError", "text": "\033[2J\nb", "arrays": []})
    with pytest.raises(FileError, match=r"^ \[2J b$"):
        SubprocessClient("fake", f"{begun(READY)} {answer.hex()}").request(PATH, "echo")


def test_modules_beside_a_file_are_not_imported(tmp_path, monkeypatch):
    """In the working folder there may be anything."""
    for name in ("numpy", "services", "json"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(9)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert service().request(PATH, "echo", 1)[0] == [[], [1]]


@linux
def test_names_are_relative_to_the_folder_of_the_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = service()
    monkeypatch.chdir(tmp_path.parent)
    process = made.request(PATH, "process")[0]
    assert Path(os.readlink(f"/proc/{process}/cwd")) == tmp_path.resolve()


def test_nobody_who_asks_any_more_ends_it():
    made = service()
    process = made.request(PATH, "process")[0]
    del made
    gc.collect()
    assert not alive(process)
    made = service()
    process = made.request(PATH, "process")[0]
    made.close()
    made.close()
    assert not alive(process) and made.request(PATH, "process")[0] != process


BEGIN = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[1:]
from pliant.io.subprocess_client import SubprocessClient
made = SubprocessClient("services", "Service")
print(made.request(Path("a"), "process")[0], flush=True)
"""
TESTS = str(Path(__file__).resolve().parents[1])


@pytest.mark.parametrize("end", ["", "import os; os._exit(1)", "import os; os.kill(os.getpid(), 9)", "raise SystemExit(5)"])
def test_the_end_of_the_caller_ends_it(end):
    process = start(BEGIN + end, TESTS)
    output, errors = process.communicate(timeout=60)
    assert errors == "" and gone_soon(int(output))


def test_ctrl_c_leaves_nothing_and_all_goes_on():
    """Ctrl-C in a terminal reaches both processes; here the other one hears it first, and does not care."""
    code = BEGIN + """
import os, signal
os.kill(made.request(Path("a"), "process")[0], signal.SIGINT)
first = made.request(Path("a"), "process")[0]
print("ready", flush=True)
try:
    made.request(Path("a"), "sleep", 100, 100)
except KeyboardInterrupt:
    print("stopped", flush=True)
try:
    os.kill(first, 0)
except ProcessLookupError:
    print("right" if made.request(Path("a"), "process")[0] != first else "wrong")
"""
    process = start(code, TESTS)
    assert int(process.stdout.readline())
    assert_stops_soon(process, 0.3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is nothing to fork with")
def test_a_process_that_was_forked_has_one_of_its_own():
    code = BEGIN + """
import os, threading
first = made.request(Path("a"), "process")[0]
busy = threading.Thread(target=made.request, args=(Path("a"), "sleep", 1, 9))
busy.start()
time.sleep(0.2)
if not os.fork():
    mine = made.request(Path("a"), "process")[0]
    made.close()
    print("other" if mine != first else "same", flush=True)
    os._exit(0)
status = os.wait()[1]
busy.join()
print(status, made.request(Path("a"), "process")[0] == first)
"""
    lines = python(code, TESTS).split("\n")
    assert lines[1:] == ["other", "0 True", ""]


def test_many_at_once_are_all_ended():
    made = [service() for _ in range(3)]
    processes = [each.request(PATH, "process")[0] for each in made]
    os.kill(processes[1], signal.SIGKILL)
    processes.append(made[1].request(PATH, "process")[0])
    assert made[0].request(PATH, "process")[0] == processes[0]
    made.clear()
    gc.collect()
    assert not any(map(alive, processes))


@linux
def test_no_core_file_is_written(shared):
    process = shared.request(PATH, "process")[0]
    ulimits = Path(f"/proc/{process}/limits").read_text().splitlines()
    (line,) = [line for line in ulimits if line.startswith("Max core file size")]
    assert line.split()[4] == "1"
