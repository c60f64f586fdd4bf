"""Settings from the environment: what `core/validate.py` is for arguments, without NumPy, because asking for the threads must stay cheap."""
import os


def setting(name: str, what: str, least: int = 0) -> int | None:
    """The environment variable `name` as a whole number; None if it is not set."""
    text = os.environ.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise ValueError(f"{name}: expected {what}, got {text!r}")
    return int(text)
