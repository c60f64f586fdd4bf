"""Pass 1, object sampling (paper G, section 4): on which rays may something collide?

CONSERVATIVE. A ray is a whole pixel. Every face is listed in all pixels it touches, with the interval of depths it has there (`cover.py`);
a pixel is on if two faces in it that matter to each other overlap in depth. A common point of two faces lies in some pixel, at a depth in
both intervals: nothing can be missed. In so fat a ray fronts and backs need not take turns, so facings say nothing. Lists longer than MOST
are not looked at: the pixel is on.

SAMPLED, the paper's way. A ray goes through the middle of a pixel. Its fragments are peeled off in order of depth, from both ends, one at
each end in every pass; equal depths go by the number of the face, lest one be lost. Of closed surfaces that do not meet, fronts and backs
take turns, beginning with a front: the ray is on where they do not. From both ends this needs no look at the middle pair, as long as an odd
number of fragments, which no closed surface has, puts the ray on. Of open surfaces the ray is on where two fragments in a row are nearer to
each other than both surfaces may rise or fall within the pixel; there the middle pair does matter. What is left after a number of passes is
dropped, or puts the ray on.
"""
import numpy as np

from pliant.core.atomic import atomic_add, atomic_max, atomic_min
from pliant.core.jit import helper
from pliant.core.sort_keys import key_index, key_value, pack_key
from pliant.image.cover import (
    HALF_PIXEL,
    SUBPIXELS,
    corners_of,
    depth_interval,
    edge_side,
    extent_of,
    fixed_point,
    in_window,
    in_window_xy,
    pixel_at,
    plane_at,
    row_span,
    slopes_of,
)

MAX_LISTED = 31                                                         # faces of a pixel that are compared; of all pixels below 2**31
COUNT_MASK = 0xFFFFFFFF                                                 # bits of the count of the first part; the second's are above
FACE_BITS, FACE_MASK = 30, (1 << 30) - 1
DEPTH_STEPS, MAX_DEPTH_STEP = np.float32(64), np.float32(65535)         # of depth, a unit and in all
MIN_KEY, MAX_KEY = np.int64(-1), np.int64(2**63 - 1)                    # keys before and after all fragments of a ray
ZERO = np.float32(0)


# --- who matters to whom -----------------------------------------------------------------------------------------------------------

@helper
def share_vertex(faces, f, g):
    """Do two faces share a vertex?"""
    for i in range(3):
        v = faces[3 * f + i]
        if v == faces[3 * g] or v == faces[3 * g + 1] or v == faces[3 * g + 2]:
            return True
    return False


@helper
def is_tested(faces, f, g, first_b, is_self):
    """Is it asked whether faces f and g meet? Of two parts, faces of the second from `first_b` on, one of each; of a part with itself,
    those that share no vertex."""
    if is_self:
        return not share_vertex(faces, f, g)
    return (f < first_b) != (g < first_b)


# --- conservative ------------------------------------------------------------------------------------------------------------------

@helper
def count_face(screen, faces, f, first_b, error_xy, error_z, size, low, high, counts):
    """Count face f in every pixel that it touches, in rows low … high: faces of the first part in the lower 32 bits, others above."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, error_xy, error_z)
    if in_window(box, size):
        one = np.int64(1) if f < first_b else np.int64(1) << 32
        for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
            left, right = row_span(t, box, y, size)
            for x in range(left, right + 1):
                atomic_add(counts, y * size + x, one)


@helper
def listed_count(count, is_self):
    """How many faces are in a pixel with this count, if any two of them can matter to each other; else 0."""
    a, b = count & COUNT_MASK, count >> 32
    return a + b if (is_self and a > 1) or (a > 0 and b > 0) else np.int64(0)


@helper
def pack_fragment(near, far, f):
    """A face and its depths, rounded outward to STEPS a unit, in one number: near in 16 bits, far in 16, the face in FACE_BITS."""
    near_step = np.int64(min(max(near * DEPTH_STEPS, ZERO), MAX_DEPTH_STEP))
    far_step = np.int64(min(max(far * DEPTH_STEPS, ZERO) + 1, MAX_DEPTH_STEP))
    return (near_step << (FACE_BITS + 16)) | (far_step << FACE_BITS) | f


@helper
def depths_overlap(p, q):
    """Do two fragments overlap in depth?"""
    return (p >> (FACE_BITS + 16) <= (q >> FACE_BITS) & 0xFFFF) & (q >> (FACE_BITS + 16) <= (p >> FACE_BITS) & 0xFFFF)


@helper
def list_face(screen, faces, f, first_b, error_xy, error_z, size, low, high, begins, counts, fragments):
    """Put the fragments of face f into the lists of its pixels, those of the first part from the front, of the second from the back;
    `counts` say how many of each are still to come."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, error_xy, error_z)
    if in_window(box, size):
        slopes = slopes_of(t, box)
        one = np.int64(1) if f < first_b else np.int64(1) << 32
        for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
            left, right = row_span(t, box, y, size)
            for x in range(left, right + 1):
                p = y * size + x
                if begins[p + 1] > begins[p]:
                    old = atomic_add(counts, p, -one)
                    near, far = depth_interval(slopes, box, x, y)
                    fragments[begins[p] + (old & COUNT_MASK) - 1 if f < first_b else begins[p + 1] - (old >> 32)] = pack_fragment(
                        near, far, f)


@helper
def any_overlap(faces, first_b, is_self, begin, end, fragments):
    """Do two of the fragments listed from begin to end, whose faces matter to each other, overlap in depth?"""
    if is_self:
        for i in range(begin, end - 1):
            fragment = fragments[i]
            for j in range(i + 1, end):
                if depths_overlap(fragment, fragments[j]) and not share_vertex(faces, fragment & FACE_MASK, fragments[j] & FACE_MASK):
                    return True
        return False
    second = end
    while fragments[second - 1] & FACE_MASK >= first_b:
        second -= 1
    for i in range(begin, second):
        fragment = fragments[i]
        for j in range(second, end):
            if depths_overlap(fragment, fragments[j]):
                return True
    return False


# --- sampled -----------------------------------------------------------------------------------------------------------------------

@helper
def peel_face(screen, faces, f, error_xy, error_z, size, low, high, counting, counts, fronts, backs, next_fronts, next_backs):
    """Let the fragments of face f, in rows low … high, compete for the ends of what is still between `fronts` and `backs`; or count them.

    A key is the depth, then the face, then whether it is a front: seen from where rays begin, corners of a front turn right."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, error_xy, error_z)
    if not in_window_xy(box, size):
        return
    ax, ay, bx = fixed_point(t.ax), fixed_point(t.ay), fixed_point(t.bx)
    by, cx, cy = fixed_point(t.by), fixed_point(t.cx), fixed_point(t.cy)
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area == 0:
        return
    orientation = 1 if area > 0 else -1
    slopes = slopes_of(t, box)
    face_id = 2 * np.int64(f) + (1 if orientation < 0 else 0)
    for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
        py = SUBPIXELS * y + HALF_PIXEL
        for x in range(pixel_at(box.left, size), pixel_at(box.right, size) + 1):
            px = SUBPIXELS * x + HALF_PIXEL
            if edge_side(ax, ay, bx, by, px, py) == orientation and edge_side(bx, by, cx, cy, px, py) == orientation and edge_side(
                cx, cy, ax, ay, px, py) == orientation:
                p = y * size + x
                if counting:
                    atomic_add(counts, p, np.int64(1))
                else:
                    key = pack_key(max(min(max(plane_at(slopes, x, y), box.near), box.far), ZERO), face_id)
                    if fronts[p] < key < backs[p]:
                        atomic_min(next_fronts, p, key)
                        atomic_max(next_backs, p, key)


@helper
def odd_count(count, closed):
    """Does the number of its fragments alone put a ray on?"""
    return closed and count & 1 == 1


@helper
def update_ray(screen, faces, first_b, is_self, error_xy, error_z, p, passes_done, ends, closed, counts, fronts, backs, next_fronts,
               next_backs):
    """After a pass, `done` of them before it, from one end or two: is ray p on? The ends that were found become the ends."""
    remaining, f, b = counts[p] - ends * passes_done, next_fronts[p], next_backs[p]
    if remaining <= 0:
        return False
    two = ends == 2 and remaining > 1
    if closed:
        is_on = (key_index(f) & 1 == passes_done & 1) or (two and key_index(b) & 1 != passes_done & 1)
    else:
        is_on = (may_touch(screen, faces, first_b, is_self, error_xy, error_z, fronts[p], f)
                 or (ends == 2 and may_touch(screen, faces, first_b, is_self, error_xy, error_z, b, backs[p]))
                 or (two and remaining == 2 and may_touch(screen, faces, first_b, is_self, error_xy, error_z, f, b)))
    fronts[p] = MAX_KEY if is_on else f                                 # nothing comes after: the ray is done
    if ends == 2:
        backs[p] = b
    next_fronts[p], next_backs[p] = MAX_KEY, MIN_KEY
    return is_on


@helper
def may_touch(screen, faces, first_b, is_self, error_xy, error_z, p, q):
    """May the faces of two keys in a row meet within the pixel?"""
    if p == MIN_KEY or q == MAX_KEY:
        return False
    f, g = key_index(p) >> 1, key_index(q) >> 1
    return (is_tested(faces, f, g, first_b, is_self)
            and key_value(q) - key_value(p) <= depth_variation(screen, faces, f, error_xy, error_z)
            + depth_variation(screen, faces, g, error_xy, error_z))


@helper
def depth_variation(screen, faces, f, error_xy, error_z):
    """How far from the depth in its middle a face may be anywhere in a pixel."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, error_xy, error_z)
    return min(slopes_of(t, box).reach, box.far - box.near)
