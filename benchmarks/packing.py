"""Packing a sparse texture on a GPU: the method of paper G (section 3), atomic counters as in the engine, and a prefix sum.

    python -m benchmarks.packing [--powers 16 18 20 22] [--launches 200] [--quick] [--out packing.json]

The paper's GPU had no scatter. The method counts the texels of each row by adding pairs, in steps that halve; the host reads the counts and
computes where rows begin; a sweep from left to right stores in every texel the index of the last non-empty texel before it, a second one
from right to left follows these indices and packs the row; then rows are moved to where they begin. Every texel is written by its own
thread from the results of earlier steps: nothing is scattered. Here the steps are those of two kernels whose threads synchronise, which
favours the method: a launch for each step would cost more than the step. A texture is stored by columns, so that the texels of a vertical
line, which the paper draws for each step of a sweep, are adjacent in memory.

Texels are empty or full at random, the same for all methods; the packed sets must be equal. Times are medians, by CUDA events: the GPU's,
with everything queued behind a pause, so that it never waits for Python; and as called, with launches, until the host has the count.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from numba import int64
from rich.console import Console
from rich.table import Table

from benchmarks.harness import versions
from pliant.core import device
from pliant.core.cooperative_cuda import TILE, cooperative_kernel, cuda, cuda_kernel, grid_scan, max_blocks
from pliant.image.merge import EMPTY_BOX

REGISTERS, WARP = 64, 32
NOWHERE = -1  # the paper's special key: no texel before this one
PERCENT = (0.1, 1.0, 10.0, 50.0)
POWERS, QUICK = (16, 18, 20, 22), (4, 7)
NAPS, NAP = 10, 100_000  # cycles of a pause, and their ns
WAYS = {}


# --- kernels -----------------------------------------------------------------------------------------------------------------

@cooperative_kernel(REGISTERS)
def count_rows(sparse, width, height, one, other, counts):
    """Counting: the number of non-empty texels of each row. `one` and `other` (width, height) alternate."""
    grid, me, all_of_us, n = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1), width
    for k in range(me, width * height, all_of_us):
        one[k] = 1 if sparse[k] != EMPTY_BOX else 0
    grid.sync()
    while n > 1:
        half = (n + 1) // 2
        for k in range(me, half * height, all_of_us):
            left = k // height * 2
            at = left * height + k % height
            other[k] = one[at] + (one[at + height] if left + 1 < n else 0)
        grid.sync()
        one, other = other, one
        n = half
    for y in range(me, height, all_of_us):
        counts[y] = one[y]


@cooperative_kernel(REGISTERS)
def shift_and_move(sparse, width, height, most, begins, before, shifted, packed):
    """Shifting: in each row, the indices of non-empty texels, from the right; `most` in a row. Moving: copy them."""
    grid, me, all_of_us = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1)
    warp = cuda.threadIdx.x // WARP * cuda.gridDim.x + cuda.blockIdx.x  # there are few rows: more blocks occupy all multiprocessors
    for y in range(warp * WARP + cuda.threadIdx.x % WARP, height, all_of_us):
        at = NOWHERE
        for x in range(width):
            before[x * height + y] = at
            if sparse[x * height + y] != EMPTY_BOX:
                at = x
        for k in range(most):
            if k > 0 and at != NOWHERE:
                at = before[at * height + y]
            shifted[k * height + y] = at
    grid.sync()
    for k in range(me, most * height, all_of_us):
        y = k % height
        if shifted[k] != NOWHERE:
            packed[begins[y] + k // height] = sparse[np.int64(shifted[k]) * height + y]


@cooperative_kernel(REGISTERS)
def take_places(sparse, n, count, report, packed):
    """As in the engine: a non-empty texel takes the next index of an atomic counter."""
    grid, me, all_of_us = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1)
    if me == 0:
        count[0] = 0
    grid.sync()
    for k in range(me, n, all_of_us):
        if sparse[k] != EMPTY_BOX:
            packed[cuda.atomic.add(count, 0, 1)] = sparse[k]
    grid.sync()
    if me == 0:
        report[0] = count[0]


@cooperative_kernel(REGISTERS)
def scan_places(sparse, n, places, sums, count, report, packed):
    """A non-empty texel goes to the index given by the number of those before it."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us = cuda.grid(1), cuda.gridsize(1)
    for k in range(me, n, all_of_us):
        places[k] = 1 if sparse[k] != EMPTY_BOX else 0
    grid.sync()
    grid_scan(places, n, sums, tile, count, 0)
    grid.sync()
    for k in range(me, n, all_of_us):
        if sparse[k] != EMPTY_BOX:
            packed[places[k]] = sparse[k]
    if me == 0:
        report[0] = count[0]


@cuda_kernel
def pause():
    """Keep the GPU busy for about a millisecond."""
    for _ in range(NAPS):
        cuda.nanosleep(NAP)


# --- methods ---------------------------------------------------------------------------------------------------------------------

def way(kind):
    """A registered method: made from a texture on the GPU, flat, and its width; its steps, in order, pack it. A step is a launch, and the
    work of the host after it."""
    WAYS[kind.name] = kind
    return kind


class Way:
    """Memory of all methods; the answer is `packed` and its length."""

    def __init__(self, sparse, width):
        arrays = device.require_cuda()
        self.sparse, self.n, self.width, self.height = sparse, len(sparse), width, len(sparse) // width
        self.packed, self.count = arrays.device_array(self.n, np.int64), arrays.device_array(1, np.int64)
        self.report = arrays.mapped_array(1, np.int64)

    def look(self):
        """The work of the host after a step."""

    def answer(self):
        """The packed texels, on the host."""
        return self.packed.copy_to_host()[:int(self.report[0])]


@way
class Paper(Way):
    name = "paper G: count, shift, move"

    def __init__(self, sparse, width):
        super().__init__(sparse, width)
        arrays = device.require_cuda()
        self.one, self.other, self.before = (arrays.device_array(self.n, np.int32) for _ in range(3))
        self.counts, self.begins = arrays.mapped_array(self.height, np.int32), arrays.device_array(self.height + 1, np.int64)
        self.most, self.steps = 0, ((self.counted, self.look), (self.moved, super().look))

    def counted(self):
        count_rows(self.sparse, self.width, self.height, self.one, self.other, self.counts)

    def look(self):
        """The host computes where rows begin, the number of texels, and the maximum in a row."""
        counts = np.array(self.counts)
        begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.begins.copy_to_device(begins)
        self.report[0], self.most = begins[-1], int(counts.max())

    def moved(self):
        shift_and_move(self.sparse, self.width, self.height, self.most, self.begins, self.before, self.one, self.packed)


@way
class Atomic(Way):
    name = "atomic places"

    def __init__(self, sparse, width):
        super().__init__(sparse, width)
        self.steps = ((self.taken, self.look),)

    def taken(self):
        take_places(self.sparse, self.n, self.count, self.report, self.packed)


@way
class Scanned(Way):
    name = "places by a scan"

    def __init__(self, sparse, width):
        super().__init__(sparse, width)
        arrays = device.require_cuda()
        self.places, self.sums = arrays.device_array(self.n + 1, np.int32), arrays.device_array(max_blocks(), np.int64)
        self.steps = ((self.scanned, self.look),)

    def scanned(self):
        scan_places(self.sparse, self.n, self.places, self.sums, self.count, self.report, self.packed)


# --- the comparison ----------------------------------------------------------------------------------------------------------

def texture(power, percent, seed=1):
    """2**power texels, a percentage of them non-empty, with distinct values; and the length of a row."""
    rng, n = np.random.default_rng(seed), 1 << power
    values = (rng.integers(0, 1 << 30, n) << 32) | np.arange(n)
    return np.where(rng.random(n) < percent / 100, values, EMPTY_BOX), 1 << (power + 1) // 2


def milliseconds(work, queued):
    """The time of the GPU; `queued`: behind a pause during which Python enqueues its work."""
    arrays = device.require_cuda()
    start, end = arrays.event(), arrays.event()
    if queued and not device.is_simulated():
        pause[device.launch_grid(1)]()
    start.record()
    work()
    end.record()
    end.synchronize()
    return 0.0 if device.is_simulated() else arrays.event_elapsed_time(start, end)  # the simulator has no clock


def called(one):
    """All steps, with the work of the host between them."""
    for launch, look in one.steps:
        launch()
        device.require_cuda().synchronize()
        look()


def on_the_gpu(one):
    """The sum over the steps alone."""
    total = 0.0
    for launch, look in one.steps:
        total += milliseconds(launch, True)
        look()
    return total


def measure(power, percent, launches):
    """Rows of figures of one texture: medians, in ms. Methods take turns."""
    sparse, width = texture(power, percent)
    expected, there = np.sort(sparse[sparse != EMPTY_BOX]), device.require_cuda().to_device(sparse)
    ways = {name: kind(there, width) for name, kind in WAYS.items()}
    times, names = {name: [] for name in ways}, list(ways)
    for one in ways.values():                                           # compiles, and computes the maximum number of blocks
        for _ in range(2):
            called(one)
    for k in range(launches):
        for name in names[k % len(names):] + names[:k % len(names)]:
            times[name].append((on_the_gpu(ways[name]), milliseconds(lambda one=ways[name]: called(one), False)))
    for name, one in ways.items():
        if not np.array_equal(np.sort(one.answer()), expected):
            raise RuntimeError(f"{name}: 2**{power} texels, {percent} % of them not empty: another set was packed")
    return {"texels": 1 << power, "percent": percent, "packed": len(expected), "rows": [
        {"way": name, "gpu_ms": float(np.median([gpu for gpu, _ in taken])), "called_ms": float(np.median([full for _, full in taken]))}
        for name, taken in times.items()]}


def table_of(results):
    """The rich table."""
    table = Table("texels", "not empty", title="packing, ms on the GPU (as called): medians")
    for name in WAYS:
        table.add_column(name, justify="right")
    for result in results:
        table.add_row(f"{result['texels']:,}", f"{result['percent']:g} %",
                      *(f"{row['gpu_ms']:.4f} ({row['called_ms']:.3f})" for row in result["rows"]))
    return table


def name_of_gpu():
    """The name of the GPU."""
    if device.is_simulated():
        return "Numba's simulator, which has no clock"
    name = device.require_cuda().get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def main(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__.partition("\n")[0])
    parser.add_argument("--powers", nargs="+", type=int, default=POWERS, help="texels, as powers of two")
    parser.add_argument("--launches", type=int, default=200, help="of each method")
    parser.add_argument("--quick", action="store_true", help="tiny textures, once each, to check that it works")
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args(arguments)
    powers, launches = (QUICK, 1) if options.quick else (options.powers, options.launches)
    results = [measure(power, percent, launches) for power in powers for percent in PERCENT]
    console, gpu = Console(width=150), name_of_gpu()
    console.print(table_of(results))
    console.print(gpu, ", ".join(f"{k} {v}" for k, v in versions().items()), sep="\n", highlight=False)
    if options.out:
        report = {"job": "packing", "gpu": gpu, "versions": versions(), "launches": launches, "results": results}
        Path(options.out).write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
