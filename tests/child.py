"""Code in processes and threads of its own: for what depends on the environment, on signals, on forks or on others at work."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from textwrap import dedent

SOURCE = Path(__file__).resolve().parents[1] / "src"
PATIENCE = 300  # seconds: a cold cache means compiling first
LATE = 120  # seconds: more than a thread of any test takes
SOON = 15  # seconds, on a machine that does much else: what hears an interrupt takes about one, what does not goes on for minutes


def environment(**changes):
    """This process's environment with some variables set, or removed where None is given."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for name, value in changes.items():
        env.pop(name, None)
        if value is not None:
            env[name] = str(value)
    return env


def python(code, *arguments, status=0, **variables):
    """What the code prints; it must leave with this exit status, and a traceback otherwise is part of the failure."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(code), *map(str, arguments)],
        env=environment(**variables), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )
    assert done.returncode == status, f"status {done.returncode}, expected {status}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def start(code, *arguments, **variables):
    """The process that runs the code, with pipes to its input, output and errors. It hears Ctrl-C even where this one does not."""
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-c", hears + dedent(code), *map(str, arguments)],
        env=environment(**variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )


def assert_stops_soon(process, after):
    """Interrupt a process that said "ready", after so many seconds: it says "stopped" soon, then finds everything "right"."""
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert process.stdout.readline() == "stopped\n", process.stderr.read()
        assert time.monotonic() - begin < SOON
        last = process.stdout.readline()                                # not communicate: the pipe's buffer may hold this line already
        errors = process.communicate(timeout=PATIENCE)[1]
        assert (last, process.returncode) == ("right\n", 0), errors
    finally:
        process.kill()
        process.communicate()


def together(*jobs):
    """Run the jobs in a thread each; all must end, and the first exception is raised."""
    errors = []

    def guarded(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(LATE)
    assert not [thread for thread in running if thread.is_alive()], "a thread waits for ever"
    if errors:
        raise errors[0]
