"""Services for tests of `pliant.io.subprocess_client`: what a library may do to its process when a file makes it."""

import builtins
import os
import time
from pathlib import Path

import numpy as np

from pliant.errors import FileError
from pliant.io import subprocess_server
from pliant.io.usd.scene import SceneService
from pliant.io.usd.stage import import_pxr
from pliant.io.vtk import hdf5


class Service:
    """Answers, or harms its own process."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def echo(self, *values):
        return [self.arguments, values], ()

    def arrays(self, *kinds):
        return len(kinds), [np.arange(6).astype(kind).reshape(2, 3)[:, ::-1] for kind in kinds]

    def empty(self):
        return None, [np.empty((0, 3)), np.float64(7)]

    def process(self):
        return os.getpid(), ()

    def printed(self):
        print("from Python", flush=True)
        os.write(1, b"from C")
        os.write(2, b"from C")
        return os.read(0, 10).decode(), ()

    def crash(self):
        os.abort()

    def leave(self, status):
        os._exit(status)

    def hit(self, sent):
        os.kill(os.getpid(), sent)

    def sleep(self, seconds, within):
        subprocess_server._limit_wall_time(within)
        time.sleep(seconds)
        return None, ()

    def spin(self):
        subprocess_server._limit_time(0.5)
        while True:
            pass

    def take(self, size):
        return len(bytearray(size)), ()

    def fail(self, kind, text):
        raise {"FileError": FileError}.get(kind, getattr(builtins, kind, None))(text)


class Readers:
    """Reads whole files, one after the other in one process, as long as it lives."""

    def __init__(self):
        hdf5.import_h5py()
        import_pxr()

    def read(self, path, *names):
        if names:
            for name in names:
                hdf5.read_array(Path(path), name)
            return len(names), ()
        scene, count = SceneService(path, None), 0
        while (found := scene.next_mesh()[0]) is not None:
            for frame in {0, found["frames"] - 1}:
                scene.pose(count, frame)
            count += 1
        scene.metadata()
        return count, ()


class Refusing:
    """Cannot be made."""

    def __init__(self):
        raise ImportError("needs more: pip install 'pliant[more]'")
