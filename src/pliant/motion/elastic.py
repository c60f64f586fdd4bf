"""A small elastic solver on simulation nodes: what moves a blended body in demonstrations and benchmarks.

Corotational elasticity on the neighbourhoods of the nodes (`motion/meshless.py`). Node i, of volume V_i, has the energy

    E_i = ½ Y V_i ( |F_i − R_i|² + 1/λ_i Σ_j ω_ij |x_j − x_i − F_i (X_j − X_i)|² )

with Young's modulus Y, the gradient F_i by moving least squares, its rotation R_i (`motion/polar.py`) and λ_i the mean moment. The first
part is that of a linear material with Poisson's ratio 0, turned along: stretching by ε takes the stress Y ε, and nothing gets thinner.
The second is what the gradient does not see, so that no motion but a rigid one is free of energy. Where moments are the same along all
axes, both together are Y V / 2 λ Σ_j ω_ij |x_j − x_i − R_i (X_j − X_i)|². Where nodes lie in a plane or on a line, F_i and R_i count in the
directions that they span.

A step is implicit Euler: the x that minimises Σ_i m_i |x_i − y_i|² / 2 dt² + Σ_i E_i, with y where nodes would fly. Local and global in
turn: rotations for the x there is, then x for these rotations, from a matrix that only dt changes and that is factored once. Neither
raises the sum, whatever dt: large steps are damped, never unstable.

Invariants: a refused argument, and a step that fails, leave the state as it was; nodes that are not held keep their momentum to rounding.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from pliant.core import validate, validate_rig
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError
from pliant.motion.meshless import Floats, Indices, MeshlessNodes
from pliant.motion.polar import rotations

MAX_NODES = 4096                                                        # the matrix is dense: 128 MiB
MIN_SIZE, MAX_SIZE = 1e-60, 1e60                                        # extents, volumes and masses between these: products are finite
MIN_VOLUME_SHARE = 1e-6                                                 # of the largest volume, for nodes that nearly coincide
FULL_RANK = 3


class System(NamedTuple):
    """The equations of a step of dt: (inertia · masses + stiffness · L) x = …, of the nodes that are not held."""
    dt: float
    inertia: float
    stiffness: float
    factor: Any                                                         # by Cholesky; None if all nodes are held
    coupling: Floats                                                    # (free, held)


class Elastic:
    """A small elastic solver over simulation nodes, for examples and experiments. Units are SI, or any consistent ones.

    Parameters
    ----------
    nodes : `MeshlessNodes` at rest, at most 4,096
    density : mass per volume
    young : Young's modulus; Poisson's ratio is 0
    volume : of the whole body, or (m,) of each node; by default that of a cube as wide as the distance between nodes
    gravity : (3,) acceleration of all nodes, or None
    damping : the rate at which velocities decay, in addition to the damping of implicit steps
    pinned : (k,) nodes that stay where they are, or where `move` sets them

    Not for several threads at a time.

    >>> import numpy as np
    >>> import pliant as pl
    >>> rest = np.array([[x, y, z] for x in range(11) for y in (0, 1) for z in (0, 1)])
    >>> bar = pl.Elastic(pl.MeshlessNodes(rest, radius=2.0), density=1.0, young=100.0, gravity=None, pinned=[0, 1, 2, 3])
    >>> pull = np.outer(rest[:, 0] == 10, [1.0, 0, 0])                  # 4 in all, on 2 × 2 of cross-section: 1 % longer
    >>> for _ in range(20):
    ...     bar.step(1.0, forces=pull)
    >>> round(float(bar.positions[-1, 0]), 1)
    10.1
    >>> bar.maps().shape
    (44, 3, 4)
    """

    def __init__(self, nodes: MeshlessNodes, *, density: float = 1000.0, young: float = 1e5, volume: ArrayLike | None = None,
                 gravity: ArrayLike | None = (0.0, 0.0, -9.81), damping: float = 0.0, pinned: ArrayLike = ()) -> None:
        if not isinstance(nodes, MeshlessNodes):
            raise ArgumentTypeError(f"nodes: expected MeshlessNodes, got {type(nodes).__name__}; make them with pliant.MeshlessNodes(…)")
        count = len(nodes)
        if count > MAX_NODES:
            raise ArgumentError(f"nodes: {count} are too many for this solver; at most {MAX_NODES}")
        self.nodes, self.young, self.damping = nodes, validate_rig.positive("young", young), validate.number("damping", damping, 0.0)
        self.gravity = np.zeros(3) if gravity is None else validate.point("gravity", gravity)
        unit, slopes = math.ldexp(1.0, nodes.frame.exponent), nodes.slopes
        _check_moderate("nodes: extent", np.array([unit]))
        self.volumes = _volumes(nodes, volume)
        self.masses = _check_moderate("masses, density times volume", validate_rig.positive("density", density) * self.volumes)
        held = np.zeros(count, bool)
        held[validate.indices("pinned", pinned, count, "the nodes that are held")] = True
        self._pinned, self._free = np.flatnonzero(held), np.flatnonzero(~held)
        self._rank = np.rint(np.trace(slopes.span, axis1=1, axis2=2)).astype(np.int64)
        self._mean_moment = unit**2 * np.trace(slopes.moments, axis1=1, axis2=2) / np.maximum(self._rank, 1)  # λ
        self._mean_moment[self._rank == 0] = unit**2                    # all nodes around are at the same place
        self._operator: csr_array = slopes.operator / unit
        self._transposed_operator: csr_array = self._operator.T.tocsr()
        with np.errstate(over="ignore", invalid="ignore"):
            self._node_stiffness = self.young * self.volumes
            self._link_stiffness = (self._node_stiffness / self._mean_moment)[nodes.links.node] * nodes.links.weight
            self._matrix = self._stiffness(unit)
        if not np.isfinite(self._matrix).all():
            raise ArgumentError(f"young: {young!r} leads beyond the largest numbers; use other units")
        pairs = coo_array((np.ones(len(nodes.links.node)), (nodes.links.node, nodes.links.other)), shape=(count, count))
        self._n_components, self._component = connected_components(pairs, directed=False)
        self._component_mass = np.bincount(self._component, self.masses)
        self._unpinned_component = np.bincount(self._component, held, self._n_components) == 0  # pieces that nothing holds
        self._system: System | None = None
        self._positions, self._velocities = np.array(nodes.positions), np.zeros((count, 3))
        self._pinned_targets = self._positions[self._pinned]

    def _stiffness(self, unit: float) -> Floats:
        """(m, m): L, of which ½ xᵀ L x is the energy but for what rotations add; the same for all three coordinates."""
        links, count = self.nodes.links, len(self.nodes)
        lengths = coo_array((self._link_stiffness, (links.node, links.other)), shape=(count, count)).toarray()
        both = lengths + lengths.T
        laplacian = np.diag(both.sum(axis=1)) - both
        # |x_ij − F X_ij|² summed is |x_ij|² summed, less what F explains of it: (M / λ) along F. The first part has 1 there.
        blocks = np.eye(3) - unit**2 * self.nodes.slopes.moments / self._mean_moment[:, None, None]
        blocks *= self._node_stiffness[:, None, None]
        rows = np.arange(3 * count).reshape(-1, 3)
        block_diagonal = coo_array((blocks.reshape(-1), (np.repeat(rows, 3), np.tile(rows, 3).reshape(-1))),
                                   shape=(3 * count, 3 * count)).tocsr()
        made: Floats = laplacian + (self._transposed_operator @ (block_diagonal @ self._operator)).toarray()
        return made

    @property
    def positions(self) -> Floats:
        """(m, 3) float64, a copy: the positions of the nodes."""
        return np.array(self._positions)

    @property
    def velocities(self) -> Floats:
        """(m, 3) float64, a copy."""
        return np.array(self._velocities)

    @property
    def pinned(self) -> Indices:
        """(k,) the pinned nodes, sorted."""
        return np.array(self._pinned)

    def __repr__(self) -> str:
        return f"Elastic({len(self.nodes)} nodes, {len(self._pinned)} pinned, young={self.young:g}, mass={self.masses.sum():g})"

    def move(self, indices: ArrayLike, positions: ArrayLike) -> None:
        """Set the positions of pinned nodes after the next step; the other pinned nodes stay where they are.

        indices : (k,) pinned nodes
        positions : (k, 3)
        """
        some = validate.indices("indices", indices, len(self.nodes), "nodes that are pinned")
        bad = ~np.isin(some, self._pinned)
        if bad.any():
            raise MeshError(f"indices: row {int(bad.argmax())} is {some[bad.argmax()]}, a node that is not pinned: forces move it")
        rows = validate_rig.points("positions", positions, len(some), "one for each of indices")
        self._pinned_targets[np.searchsorted(self._pinned, some)] = rows

    def place(self, positions: ArrayLike, velocities: ArrayLike | None = None) -> None:
        """Set the state of all nodes, pinned ones included.

        positions : (m, 3)
        velocities : (m, 3); None: at rest
        """
        rows = validate_rig.points("positions", positions, len(self.nodes))
        speeds = np.zeros_like(rows) if velocities is None else validate_rig.points("velocities", velocities, len(self.nodes))
        self._positions, self._velocities, self._pinned_targets = np.array(rows), np.array(speeds), rows[self._pinned]

    def step(self, dt: float, *, iterations: int = 4, forces: ArrayLike | None = None) -> None:
        """Advance the simulation by one implicit step.

        dt : the time step
        iterations : of the implicit solver. With few, bodies that bend or rotate much in one step are less stiff
        forces : (m, 3) that act during this step, besides gravity; pinned nodes ignore both
        """
        dt, n_iterations = validate_rig.positive("dt", dt), validate.integer("iterations", iterations, range(1, 1 << 31))
        force_rows = None if forces is None else validate_rig.points("forces", forces, len(self.nodes))
        system, before, masses = self._system_for(dt), self._positions, self.masses[:, None]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            speed = math.exp(-self.damping * dt) * self._velocities + dt * (
                self.gravity if force_rows is None else self.gravity + force_rows / masses)
            predicted = before + dt * speed
            predicted[self._pinned] = self._pinned_targets
            center = self._centers_of_mass(predicted)[self._component]
            now, predicted = before - center, predicted - center        # rigid shifts cost nothing, and are taken out of what is rounded
            now[self._pinned] = predicted[self._pinned]
            if np.isfinite(now).all() and np.isfinite(predicted).all() and len(self._free):
                now = self._minimise(system, now, system.inertia * masses * predicted, n_iterations)
            now += center
            now[self._pinned] = self._pinned_targets                    # to the bit
            speeds = (now - before) / dt
        if not (np.isfinite(now).all() and np.isfinite(speeds).all()):
            raise MeshError(f"dt: a step of {dt!r} with these velocities and forces leads beyond the largest numbers")
        self._positions, self._velocities = now, speeds

    def _minimise(self, system: System, now: Floats, drive: Floats, n_iterations: int) -> Floats:
        """Positions after local and global minimisation in turn."""
        for _ in range(n_iterations):
            rotated = self._rotations(self._gradients(now)) * (system.stiffness * self._node_stiffness)[:, None, None]
            right_side = (drive + self._transposed_operator @ rotated.reshape(-1, 3))[self._free] - system.coupling @ now[self._pinned]
            now[self._free] = cho_solve(system.factor, right_side, overwrite_b=True, check_finite=False)
        return now

    def _gradients(self, positions: Floats) -> Floats:
        """(m, 3, 3): the transposed gradients of positions, 0 in directions that are not spanned."""
        made: Floats = (self._operator @ positions).reshape(-1, 3, 3)
        return made

    def _rotations(self, slopes: Floats) -> Floats:
        """(m, 3, 3): transposed rotations, 0 in directions that are not spanned."""
        made: Floats = self.nodes.slopes.span @ rotations(slopes, self._rank < FULL_RANK)
        return made

    def _centers_of_mass(self, rows: Floats) -> Floats:
        """(pieces, 3): the centre of mass of each."""
        sums = [np.bincount(self._component, self.masses * column, self._n_components) for column in rows.T]
        made: Floats = np.stack(sums, axis=1) / self._component_mass[:, None]
        return made

    def _system_for(self, dt: float) -> System:
        """Factored when dt is another than before: 3 ms for 550 nodes."""
        if self._system is not None and self._system.dt == dt:
            return self._system
        inertia, stiffness = (1.0, dt * dt) if dt < 1 else (1.0 / dt / dt, 1.0)
        matrix = stiffness * self._matrix
        matrix[np.diag_indices(len(matrix))] += inertia * self.masses
        for piece in np.flatnonzero(self._unpinned_component):
            # Its centre of mass is known, which makes it harmless to add what only that would feel: no dt is too large then.
            some = np.flatnonzero(self._component == piece)
            mass = self.masses[some] / np.linalg.norm(self.masses[some])
            matrix[np.ix_(some, some)] += matrix[some, some].mean() * np.outer(mass, mass)
        try:
            factor = cho_factor(matrix[np.ix_(self._free, self._free)], lower=True, overwrite_a=True) if len(self._free) else None
        except (LinAlgError, ValueError):
            raise MeshError(f"dt: a step of {dt!r} leads beyond the precision of numbers, with Young's modulus {self.young!r}") from None
        self._system = System(dt, inertia, stiffness, factor, matrix[np.ix_(self._free, self._pinned)])
        return self._system

    def maps(self) -> Floats:
        """(m, 3, 4): the affine map of each node, for `update` of a blended body; as `MeshlessNodes.maps`, but the directions across
        flat sets of nodes rotate with them.
        """
        gradients = self.nodes.gradients_at(self._positions)
        flat = self._rank < FULL_RANK
        if flat.any():
            slopes = self._gradients(self._positions - self._centers_of_mass(self._positions)[self._component])
            rotation = rotations(slopes[flat], np.ones(flat.sum(), bool)).transpose(0, 2, 1)
            gradients[flat] += (rotation - np.eye(3)) @ (np.eye(3) - self.nodes.slopes.span[flat])
        return self.nodes.maps_with(gradients, self._positions)

    def energy(self) -> float:
        """The elastic energy: 0 at rest, in any rigid position."""
        near = self._positions - self._centers_of_mass(self._positions)[self._component]
        slopes, links = self._gradients(near), self.nodes.links
        strain = ((slopes - self._rotations(slopes)) ** 2).sum(axis=(1, 2))
        offsets = np.ldexp(links.offset, self.nodes.frame.exponent)
        residual = near[links.other] - near[links.node] - (offsets[:, None] @ slopes[links.node])[:, 0]
        return float(0.5 * (self._node_stiffness @ strain + self._link_stiffness @ (residual**2).sum(axis=1)))


def _volumes(nodes: MeshlessNodes, volume: ArrayLike | None) -> Floats:
    """(m,) of each node."""
    if volume is not None and np.ndim(volume):
        return _check_moderate("volume", validate_rig.positives("volume", volume, len(nodes), "node"))
    with np.errstate(over="ignore", under="ignore"):
        each = nodes.spacing**3
        each = np.maximum(each, MIN_VOLUME_SHARE * each.max())
        if volume is not None:
            each = each / _check_moderate("volume of nodes", each).sum() * validate_rig.positives("volume", volume, len(nodes), "node")
    return _check_moderate("volume of nodes", each)


def _check_moderate(name: str, values: Floats) -> Floats:
    """Refuse what products would make infinite, or 0."""
    bad = ~((values >= MIN_SIZE) & (values <= MAX_SIZE))
    if bad.any():
        row = int(bad.argmax())
        raise ArgumentError(f"{name}: row {row} is {values[row]}, expected {MIN_SIZE:g} to {MAX_SIZE:g}; use other units")
    return values
