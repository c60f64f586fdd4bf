"""Axes along which points are spread: the eigenvectors of their covariance, by Jacobi's rotations; and frames from triangles.

A frame is nine float32, three rows of unit vectors perpendicular to each other but for rounding, longest spread first. Points are named by
order[begin : end] in flat float32 rows x y z ·.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.stack import stack_float32, stack_float64, stack_int64

SWEEPS = 6                                                              # of three rotations: errors square with every one
MIN_LENGTH, MAX_TANGENT = 1e-300, 1e150


@routine
def spread_axes(points, order, begin, end, frame):
    """Set the frame to the axes of the covariance of the points."""
    a = stack_float64(9)
    for k in range(9):
        frame[k] = np.float32(1 if k % 4 == 0 else 0)
    covariance(points, order, begin, end, a)
    principal_axes(a, frame)


@helper
def covariance(points, order, begin, end, a):
    """Set the matrix (9,) to the sums of products about the mean of the points, which are as many times their covariance; the mean. Float64
    throughout, with the JIT off too: squares of float32 may be beyond float32."""
    n, x, y, z = end - begin, np.float64(0), np.float64(0), np.float64(0)
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        x, y, z = x + points[v], y + points[v + 1], z + points[v + 2]
    x, y, z = x / n, y / n, z / n
    for k in range(9):
        a[k] = 0.0
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x, points[v + 1] - y, points[v + 2] - z
        a[0], a[1], a[2] = a[0] + p * p, a[1] + p * q, a[2] + p * r
        a[4], a[5], a[8] = a[4] + q * q, a[5] + q * r, a[8] + r * r
    a[3], a[6], a[7] = a[1], a[2], a[5]
    return x, y, z


@helper
def principal_axes(a, frame):
    """Set the frame to the eigenvectors of a symmetric matrix (9,), which is lost."""
    v = stack_float64(9)
    for k in range(9):
        v[k] = 1.0 if k % 4 == 0 else 0.0
    for _ in range(SWEEPS):
        rotate(a, v, 0, 1)
        rotate(a, v, 0, 2)
        rotate(a, v, 1, 2)
    first = 0 if a[0] >= a[4] and a[0] >= a[8] else 1 if a[4] >= a[8] else 2
    second, third = (first + 1) % 3, (first + 2) % 3
    if a[4 * second] < a[4 * third]:
        second = third
    put_frame(frame, v[first], v[3 + first], v[6 + first], v[second], v[3 + second], v[6 + second])


@helper
def rotate(a, v, p, q):
    """Turn a and v in the plane of p and q so that a[p, q] becomes 0."""
    off_diagonal = a[3 * p + q]
    if not abs(off_diagonal) > MIN_LENGTH:
        return
    theta = (a[4 * q] - a[4 * p]) / (2 * off_diagonal)
    t = (1.0 if theta >= 0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0)) if abs(theta) < MAX_TANGENT else 0.5 / theta
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    for k in range(3):
        x, y = a[3 * k + p], a[3 * k + q]
        a[3 * k + p], a[3 * k + q] = c * x - s * y, s * x + c * y
    for k in range(3):
        x, y = a[3 * p + k], a[3 * q + k]
        a[3 * p + k], a[3 * q + k] = c * x - s * y, s * x + c * y
    for k in range(3):
        x, y = v[3 * k + p], v[3 * k + q]
        v[3 * k + p], v[3 * k + q] = c * x - s * y, s * x + c * y


@helper
def put_frame(frame, ux, uy, uz, vx, vy, vz):
    """Set the frame to one along u, and along what of v is perpendicular to it; is there one? If not, it stays as it is."""
    length = np.sqrt(ux * ux + uy * uy + uz * uz)
    if not length > MIN_LENGTH:
        return False
    ux, uy, uz = ux / length, uy / length, uz / length
    component = ux * vx + uy * vy + uz * vz
    size = np.sqrt(vx * vx + vy * vy + vz * vz)
    vx, vy, vz = vx - component * ux, vy - component * uy, vz - component * uz
    length = np.sqrt(vx * vx + vy * vy + vz * vz)
    if not length > 1e-6 * size:
        return False
    vx, vy, vz = vx / length, vy / length, vz / length
    frame[0], frame[1], frame[2], frame[3], frame[4], frame[5] = (np.float32(ux), np.float32(uy), np.float32(uz), np.float32(vx),
                                                                  np.float32(vy), np.float32(vz))
    frame[6], frame[7], frame[8] = np.float32(uy * vz - uz * vy), np.float32(uz * vx - ux * vz), np.float32(ux * vy - uy * vx)
    return True


# --- along triangles -----------------------------------------------------------------------------------------------------------------

@routine
def triangle_axes(points, indices, n, frame):
    """Set the frame to the one with the smallest box around n points, names[:n], of those along the sides of seven triangles: a large one,
    and the six between its sides and the points farthest from it on either side (Larsson and Källberg 2011). Is there any?"""
    corners, best, candidate, largest = stack_int64(5), np.inf, stack_float32(9), -1.0
    for i in range(0, n, 2):                                            # pairs that are extreme along some direction
        square = squared_distance(points, indices[i], indices[i + 1])
        if square > largest:
            corners[0], corners[1], largest = indices[i], indices[i + 1], square
    nx, ny, nz, largest = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        x, y, z = triangle_normal(points, corners[0], corners[1], indices[i])
        if x * x + y * y + z * z > largest:
            corners[2], nx, ny, nz, largest = indices[i], x, y, z, x * x + y * y + z * z
    if not largest > MIN_LENGTH:
        return False
    low, high, o = np.inf, -np.inf, 4 * corners[0]
    for i in range(n):
        p = 4 * indices[i]
        d = nx * (points[p] - points[o]) + ny * (points[p + 1] - points[o + 1]) + nz * (points[p + 2] - points[o + 2])
        if d < low:
            low, corners[3] = d, indices[i]
        if d > high:
            high, corners[4] = d, indices[i]
    for side in range(3):
        p, q = corners[side], corners[(side + 1) % 3]
        for third in range(2, 5):
            x, y, z = triangle_normal(points, p, q, corners[(side + 2) % 3] if third == 2 else corners[third])
            for rotation in range(1 if third == 2 else 3):              # the sides of the large one come one by one
                a, b = (p, q) if rotation == 0 else (q, corners[third]) if rotation == 1 else (corners[third], p)
                ux, uy, uz = (np.float64(points[4 * b]) - points[4 * a], np.float64(points[4 * b + 1]) - points[4 * a + 1],
                              np.float64(points[4 * b + 2]) - points[4 * a + 2])
                if put_frame(candidate, ux, uy, uz, y * uz - z * uy, z * ux - x * uz, x * uy - y * ux):
                    area = half_area(points, indices, n, candidate)
                    if area < best:
                        best = area
                        for k in range(9):
                            frame[k] = candidate[k]
    return best < np.inf


@helper
def squared_distance(points, i, j):
    """The squared distance of two points."""
    x, y, z = points[4 * j] - points[4 * i], points[4 * j + 1] - points[4 * i + 1], points[4 * j + 2] - points[4 * i + 2]
    return np.float64(x) * x + np.float64(y) * y + np.float64(z) * z


@helper
def triangle_normal(points, i, j, k):
    """A normal of the triangle of three points, as long as twice its area."""
    p, q, r = 4 * i, 4 * j, 4 * k
    x, y, z = np.float64(points[q]) - points[p], np.float64(points[q + 1]) - points[p + 1], np.float64(points[q + 2]) - points[p + 2]
    u, v, w = np.float64(points[r]) - points[p], np.float64(points[r + 1]) - points[p + 1], np.float64(points[r + 2]) - points[p + 2]
    return y * w - z * v, z * u - x * w, x * v - y * u


@helper
def half_area(points, indices, n, frame):
    """Half the surface of the box around points along the axes of a frame."""
    o = 4 * indices[0]
    low_u = low_v = low_w = high_u = high_v = high_w = 0.0
    for i in range(n):
        p = 4 * indices[i]
        x, y, z = np.float64(points[p] - points[o]), np.float64(points[p + 1] - points[o + 1]), np.float64(points[p + 2] - points[o + 2])
        u, v, w = (frame[0] * x + frame[1] * y + frame[2] * z, frame[3] * x + frame[4] * y + frame[5] * z,
                   frame[6] * x + frame[7] * y + frame[8] * z)
        low_u, high_u, low_v, high_v, low_w, high_w = (min(low_u, u), max(high_u, u), min(low_v, v), max(high_v, v), min(low_w, w),
                                                       max(high_w, w))
    a, b, c = high_u - low_u, high_v - low_v, high_w - low_w
    return a * b + b * c + c * a
