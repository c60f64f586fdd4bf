"""Settings from environment variables, validated; without NumPy, because `threads` must stay cheap."""
import os

from pliant.errors import ArgumentError


def integer_setting(name: str, expected: str, minimum: int = 0) -> int | None:
    """The environment variable `name` as a whole number; None if it is not set."""
    text = os.environ.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text) < minimum:
        raise ArgumentError(f"{name}: expected {expected}, got {text!r}")
    return int(text)
