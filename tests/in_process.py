"""Services of `pliant.io.subprocess_client` in this process: for tests of what files hold, since another process takes half a second to
start."""

from importlib import import_module


class Here:
    """In the place of `Apart`. Nothing is limited, and arrays are what the service has made."""

    def __init__(self, module, name, *arguments):
        self._made, self._arguments, self._service = getattr(import_module(module), name), arguments, None

    def request(self, path, method, *arguments):
        if self._service is None:
            self._service = self._made(*self._arguments)
        value, arrays = getattr(self._service, method)(*arguments)
        return value, list(arrays)

    def close(self):
        self._service = None
