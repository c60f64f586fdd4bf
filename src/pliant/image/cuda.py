"""The image engine on CUDA: what `pipeline.py` asks for, over arrays on the GPU.

Vertices and faces stay there. What comes to the host: boxes and sums, counters, keys of pairs, and the corners of the few pairs that the
filters leave undecided. Two launches do it, one to look at the parts and one for all passes; Numba takes 10 to 20 µs for every argument
that is an array, so buffers of one type share one. How much room passes need is known only afterwards: where it was too little, there is
more from then on, and the passes are run again.
"""
import math
import threading
from contextlib import contextmanager, suppress

import numpy as np

from pliant.core import cooperative_cuda, device
from pliant.image import counters as slots
from pliant.image import kernel_args
from pliant.image.admit_cuda import outline
from pliant.image.estimate import ENOUGH, unseen
from pliant.image.exact_host import settle
from pliant.image.intersect import strip_for, strips
from pliant.image.merge import MOST_LEVELS, levels
from pliant.image.pack import SIDES
from pliant.image.passes_cuda import gather, passes, tally_rays
from pliant.image.screen import STRIDE, step_for

SPARE = 64 if device.simulated() else 1 << 16                           # keys and places to begin with; keys that come to the host at once
LINE = 32                                                               # numbers: where a buffer begins
_rooms: dict[int, "Room"] = {}
_lock = threading.Lock()


class Room:
    """Memory for the queries of one GPU, one at a time: buffers by name, the board, the desk; and how much room keys, undecided pairs,
    fragments and places in the sweep have needed so far."""

    def __init__(self):
        cuda = device.need_cuda()
        self.lock = threading.RLock()
        self.clear()
        self.board = cuda.device_array(kernel_args.BOARD, np.int64)
        self.boxes, self.layers = self.board.view(np.float64), self.board.view(np.float32)
        self.desk, self.numbers = cuda.mapped_array(slots.DESK, np.int64), cuda.mapped_array(slots.NUMBERS, np.float64)
        self.report, self.out = cuda.mapped_array(kernel_args.BOARD, np.int64), cuda.mapped_array(SPARE, np.int64)
        self.held, self.view = cuda.device_array(slots.DESK, np.int64), cuda.device_array(slots.NUMBERS, np.float64)

    def clear(self):
        """Give all buffers back, and forget how much room was needed."""
        self._kept, self._rows = {}, None
        self.most = self.few = self.fragments = self.entries = SPARE

    @contextmanager
    def taken(self):
        """The room, for one query. After one that failed it is empty: what took too much memory is not asked for again, and a kernel that
        was left alone reads no desk that the next query writes on."""
        with self.lock:
            try:
                yield self
            except BaseException:
                with suppress(Exception):                               # of a GPU that is lost: the next query will hear of it
                    device.need_cuda().synchronize()
                self.clear()
                raise

    def of(self, name, count, dtype):
        """A buffer for at least so many numbers; what is in it is arbitrary."""
        found = self._kept.get(name)
        if found is None or found.size < count:
            self._kept.pop(name, None)
            found = None
            size = int(-(-max(count + count // 4, 16) // 12) * 12)      # whole rows of three
            with device.memory(name, size * np.dtype(dtype).itemsize):
                found = self._kept[name] = device.need_cuda().device_array(size, dtype)
        return found

    def rows(self, array):
        """A flat array as rows of three."""
        if self._rows is None or self._rows[0] is not array:
            self._rows = array, array.reshape(array.size // 3, 3)
        return self._rows[1]

    def lay_out(self, sizes):
        """Put on the desk where buffers of these sizes begin, one after the other in the array of their kind; the four arrays."""
        arrays = []
        for dtype, buffers in slots.KINDS.items():
            at = 0
            for buffer in buffers:
                self.desk[buffer] = at
                at += -(-sizes.get(buffer, 0) // LINE) * LINE
            arrays.append(self.of(dtype.__name__, at, dtype))
        return arrays


def room_of(number):
    """The Room of a GPU."""
    with _lock:
        if number not in _rooms:
            _rooms[number] = Room()
        return _rooms[number]


class OnCuda:
    """One or two parts, (vertices, faces) on the GPU in the layout of `core/device_arrays.py`, as `OnCpu`; whoever has one holds the lock of
    its room. `clocked`: passes are launched one by one; `refuse` is called if something is wrong with the parts."""

    EACH, FEW = 16.0, 1 << 20                                           # fragments of a face, and in any case: finer screens do not pay

    def __init__(self, room, parts, clocked, refuse):
        self.room, self.parts, self.itself, self.clocked, self.refuse = room, parts, len(parts) == 1, clocked, refuse
        self.n_vertices, self.n = sum(len(part[0]) for part in parts), sum(len(part[1]) for part in parts)
        self.first_b = len(parts[0][1])
        self.vertices, self.faces = room.of("vertices", 3 * self.n_vertices, np.float64), room.of("faces", 3 * self.n, np.int32)
        self.sent = self.margin = 0

    def host(self, array, count):
        """The first numbers of an array, on the host."""
        values = array[:count].copy_to_host()
        self.sent += values.nbytes
        return values

    def reported(self, count):
        """The first numbers of the board, as the last launch has left them."""
        self.wait()
        values = np.array(self.room.report[:count])
        self.sent += values.nbytes
        return values

    def closed(self):
        """Are all parts closed?"""
        return not self.flags[:, kernel_args.EDGES].any()

    def wait(self):
        """Until all that was launched is done."""
        device.need_cuda().synchronize()

    # --- the view ----------------------------------------------------------------------------------------------------------------

    def outline(self, turn):
        """(a point near the vertices, boxes (m, 2, 3) around the parts, turned about it, what `add_layers` counts of some faces)."""
        room, parts = self.room, len(self.parts)
        room.numbers[:9] = np.reshape(turn, 9)
        outline(*self.parts[0], *self.parts[-1], parts, step_for(self.n), room.numbers, self.vertices, self.faces, room.board, room.boxes,
                room.layers, room.report)
        noted = self.reported(kernel_args.BOARD)
        self.flags = noted[kernel_args.COUNTERS:kernel_args.BOXES].reshape(2, kernel_args.FLAGS)[:parts]
        if self.flags[:, [kernel_args.BAD_VERTICES, kernel_args.BAD_FACES]].any():
            self.refuse()
        sides = noted[kernel_args.BOXES:kernel_args.LAYERS].view(np.float64).reshape(2, 2, 2, 3)[:, :parts] * np.array([1.0, -1.0])[:, None]
        return sides[0, 0, 0], sides[1], noted[kernel_args.LAYERS:].view(np.float32)

    def look_through(self, view, fragments):
        """Passes are to use this view; about so many fragments are to be expected there."""
        room, numbers = self.room, self.room.numbers
        self.view, self.strip = view, strip_for(math.sqrt(fragments / max(self.n, 1)))
        numbers[slots.SLACK], numbers[slots.SLACK_Z], numbers[slots.VIEW:] = view.slack, view.slack_z, view.frame
        room.fragments, room.entries = max(room.fragments, int(1.5 * fragments)), max(room.entries, 2 * self.n)

    # --- passes ------------------------------------------------------------------------------------------------------------------

    def sample(self):
        self.way = {slots.SAMPLED: 0}
        if self.clocked:
            self.launch(slots.SAMPLE, slots.MERGE)

    def peel(self, closed, passes, ends, mark):
        self.way = {slots.SAMPLED: 1, slots.CLOSED: closed, slots.PASSES: -1 if passes is None else passes, slots.ENDS: ends,
                    slots.MARK: mark}
        if self.clocked:
            self.launch(slots.SAMPLE, slots.MERGE)

    def merge(self, margin):
        self.margin = margin
        if self.clocked:
            self.launch(slots.MERGE, slots.SEPARATE)

    def separate(self):
        if self.clocked:
            self.launch(slots.SEPARATE, slots.PACK)

    def pack(self):
        if self.clocked:
            self.launch(slots.PACK, slots.TEST)

    def launch(self, begin, end, adjacent=False):
        """Launch some passes."""
        room, view, n, n_vertices, rays = self.room, self.view, self.n, self.n_vertices, self.view.size**2
        cells, (_, sides, texels) = strips(view.size, self.strip) * view.size, levels(view.size)
        desk, sampled = room.desk, self.way[slots.SAMPLED]
        desk[:slots.SAMPLED] = [begin, end, n, n_vertices, self.first_b, self.itself, adjacent, not self.flags[:, kernel_args.BEYOND].any(),
                                  view.size, len(sides), self.margin, self.strip, cells]
        desk[slots.FRAGMENTS:slots.LONGS] = [room.fragments, room.entries, room.most, room.few]
        for slot, value in self.way.items():
            desk[slot] = value
        self.arrays = None                                              # what is too small goes before there is more
        self.arrays = room.lay_out({
            slots.COUNTS: rays, **dict.fromkeys((slots.FRONTS, slots.BACKS, slots.NEXT_FRONTS, slots.NEXT_BACKS), rays * sampled),
            slots.LISTED: room.fragments * (1 - sampled), slots.TEXELS: texels, slots.LEVEL_BEGINS: MOST_LEVELS,
            slots.LEVEL_SIDES: MOST_LEVELS, slots.SPARSE: n, slots.STRIP_BEGINS: cells + 1, slots.ORDER: room.entries,
            slots.CANDIDATES: room.most, slots.KEYS: room.most, slots.UNDECIDED: room.few, slots.AROUND_BEGINS: n_vertices + 1,
            slots.SUMS: cooperative_cuda.most_blocks(),
            slots.BEGINS: rays + 1, slots.LARGE: n, slots.LEFT: n, slots.STRIP_COUNTS: cells, slots.VALENCES: n_vertices,
            slots.AROUND: 3 * n, slots.OWNERS: 3 * n,
            slots.SCREEN: STRIDE * n_vertices, slots.BOXES: SIDES * n, slots.LINED: SIDES * room.entries,
            slots.ON: rays, slots.MET: n})
        longs, ints, singles, octets = self.arrays
        passes(desk, room.numbers, room.held, room.view, longs, ints, self.faces, room.rows(self.faces), singles, octets, self.vertices,
               room.board, room.report, room.out)

    def meet(self, first, adjacent):
        """(keys of faces apart in the mesh, of neighbours, boxes compared, pairs tested, how many exactly, faces in candidates)."""
        self.launch(slots.TEST if self.clocked else slots.SAMPLE, slots.ALL, adjacent)
        noted = self.reported(kernel_args.COUNTERS)
        while not self.suffices(noted):
            self.launch(slots.SAMPLE, slots.ALL, adjacent)
            noted = self.reported(kernel_args.COUNTERS)
        self.noted, count, open_count = noted, int(noted[kernel_args.FOUND]), int(noted[kernel_args.UNDECIDED])
        found, self.apart = self.keys(count), int(noted[kernel_args.APART]) if adjacent else count
        more, strangers = self.settled(open_count)
        return (np.concatenate([found[:self.apart], more[strangers]]), np.concatenate([found[self.apart:], more[~strangers]]),
                noted[kernel_args.LOOKS], noted[kernel_args.CANDIDATES] + noted[kernel_args.PAIRS], open_count, noted[kernel_args.MET])

    def suffices(self, noted):
        """Was there room for everything? If not there is from now on."""
        room, good = self.room, True
        listed = 0 if self.way[slots.SAMPLED] else noted[kernel_args.TOTAL]
        for name, wanted in (("fragments", listed), ("entries", noted[kernel_args.ENTRIES]),
                             ("most", max(noted[kernel_args.CANDIDATES], noted[kernel_args.FOUND])), ("few", noted[kernel_args.UNDECIDED])):
            if wanted > getattr(room, name):
                setattr(room, name, int(wanted + wanted // 4))
                good = False
        return good

    def sampled(self):
        """(the most faces on one ray, passes, fragments, rays that are on, faces left)."""
        return tuple(int(self.noted[k]) for k in (kernel_args.DEEPEST, kernel_args.PASSES, kernel_args.TOTAL, kernel_args.RAYS, kernel_args.LEFT))

    # --- the answer --------------------------------------------------------------------------------------------------------------

    def keys(self, count):
        """The keys found; the first of them have come already."""
        room = self.room
        if count <= len(room.out):
            self.sent += 8 * count
            return np.array(room.out[:count])
        at = int(room.desk[slots.KEYS])
        return self.host(self.arrays[0][at:at + count], count)

    def settled(self, count):
        """(those of the undecided pairs that meet, each once, which of them share no vertex): the host decides, by their corners."""
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.bool_)
        at = int(self.room.desk[slots.UNDECIDED])
        names, corners = self.gathered(self.arrays[0], at, count)
        meet = settle(names, corners)
        keys, places = np.unique(self.host(self.arrays[0][at:at + count], count)[meet], return_index=True)
        names = names[meet][places]
        return keys, (names[:, :3, None] != names[:, None, 3:]).all(axis=(1, 2))

    def gathered(self, keys, at, count):
        """names (m, 6) and corners (m, 18) of the faces of so many keys from keys[at] on, on the host."""
        names, corners = self.room.of("names", 6 * count, np.int32), self.room.of("corners", 18 * count, np.float64)
        gather[device.grid(count)](self.faces, self.vertices, keys, at, count, names, corners)
        return self.host(names, 6 * count).reshape(-1, 6), self.host(corners, 18 * count).reshape(-1, 18)

    def unseen(self, keys):
        """About how many pairs were missed; `keys` as `meet` gave them, those that are still on the GPU first."""
        if not len(keys):
            return 0.0
        view, desk, tally = self.view, self.room.desk, device.need_cuda().to_device(np.zeros(ENOUGH + 1, np.int64))
        (longs, _, singles, octets), rest = self.arrays, keys[self.apart:]
        for there, at, count in ((longs, int(desk[slots.KEYS]), self.apart), (device.need_cuda().to_device(rest), 0, len(rest))):
            if count:
                tally_rays[device.grid(count)](singles, int(desk[slots.SCREEN]), self.faces, there, at, count, view.slack, view.slack_z,
                                               view.size, self.margin, octets, int(desk[slots.ON]), tally)
        dropped = int(self.noted[kernel_args.DROPPED])
        return unseen(self.host(tally, ENOUGH + 1), int(self.noted[kernel_args.TOTAL]) - dropped, dropped)
