"""The available memory: a result that does not fit is refused before the system kills the process."""
from pathlib import Path

from pliant.core.environment import integer_setting

RESERVED_BYTES = 64 << 20                                               # bytes left for everything else
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_USAGES = (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"))


_STATS = (Path("/sys/fs/cgroup/memory.stat"), Path("/sys/fs/cgroup/memory/memory.stat"))


def _reclaimable(path):
    """Bytes of a control group's usage that are only cached files."""
    try:
        return sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("inactive_file "))
    except (OSError, ValueError):
        return 0


def _read_integer(path):
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def available_bytes():
    """Bytes that can still be allocated; None where the system does not report it. PLIANT_MEMORY caps it."""
    limits = []
    requested = integer_setting("PLIANT_MEMORY", "a number of bytes")
    if requested is not None:
        limits.append(requested)
    try:
        with open("/proc/meminfo") as lines:
            limits += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        pass
    for limit, use, stat in zip(map(_read_integer, _LIMITS), map(_read_integer, _USAGES), _STATS, strict=False):
        if limit is not None and use is not None:
            limits.append(limit - use + _reclaimable(stat))
    return min(limits) if limits else None


def fits_in_memory(size):
    """Can `size` more bytes be allocated?"""
    free = available_bytes()
    return free is None or size + RESERVED_BYTES <= free
