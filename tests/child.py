"""Run a few lines of Python in a process of their own: for what depends on the environment, on signals, on forks or on a first import."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

SOURCE = Path(__file__).resolve().parents[1] / "src"
PATIENCE = 300  # seconds: a cold cache means compiling first


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
    """The process that runs the code, with pipes to its input, output and errors."""
    return subprocess.Popen(
        [sys.executable, "-c", dedent(code), *map(str, arguments)],
        env=environment(**variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
