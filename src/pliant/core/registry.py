"""Registries: names that users write, and the objects behind them, which other packages may add to.

A package that declares an entry point in the group `pliant.extensions` needs no import: its modules are imported when a name is looked up
that no registry has, once per process. They register what they define when they are imported, like the modules of Pliant.
"""
import inspect
import threading
import warnings
from importlib.metadata import entry_points

from pliant.errors import ArgumentError, ArgumentTypeError

GROUP = "pliant.extensions"
_lock, _loaded = threading.RLock(), [False]


class Registry(dict):
    """Names and what they stand for, in the order of registration; a name that is missing loads the installed extensions first."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind                                                # what it holds, for messages

    def add(self, name, value):
        """Register `value`; a name is registered once."""
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"{self.kind}: expected a name, got {name!r:.80}")
        if dict.__contains__(self, name):
            raise ArgumentError(f"{self.kind} {name!r} is registered already")
        self[name] = value

    def __contains__(self, name):
        return dict.__contains__(self, name) or (load_extensions() and dict.__contains__(self, name))

    def __missing__(self, name):
        if name in self:
            return self[name]
        raise KeyError(name)


def load_extensions():
    """Import the modules of all entry points, once per process. True if this call, or one in another thread meanwhile, has done so."""
    if _loaded[0]:
        return False
    with _lock:
        if not _loaded[0]:
            _loaded[0] = True                                           # what the modules look up while they are imported ends here
            for point in entry_points(group=GROUP):
                try:
                    point.load()
                except Exception as error:
                    warnings.warn(f"the extension {point.name!r} ({point.value}) cannot be imported: {type(error).__name__} {error}",
                                  RuntimeWarning, stacklevel=2)
    return True


def check_callable(what, function, *parameters):
    """Raise a TypeError unless `function` can be called with that many positional arguments."""
    if not callable(function):
        raise ArgumentTypeError(f"{what}: expected a function ({', '.join(parameters)}), got {function!r:.80}")
    try:
        inspect.signature(function).bind(*parameters)
    except TypeError:
        raise ArgumentTypeError(f"{what}: expected parameters ({', '.join(parameters)}), got {inspect.signature(function)}") from None
    except ValueError:                                                  # a built-in function without a signature
        pass
