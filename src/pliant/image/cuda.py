"""The image engine on CUDA: what `pipeline.py` asks for, over arrays on the GPU.

Vertices and faces stay there. What comes to the host: boxes and sums, counters, keys of pairs, and the corners of the few pairs that the
filters leave unresolved. Two launches do it, one to look at the parts and one for all passes; Numba takes 10 to 20 µs for every argument
that is an array, so buffers of one type share one. How much room passes need is known only afterwards: where it was too little, there is
more from then on, and the passes are run again.
"""
import math
import threading
from contextlib import contextmanager, suppress

import numpy as np

from pliant.core import cooperative_cuda, device
from pliant.image import kernel_args
from pliant.image.admit_cuda import inspect_parts
from pliant.image.estimate import MAX_SHARED, estimate_missed
from pliant.image.exact_host import exact_tests
from pliant.image.intersect import strip_bits_for, strip_count
from pliant.image.merge import MAX_LEVELS, level_layout
from pliant.image.passes_cuda import count_shared_rays, gather_pairs, run_passes
from pliant.image.screen import STRIDE, survey_step
from pliant.image.separate import BOX_SIZE

INITIAL_CAPACITY = 64 if device.is_simulated() else 1 << 16             # keys and places to begin with; keys that come to the host at once
ALIGNMENT = 32                                                          # numbers: where a buffer begins
_buffers: dict[int, "DeviceBuffers"] = {}
_lock = threading.Lock()


class DeviceBuffers:
    """Memory for the queries of one GPU, one at a time: buffers by name, counters, kernel arguments; and how much room keys, unresolved
    pairs, fragments and places in the sweep have needed so far."""

    def __init__(self):
        cuda = device.require_cuda()
        self.lock = threading.RLock()
        self.clear()
        self.counters = cuda.device_array(kernel_args.COUNTERS_SIZE, np.int64)
        self.boxes, self.layers = self.counters.view(np.float64), self.counters.view(np.float32)
        self.host_args = cuda.mapped_array(kernel_args.N_ARGS, np.int64)
        self.host_floats = cuda.mapped_array(kernel_args.N_FLOATS, np.float64)
        self.host_counters, self.out = cuda.mapped_array(kernel_args.COUNTERS_SIZE, np.int64), cuda.mapped_array(INITIAL_CAPACITY, np.int64)
        self.args, self.view = cuda.device_array(kernel_args.N_ARGS, np.int64), cuda.device_array(kernel_args.N_FLOATS, np.float64)

    def clear(self):
        """Give all buffers back, and forget how much room was needed."""
        self._arrays, self._row_view = {}, None
        self.max_pairs = self.max_unresolved = self.fragments = self.max_entries = INITIAL_CAPACITY

    @contextmanager
    def acquire(self):
        """The buffers, for one query. After one that failed they are empty: what took too much memory is not asked for again, and a kernel
        that was left alone reads no arguments that the next query writes."""
        with self.lock:
            try:
                yield self
            except BaseException:
                with suppress(Exception):                               # of a GPU that is lost: the next query will hear of it
                    device.require_cuda().synchronize()
                self.clear()
                raise

    def buffer(self, name, count, dtype):
        """A buffer for at least so many numbers; what is in it is arbitrary."""
        array = self._arrays.get(name)
        if array is None or array.size < count:
            self._arrays.pop(name, None)
            array = None
            size = int(-(-max(count + count // 4, 16) // 12) * 12)      # whole rows of three
            with device.report_out_of_memory(name, size * np.dtype(dtype).itemsize):
                array = self._arrays[name] = device.require_cuda().device_array(size, dtype)
        return array

    def rows(self, array):
        """A flat array as rows of three."""
        if self._row_view is None or self._row_view[0] is not array:
            self._row_view = array, array.reshape(array.size // 3, 3)
        return self._row_view[1]

    def lay_out(self, sizes):
        """Put into the kernel arguments where buffers of these sizes begin, one after the other in the array of their kind; the four
        arrays."""
        arrays = []
        for dtype, buffers in kernel_args.BUFFERS_BY_DTYPE.items():
            at = 0
            for buffer in buffers:
                self.host_args[buffer] = at
                at += -(-sizes.get(buffer, 0) // ALIGNMENT) * ALIGNMENT
            arrays.append(self.buffer(dtype.__name__, at, dtype))
        return arrays


def buffers_of(number):
    """The DeviceBuffers of a GPU."""
    with _lock:
        if number not in _buffers:
            _buffers[number] = DeviceBuffers()
        return _buffers[number]


class CudaEngine:
    """One or two parts, (vertices, faces) on the GPU in the layout of `core/device_arrays.py`, as `CpuEngine`; whoever has one holds the
    lock of its buffers. `timed`: passes are launched one by one; `raise_invalid` is called if something is wrong with the parts."""

    FRAGMENTS_PER_FACE, MIN_FRAGMENTS = 16.0, 1 << 20                   # fragments of a face, and in any case: finer screens do not pay

    def __init__(self, buffers, parts, timed, raise_invalid):
        self.buffers, self.parts, self.is_self, self.timed, self.raise_invalid = buffers, parts, len(parts) == 1, timed, raise_invalid
        self.n_vertices, self.n = sum(len(part[0]) for part in parts), sum(len(part[1]) for part in parts)
        self.first_b = len(parts[0][1])
        self.vertices, self.faces = buffers.buffer("vertices", 3 * self.n_vertices, np.float64), buffers.buffer("faces", 3 * self.n,
                                                                                                                np.int32)
        self.sent = self.margin = 0

    def to_host(self, array, count):
        """The first numbers of an array, on the host."""
        values = array[:count].copy_to_host()
        self.sent += values.nbytes
        return values

    def read_counters(self, count):
        """The first counters, as the last launch has left them."""
        self.wait()
        values = np.array(self.buffers.host_counters[:count])
        self.sent += values.nbytes
        return values

    def closed(self):
        """Are all parts closed?"""
        return not self.flags[:, kernel_args.EDGE_SUM].any()

    def wait(self):
        """Until all that was launched is done."""
        device.require_cuda().synchronize()

    # --- the view ----------------------------------------------------------------------------------------------------------------

    def inspect(self, rotation):
        """(a point near the vertices, boxes (m, 2, 3) around the parts, turned about it, what `survey_face` counts of some faces)."""
        buffers, parts = self.buffers, len(self.parts)
        buffers.host_floats[:9] = np.reshape(rotation, 9)
        inspect_parts(*self.parts[0], *self.parts[-1], parts, survey_step(self.n), buffers.host_floats, self.vertices, self.faces,
                      buffers.counters, buffers.boxes,
                      buffers.layers, buffers.host_counters)
        counters = self.read_counters(kernel_args.COUNTERS_SIZE)
        self.flags = counters[kernel_args.N_COUNTERS:kernel_args.PART_BOXES].reshape(2, kernel_args.N_FLAGS)[:parts]
        if self.flags[:, [kernel_args.BAD_VERTICES, kernel_args.BAD_FACES]].any():
            self.raise_invalid()
        sides = counters[kernel_args.PART_BOXES:kernel_args.SURVEY_COUNTS].view(np.float64).reshape(2, 2, 2, 3)[:, :parts] * np.array(
            [1.0, -1.0])[:, None]
        return sides[0, 0, 0], sides[1], counters[kernel_args.SURVEY_COUNTS:].view(np.float32)

    def set_viewport(self, view, fragments):
        """Passes are to use this view; about so many fragments are to be expected there."""
        buffers, host_floats = self.buffers, self.buffers.host_floats
        self.view, self.strip_bits = view, strip_bits_for(math.sqrt(fragments / max(self.n, 1)))
        host_floats[kernel_args.ERROR_XY], host_floats[kernel_args.ERROR_Z] = view.error_xy, view.error_z
        host_floats[kernel_args.VIEW_FRAME:] = view.frame
        buffers.fragments, buffers.max_entries = max(buffers.fragments, int(1.5 * fragments)), max(buffers.max_entries, 2 * self.n)

    # --- passes ------------------------------------------------------------------------------------------------------------------

    def sample(self):
        self.sample_args = {kernel_args.SAMPLED: 0}
        if self.timed:
            self.launch(kernel_args.SAMPLE, kernel_args.MERGE)

    def peel(self, closed, passes, ends, mark):
        self.sample_args = {kernel_args.SAMPLED: 1, kernel_args.CLOSED: closed, kernel_args.MAX_PEELS: -1 if passes is None else passes,
                            kernel_args.ENDS: ends,
                            kernel_args.MARK_REST: mark}
        if self.timed:
            self.launch(kernel_args.SAMPLE, kernel_args.MERGE)

    def merge(self, margin):
        self.margin = margin
        if self.timed:
            self.launch(kernel_args.MERGE, kernel_args.SEPARATE)

    def separate(self):
        if self.timed:
            self.launch(kernel_args.SEPARATE, kernel_args.PACK)

    def pack(self):
        if self.timed:
            self.launch(kernel_args.PACK, kernel_args.TEST)

    def launch(self, begin, end, adjacent=False):
        """Launch some passes."""
        buffers, view, n, n_vertices, rays = self.buffers, self.view, self.n, self.n_vertices, self.view.size**2
        cells, (_, sides, texels) = strip_count(view.size, self.strip_bits) * view.size, level_layout(view.size)
        host_args, is_sampled = buffers.host_args, self.sample_args[kernel_args.SAMPLED]
        host_args[:kernel_args.SAMPLED] = [begin, end, n, n_vertices, self.first_b, self.is_self, adjacent,
                                     not self.flags[:, kernel_args.OUT_OF_RANGE].any(),
                                  view.size, len(sides), self.margin, self.strip_bits, cells]
        host_args[kernel_args.MAX_FRAGMENTS:kernel_args.INT64_BUFFERS] = [buffers.fragments, buffers.max_entries, buffers.max_pairs,
                                                              buffers.max_unresolved]
        for slot, value in self.sample_args.items():
            host_args[slot] = value
        self.arrays = None                                              # what is too small goes before there is more
        self.arrays = buffers.lay_out({
            kernel_args.COUNTS: rays,
            **dict.fromkeys((kernel_args.FRONTS, kernel_args.BACKS, kernel_args.NEXT_FRONTS, kernel_args.NEXT_BACKS), rays * is_sampled),
            kernel_args.FRAGMENT_LISTS: buffers.fragments * (1 - is_sampled), kernel_args.TEXELS: texels,
            kernel_args.LEVEL_BEGINS: MAX_LEVELS,
            kernel_args.LEVEL_SIDES: MAX_LEVELS, kernel_args.SPARSE: n, kernel_args.STRIP_BEGINS: cells + 1,
            kernel_args.ORDER: buffers.max_entries,
            kernel_args.CANDIDATES: buffers.max_pairs, kernel_args.KEYS: buffers.max_pairs, kernel_args.UNRESOLVED: buffers.max_unresolved,
            kernel_args.INCIDENT_BEGINS: n_vertices + 1,
            kernel_args.SUMS: cooperative_cuda.max_blocks(),
            kernel_args.PIXEL_BEGINS: rays + 1, kernel_args.LARGE_FACES: n, kernel_args.PACKED_FACES: n, kernel_args.STRIP_COUNTS: cells,
            kernel_args.VALENCES: n_vertices,
            kernel_args.INCIDENT_FACES: 3 * n, kernel_args.INCIDENT_VERTICES: 3 * n,
            kernel_args.SCREEN: STRIDE * n_vertices, kernel_args.BOXES: BOX_SIZE * n,
            kernel_args.SORTED_BOXES: BOX_SIZE * buffers.max_entries,
            kernel_args.ACTIVE: rays, kernel_args.IN_CANDIDATE: n})
        int64s, int32s, float32s, uint8s = self.arrays
        run_passes(host_args, buffers.host_floats, buffers.args, buffers.view, int64s, int32s, self.faces, buffers.rows(self.faces),
                   float32s, uint8s, self.vertices,
                   buffers.counters, buffers.host_counters, buffers.out)

    def intersect(self, first, adjacent):
        """(keys of non-adjacent faces, of adjacent ones, boxes compared, pairs tested, how many exactly, faces in candidates)."""
        self.launch(kernel_args.TEST if self.timed else kernel_args.SAMPLE, kernel_args.N_PASSES, adjacent)
        counts = self.read_counters(kernel_args.N_COUNTERS)
        while not self.had_capacity(counts):
            self.launch(kernel_args.SAMPLE, kernel_args.N_PASSES, adjacent)
            counts = self.read_counters(kernel_args.N_COUNTERS)
        self.counts, count, open_count = counts, int(counts[kernel_args.N_PAIRS]), int(counts[kernel_args.N_UNRESOLVED])
        keys_found, self.n_nonadjacent = self.read_keys(count), int(counts[kernel_args.N_NONADJACENT]) if adjacent else count
        resolved, nonadjacent = self.resolve(open_count)
        return (np.concatenate([keys_found[:self.n_nonadjacent], resolved[nonadjacent]]),
                np.concatenate([keys_found[self.n_nonadjacent:], resolved[~nonadjacent]]),
                counts[kernel_args.N_BOX_TESTS], counts[kernel_args.N_CANDIDATES] + counts[kernel_args.N_ADJACENT_PAIRS], open_count,
                counts[kernel_args.N_CANDIDATE_FACES])

    def had_capacity(self, counts):
        """Was there room for everything? If not there is from now on."""
        buffers, enough = self.buffers, True
        listed = 0 if self.sample_args[kernel_args.SAMPLED] else counts[kernel_args.N_FRAGMENTS]
        for name, needed in (("fragments", listed), ("max_entries", counts[kernel_args.N_ENTRIES]),
                             ("max_pairs", max(counts[kernel_args.N_CANDIDATES], counts[kernel_args.N_PAIRS])),
                             ("max_unresolved", counts[kernel_args.N_UNRESOLVED])):
            if needed > getattr(buffers, name):
                setattr(buffers, name, int(needed + needed // 4))
                enough = False
        return enough

    def sampling_counts(self):
        """(the most faces on one ray, passes, fragments, rays that are on, faces left)."""
        return tuple(int(self.counts[k])
                     for k in (kernel_args.MAX_DEPTH, kernel_args.N_PEELS, kernel_args.N_FRAGMENTS, kernel_args.N_RAYS,
                               kernel_args.N_PACKED))

    # --- the answer --------------------------------------------------------------------------------------------------------------

    def read_keys(self, count):
        """The keys found; the first of them have come already."""
        buffers = self.buffers
        if count <= len(buffers.out):
            self.sent += 8 * count
            return np.array(buffers.out[:count])
        at = int(buffers.host_args[kernel_args.KEYS])
        return self.to_host(self.arrays[0][at:at + count], count)

    def resolve(self, count):
        """(those of the unresolved pairs that meet, each once, which of them share no vertex): the host decides, by their corners."""
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.bool_)
        at = int(self.buffers.host_args[kernel_args.UNRESOLVED])
        vertex_ids, corners = self.gather_corners(self.arrays[0], at, count)
        intersects = exact_tests(vertex_ids, corners)
        keys, first_rows = np.unique(self.to_host(self.arrays[0][at:at + count], count)[intersects], return_index=True)
        vertex_ids = vertex_ids[intersects][first_rows]
        return keys, (vertex_ids[:, :3, None] != vertex_ids[:, None, 3:]).all(axis=(1, 2))

    def gather_corners(self, keys, at, count):
        """names (m, 6) and corners (m, 18) of the faces of so many keys from keys[at] on, on the host."""
        vertex_ids, corners = self.buffers.buffer("names", 6 * count, np.int32), self.buffers.buffer("corners", 18 * count, np.float64)
        gather_pairs[device.launch_grid(count)](self.faces, self.vertices, keys, at, count, vertex_ids, corners)
        return self.to_host(vertex_ids, 6 * count).reshape(-1, 6), self.to_host(corners, 18 * count).reshape(-1, 18)

    def estimate_missed(self, keys):
        """About how many pairs were missed; `keys` as `intersect` gave them, those that are still on the GPU first."""
        if not len(keys):
            return 0.0
        view, host_args, histogram = self.view, self.buffers.host_args, device.require_cuda().to_device(np.zeros(MAX_SHARED + 1, np.int64))
        (int64s, _, float32s, uint8s), rest = self.arrays, keys[self.n_nonadjacent:]
        for device_keys, at, count in ((int64s, int(host_args[kernel_args.KEYS]), self.n_nonadjacent),
                                       (device.require_cuda().to_device(rest), 0, len(rest))):
            if count:
                count_shared_rays[device.launch_grid(count)](
                    float32s, int(host_args[kernel_args.SCREEN]), self.faces, device_keys, at, count, view.error_xy, view.error_z,
                                                             view.size, self.margin, uint8s, int(host_args[kernel_args.ACTIVE]), histogram)
        dropped = int(self.counts[kernel_args.N_DROPPED])
        return estimate_missed(self.to_host(histogram, MAX_SHARED + 1), int(self.counts[kernel_args.N_FRAGMENTS]) - dropped, dropped)
