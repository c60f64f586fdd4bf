"""Cloth that falls on a moving body
=================================

A simulation in which nothing ever passes through anything. Each step takes three things from Pliant: the pairs of features that are near,
with weights and normals, for the contact forces; how far the step may go until something touches; and, after each frame, the exact test.

``python examples/15_falling_cloth.py --triangles 20000 --frames 100 --out run`` is the whole simulation, and writes its frames to a folder.
"""
import argparse
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, vstack
from scipy.sparse.linalg import LinearOperator, cg

import pliant as pl
from pliant.shapes import bumpy, icosphere, sheet

parser = argparse.ArgumentParser()
parser.add_argument("--triangles", type=int, default=3_200, help="of the cloth")
parser.add_argument("--frames", type=int, default=60)
parser.add_argument("--out", type=Path, help="a folder for cloth.npz and body.npz")
options = parser.parse_args()

# Metres, kilograms, seconds.
SIDE, DENSITY, GRAVITY = 1.6, 0.2, np.array([0, 0, -9.81])
STRETCH, BENDING, FRICTION, DRAG = 80.0, 2e-5, 0.6, 1.0
FRAME, MAX_STEP = 0.02, 0.005

# ---- the two bodies --------------------------------------------------------------------------------------------------------

cells = max(2, round(np.sqrt(options.triangles / 2)))
edge_length = SIDE / cells
rest, faces = sheet(cells, cells)
rest = SIDE * (rest - [0.5, 0.5, 0])
cloth = pl.Body(rest + [0.05, 0.02, 0.34], faces)

directions, body_faces = icosphere(4)                                   # 5,120 triangles


def pose(t):
    """The vertices of the body at a time: a bumpy blob that bends, and turns about the vertical."""
    x, y, z = (bumpy(directions, 0.6 * t, 0.22, pitch=0.5) * [0.6, 0.25, 0.25]).T
    bend, turn = 1.3 * np.sin(2.2 * t) + 1e-3, 0.9 * (1 - np.cos(2.0 * t))
    radius = 1 / bend - z
    x, z = radius * np.sin(bend * x), 1 / bend - radius * np.cos(bend * x)
    return np.column_stack([np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y, z])


body = pl.Body(pose(0.0), body_faces)

# ---- the elastic sheet: rows of differences of vertices, each with a stiffness ----------------------------------------------


def rows_of(vertices, weights, n_vertices):
    """A sparse matrix with one row of weights for each row of vertices."""
    n, k = vertices.shape
    return csr_matrix((weights.ravel(), (np.repeat(np.arange(n), k), vertices.ravel())), shape=(n, n_vertices))


n_vertices, edges = len(rest), cloth.edges
springs = rows_of(edges, np.tile([-1.0, 1.0], (len(edges), 1)), n_vertices)
rest_lengths = np.linalg.norm(springs @ rest, axis=1)
inside = (np.abs(rest[:, :2]) < 0.5 * SIDE - 0.5 * edge_length).all(axis=1)
bends = (springs.T @ springs)[inside]                                   # the Laplacian: how far a vertex is from its neighbours
bend_stiffness = np.tile(BENDING / (4 * edge_length ** 2) * np.eye(3), (bends.shape[0], 1, 1))
mass = DENSITY * SIDE ** 2 / n_vertices


def along_and_across(directions, along, across):
    """Stiffness (m, 3, 3) along unit directions, and across them."""
    outer = directions[:, :, None] * directions[:, None, :]
    return along[:, None, None] * outer + across[:, None, None] * (np.eye(3) - outer)


# ---- contacts -----------------------------------------------------------------------------------------------------------------

THICKNESS = 0.25 * edge_length                                          # contacts push features apart that are nearer
RADIUS = 0.6 * edge_length                                              # neighbours along the flat cloth are not so near


class Contacts:
    """What the solver takes of the features that are near: gap = normals · (rows @ cloth + what the body adds)."""

    def __init__(self, to_body, to_cloth, body_motion):
        of_cloth = np.arange(4) < np.array([1, 3, 2])[to_body.kinds][:, None]   # the vertices of the first feature
        vertices, weights = to_body.vertices, to_body.weights
        self.rows = vstack([rows_of(np.where(of_cloth, vertices, 0), np.where(of_cloth, weights, 0.0), n_vertices),
                            rows_of(to_cloth.vertices, to_cloth.weights, n_vertices)], format="csr")
        of_body = np.einsum("rk,rkx->rx", np.where(of_cloth, 0.0, weights), body_motion[np.where(of_cloth, 0, vertices)])
        self.body_motion = np.concatenate([of_body, np.zeros((len(to_cloth), 3))])
        self.normals = np.concatenate([to_body.normals, to_cloth.normals])
        self.distances = np.concatenate([to_body.distances, to_cloth.distances])
        self.wanted = np.minimum(THICKNESS, self.distances + 0.25 * THICKNESS)  # what is too near parts gently

    def stiffness(self, moves):
        """The contacts that press (k,) when the cloth moves so, and their stiffness (k, 3, 3): along normals, and across by friction."""
        relative = self.rows @ moves + self.body_motion
        normal = np.einsum("rx,rx->r", self.normals, relative)
        force = STRETCH * (self.wanted - self.distances - normal)
        active = np.flatnonzero(force > 0)
        sliding = np.linalg.norm(relative - normal[:, None] * self.normals, axis=1)[active]
        # A force of FRICTION times the one along the normal, against sliding; what slides little sticks.
        friction = FRICTION * force[active] / np.maximum(sliding, FRICTION * force[active] / STRETCH)
        return active, along_and_across(self.normals[active], np.full(len(active), STRETCH), friction)

    def targets(self, active):
        """The relative displacement of cloth that would end at the wanted distance, without sliding."""
        return (self.wanted - self.distances)[active, None] * self.normals[active] - self.body_motion[active]


def solve(position, velocity, contacts, step):
    """The displacements of one implicit step: springs and bends as they are now, contacts that press at its end."""
    vectors = springs @ position
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / lengths[:, None]
    tension = STRETCH * np.maximum(0.0, 1 - rest_lengths / lengths)
    inertia = mass / step ** 2
    free = step * velocity + step ** 2 * GRAVITY
    moves = free
    for _ in range(3):
        active, contact_stiffness = contacts.stiffness(moves)
        rows = vstack([springs, bends, contacts.rows[active]], format="csr")
        stiffness = np.concatenate([along_and_across(units, np.full(len(edges), STRETCH), tension), bend_stiffness, contact_stiffness])
        targets = np.concatenate([(rest_lengths - lengths)[:, None] * units, -(bends @ position), contacts.targets(active)])
        columns = rows.T.tocsr()

        def forces(differences, columns=columns, stiffness=stiffness):
            return columns @ np.einsum("rxy,ry->rx", stiffness, differences)

        def matrix(flat, rows=rows, forces=forces):
            u = flat.reshape(-1, 3)
            return (inertia * u + forces(rows @ u)).ravel()

        diagonal = (inertia + columns.multiply(columns) @ np.einsum("rxx->rx", stiffness)).ravel()
        operator, scaling = (LinearOperator(2 * (len(diagonal),), matvec=f, dtype=float) for f in (matrix, lambda r, d=diagonal: r / d))
        flat, _ = cg(operator, (inertia * free + forces(targets)).ravel(), x0=moves.ravel(), rtol=1e-4, maxiter=100, M=scaling)
        moves = flat.reshape(-1, 3)
    return moves


# ---- frames -------------------------------------------------------------------------------------------------------------------

seconds = Counter()


@contextmanager
def measured(part):
    """Adds the processor time of a block to a part."""
    begin = time.process_time()
    yield
    seconds[part] += time.process_time() - begin


velocity, states, n_steps, shortest, most_near = np.zeros_like(rest), [(cloth.vertices, body.vertices)], 0, 1.0, 0
for frame in range(1, options.frames + 1):
    left, first_step = FRAME, n_steps
    while left > 1e-9:
        step = min(MAX_STEP, left)
        start, body_start, body_end = cloth.vertices, body.vertices, pose(FRAME * frame - left + step)
        with measured("contact features"):
            to_body = pl.within(cloth, body, RADIUS, features=True)
            to_cloth = pl.self_within(cloth, RADIUS, features=True)
        with measured("solver"):
            contacts = Contacts(to_body, to_cloth, body_end - body_start)
            end = start + solve(start, velocity, contacts, step)

        # Cloth and body go as far as nothing touches; what is left of the frame takes further steps.
        with measured("step size"):
            # Nothing may come ten times nearer than the nearest is now: all steps are longer than 0, and a shorter one is as safe.
            least = 0.1 * min(THICKNESS, contacts.distances.min(initial=np.inf))
            part = pl.step_size(cloth, body, end, body_end, min_distance=least, check=False)
            part = min(part, pl.self_step_size(cloth, end, min_distance=least, check=False))
        with measured("update"):
            cloth.update(start + part * (end - start))
            body.update(body_start + part * (body_end - body_start))
        velocity = (1 - DRAG * step) * (end - start) / step
        left -= part * step
        n_steps, shortest, most_near = n_steps + 1, min(shortest, part), max(most_near, len(contacts.distances))
        if n_steps - first_step > 1_000:
            raise RuntimeError(f"frame {frame}: a thousand steps, and {left:.6f} s are left")

    with measured("exact check"):
        crossings = len(pl.collide(cloth, body)) + len(pl.self_collide(cloth)) + len(pl.self_collide(body))
    n_near = len(contacts.distances)
    print(f"frame {frame:3}: {n_steps - first_step:2} steps, {n_near:6} pairs of features, {crossings} intersections", flush=True)
    if crossings:
        raise RuntimeError(f"frame {frame}: {crossings} pairs of faces intersect")
    states.append((cloth.vertices, body.vertices))

print(f"{options.frames} frames of {len(faces)} + {len(body_faces)} triangles in {n_steps} steps, the shortest {shortest:.2g} of its",
      f"length; up to {most_near} pairs of features; milliseconds of processor time a frame:",
      ", ".join(f"{part} {1000 * spent / options.frames:.0f}" for part, spent in seconds.items()))

if options.out:                                                         # `pliant check run/cloth.npz run/body.npz` finds nothing either
    options.out.mkdir(parents=True, exist_ok=True)
    for name, index, triangles in (("cloth", 0, faces), ("body", 1, body_faces)):
        np.savez_compressed(options.out / f"{name}.npz", rate=1 / FRAME, faces=triangles, vertices=[state[index] for state in states])
