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

from pliant.core.atomic import add, lift, lower
from pliant.core.jit import helper
from pliant.core.sort_keys import keyed, name_of, number_of
from pliant.image.cover import (
    FINE,
    MIDDLE,
    corners_of,
    depths,
    extent_of,
    fine,
    in_sight,
    inside,
    pixel_at,
    plane_at,
    side,
    slopes_of,
    span,
)

MOST = 31                                                               # faces of a pixel that are compared; of all pixels below 2**31
COUNTED = 0xFFFFFFFF                                                    # bits of the count of the first part; the second's are above
FACE_BITS, FACE_MASK = 30, (1 << 30) - 1
STEPS, LAST_STEP = np.float32(64), np.float32(65535)                    # of depth, a unit and in all
BEFORE, AFTER = np.int64(-1), np.int64(2**63 - 1)                       # keys before and after all fragments of a ray
ZERO = np.float32(0)


# --- who matters to whom -----------------------------------------------------------------------------------------------------------

@helper
def neighbours(faces, f, g):
    """Do two faces share a vertex?"""
    for i in range(3):
        v = faces[3 * f + i]
        if v == faces[3 * g] or v == faces[3 * g + 1] or v == faces[3 * g + 2]:
            return True
    return False


@helper
def matters(faces, f, g, first_b, itself):
    """Is it asked whether faces f and g meet? Of two parts, faces of the second from `first_b` on, one of each; of a part with itself,
    those that share no vertex."""
    if itself:
        return not neighbours(faces, f, g)
    return (f < first_b) != (g < first_b)


# --- conservative ------------------------------------------------------------------------------------------------------------------

@helper
def count_face(screen, faces, f, first_b, slack, slack_z, size, low, high, counts):
    """Count face f in every pixel that it touches, in rows low … high: faces of the first part in the lower 32 bits, others above."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, slack, slack_z)
    if inside(box, size):
        one = np.int64(1) if f < first_b else np.int64(1) << 32
        for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
            left, right = span(t, box, y, size)
            for x in range(left, right + 1):
                add(counts, y * size + x, one)


@helper
def wanted(count, itself):
    """How many faces are in a pixel with this count, if any two of them can matter to each other; else 0."""
    a, b = count & COUNTED, count >> 32
    return a + b if (itself and a > 1) or (a > 0 and b > 0) else np.int64(0)


@helper
def fragment(near, far, f):
    """A face and its depths, rounded outward to STEPS a unit, in one number: near in 16 bits, far in 16, the face in FACE_BITS."""
    first = np.int64(min(max(near * STEPS, ZERO), LAST_STEP))
    last = np.int64(min(max(far * STEPS, ZERO) + 1, LAST_STEP))
    return (first << (FACE_BITS + 16)) | (last << FACE_BITS) | f


@helper
def overlap(p, q):
    """Do two fragments overlap in depth?"""
    return (p >> (FACE_BITS + 16) <= (q >> FACE_BITS) & 0xFFFF) & (q >> (FACE_BITS + 16) <= (p >> FACE_BITS) & 0xFFFF)


@helper
def list_face(screen, faces, f, first_b, slack, slack_z, size, low, high, begins, counts, listed):
    """Put the fragments of face f into the lists of its pixels, those of the first part from the front, of the second from the back;
    `counts` say how many of each are still to come."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, slack, slack_z)
    if inside(box, size):
        slopes = slopes_of(t, box)
        one = np.int64(1) if f < first_b else np.int64(1) << 32
        for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
            left, right = span(t, box, y, size)
            for x in range(left, right + 1):
                p = y * size + x
                if begins[p + 1] > begins[p]:
                    old = add(counts, p, -one)
                    near, far = depths(slopes, box, x, y)
                    listed[begins[p] + (old & COUNTED) - 1 if f < first_b else begins[p + 1] - (old >> 32)] = fragment(near, far, f)


@helper
def collides(faces, first_b, itself, begin, end, listed):
    """Do two of the fragments listed from begin to end, whose faces matter to each other, overlap in depth?"""
    if itself:
        for i in range(begin, end - 1):
            one = listed[i]
            for j in range(i + 1, end):
                if overlap(one, listed[j]) and not neighbours(faces, one & FACE_MASK, listed[j] & FACE_MASK):
                    return True
        return False
    second = end
    while listed[second - 1] & FACE_MASK >= first_b:
        second -= 1
    for i in range(begin, second):
        one = listed[i]
        for j in range(second, end):
            if overlap(one, listed[j]):
                return True
    return False


# --- sampled -----------------------------------------------------------------------------------------------------------------------

@helper
def peel_face(screen, faces, f, slack, slack_z, size, low, high, counting, counts, fronts, backs, next_fronts, next_backs):
    """Let the fragments of face f, in rows low … high, compete for the ends of what is still between `fronts` and `backs`; or count them.

    A key is the depth, then the face, then whether it is a front: seen from where rays begin, corners of a front turn right."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, slack, slack_z)
    if not in_sight(box, size):
        return
    ax, ay, bx, by, cx, cy = fine(t.ax), fine(t.ay), fine(t.bx), fine(t.by), fine(t.cx), fine(t.cy)
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area == 0:
        return
    turn = 1 if area > 0 else -1
    slopes = slopes_of(t, box)
    name = 2 * np.int64(f) + (1 if turn < 0 else 0)
    for y in range(max(pixel_at(box.low, size), low), min(pixel_at(box.high, size) + 1, high)):
        py = FINE * y + MIDDLE
        for x in range(pixel_at(box.left, size), pixel_at(box.right, size) + 1):
            px = FINE * x + MIDDLE
            if side(ax, ay, bx, by, px, py) == turn and side(bx, by, cx, cy, px, py) == turn and side(cx, cy, ax, ay, px, py) == turn:
                p = y * size + x
                if counting:
                    add(counts, p, np.int64(1))
                else:
                    key = keyed(max(min(max(plane_at(slopes, x, y), box.near), box.far), ZERO), name)
                    if fronts[p] < key < backs[p]:
                        lower(next_fronts, p, key)
                        lift(next_backs, p, key)


@helper
def starts_on(count, closed):
    """Does the number of its fragments alone put a ray on?"""
    return closed and count & 1 == 1


@helper
def judge(screen, faces, first_b, itself, slack, slack_z, p, done, ends, closed, counts, fronts, backs, next_fronts, next_backs):
    """After a pass, `done` of them before it, from one end or two: is ray p on? The ends that were found become the ends."""
    left, f, b = counts[p] - ends * done, next_fronts[p], next_backs[p]
    if left <= 0:
        return False
    two = ends == 2 and left > 1
    if closed:
        is_on = (name_of(f) & 1 == done & 1) or (two and name_of(b) & 1 != done & 1)
    else:
        is_on = (near_by(screen, faces, first_b, itself, slack, slack_z, fronts[p], f)
                 or (ends == 2 and near_by(screen, faces, first_b, itself, slack, slack_z, b, backs[p]))
                 or (two and left == 2 and near_by(screen, faces, first_b, itself, slack, slack_z, f, b)))
    fronts[p] = AFTER if is_on else f                                   # nothing comes after: the ray is done
    if ends == 2:
        backs[p] = b
    next_fronts[p], next_backs[p] = AFTER, BEFORE
    return is_on


@helper
def near_by(screen, faces, first_b, itself, slack, slack_z, p, q):
    """May the faces of two keys in a row meet within the pixel?"""
    if p == BEFORE or q == AFTER:
        return False
    f, g = name_of(p) >> 1, name_of(q) >> 1
    return (matters(faces, f, g, first_b, itself)
            and number_of(q) - number_of(p) <= rise(screen, faces, f, slack, slack_z) + rise(screen, faces, g, slack, slack_z))


@helper
def rise(screen, faces, f, slack, slack_z):
    """How far from the depth in its middle a face may be anywhere in a pixel."""
    t = corners_of(screen, faces, f)
    box = extent_of(t, slack, slack_z)
    return min(slopes_of(t, box).reach, box.far - box.near)
