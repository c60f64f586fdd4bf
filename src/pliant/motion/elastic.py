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
from pliant.errors import MeshError
from pliant.motion.meshless import Floats, Indices, Nodes
from pliant.motion.polar import rotations

MOST_NODES = 4096                                                       # the matrix is dense: 128 MiB
SMALLEST, LARGEST = 1e-60, 1e60                                         # extents, volumes and masses between these: products are finite
LEAST_PART = 1e-6                                                       # of the largest volume, for nodes that nearly coincide
FULL = 3


class System(NamedTuple):
    """The equations of a step of dt: (inertia · masses + stiffness · L) x = …, of the nodes that are not held."""
    dt: float
    inertia: float
    stiffness: float
    factor: Any                                                         # by Cholesky; None if all nodes are held
    coupling: Floats                                                    # (free, held)


class Elastic:
    """An elastic body made of simulation nodes, which are at rest where `nodes` has them. SI units, or any others that fit together.

    Parameters
    ----------
    nodes : `Nodes`, at most 4,096
    density : mass of a unit of volume
    young : Young's modulus; Poisson's ratio is 0
    volume : of the whole body, or (m,) of each node; by default that of a cube for each, as wide as the nodes are apart
    gravity : (3,) acceleration of all nodes, or None
    damping : the rate at which velocities die out, besides what implicit steps take away
    pinned : (k,) nodes that are held: they stay, or are where `move` puts them

    One thread at a time.

    >>> import numpy as np
    >>> import pliant as pl
    >>> rest = np.array([[x, y, z] for x in range(11) for y in (0, 1) for z in (0, 1)])
    >>> bar = pl.Elastic(pl.Nodes(rest, radius=2.0), density=1.0, young=100.0, gravity=None, pinned=[0, 1, 2, 3])
    >>> pull = np.outer(rest[:, 0] == 10, [1.0, 0, 0])                  # 4 in all, on 2 × 2 of cross-section: 1 % longer
    >>> for _ in range(20):
    ...     bar.step(1.0, forces=pull)
    >>> round(float(bar.positions[-1, 0]), 1)
    10.1
    >>> bar.maps().shape
    (44, 3, 4)
    """

    def __init__(self, nodes: Nodes, *, density: float = 1000.0, young: float = 1e5, volume: ArrayLike | None = None,
                 gravity: ArrayLike | None = (0.0, 0.0, -9.81), damping: float = 0.0, pinned: ArrayLike = ()) -> None:
        if not isinstance(nodes, Nodes):
            raise TypeError(f"nodes: expected Nodes, got {type(nodes).__name__}; make them with pliant.Nodes(positions, radius)")
        count = len(nodes)
        if count > MOST_NODES:
            raise ValueError(f"nodes: {count} are too many for this solver; at most {MOST_NODES}")
        self.nodes, self.young, self.damping = nodes, validate_rig.positive("young", young), validate.number("damping", damping, 0.0)
        self.gravity = np.zeros(3) if gravity is None else validate.point("gravity", gravity)
        unit, slopes = math.ldexp(1.0, nodes.frame.exponent), nodes.slopes
        _moderate("nodes: extent", np.array([unit]))
        self.volumes = _volumes(nodes, volume)
        self.masses = _moderate("masses, density times volume", validate_rig.positive("density", density) * self.volumes)
        held = np.zeros(count, bool)
        held[validate.indices("pinned", pinned, count, "the nodes that are held")] = True
        self._held, self._free = np.flatnonzero(held), np.flatnonzero(~held)
        self._rank = np.rint(np.trace(slopes.span, axis1=1, axis2=2)).astype(np.int64)
        self._part = unit**2 * np.trace(slopes.moments, axis1=1, axis2=2) / np.maximum(self._rank, 1)     # λ
        self._part[self._rank == 0] = unit**2                           # all nodes around are at the same place
        self._operator: csr_array = slopes.operator / unit
        self._back: csr_array = self._operator.T.tocsr()
        with np.errstate(over="ignore", invalid="ignore"):
            self._strength = self.young * self.volumes
            self._links = (self._strength / self._part)[nodes.links.node] * nodes.links.weight
            self._matrix = self._stiffness(unit)
        if not np.isfinite(self._matrix).all():
            raise ValueError(f"young: {young!r} leads beyond the largest numbers; use other units")
        pairs = coo_array((np.ones(len(nodes.links.node)), (nodes.links.node, nodes.links.other)), shape=(count, count))
        self._pieces, self._piece = connected_components(pairs, directed=False)
        self._weight = np.bincount(self._piece, self.masses)
        self._loose = np.bincount(self._piece, held, self._pieces) == 0  # pieces that nothing holds
        self._system: System | None = None
        self._positions, self._velocities = np.array(nodes.positions), np.zeros((count, 3))
        self._wanted = self._positions[self._held]

    def _stiffness(self, unit: float) -> Floats:
        """(m, m): L, of which ½ xᵀ L x is the energy but for what rotations add; the same for all three coordinates."""
        links, count = self.nodes.links, len(self.nodes)
        lengths = coo_array((self._links, (links.node, links.other)), shape=(count, count)).toarray()
        both = lengths + lengths.T
        laplacian = np.diag(both.sum(axis=1)) - both
        # |x_ij − F X_ij|² summed is |x_ij|² summed, less what F explains of it: (M / λ) along F. The first part has 1 there.
        blocks = np.eye(3) - unit**2 * self.nodes.slopes.moments / self._part[:, None, None]
        blocks *= self._strength[:, None, None]
        rows = np.arange(3 * count).reshape(-1, 3)
        middle = coo_array((blocks.reshape(-1), (np.repeat(rows, 3), np.tile(rows, 3).reshape(-1))), shape=(3 * count, 3 * count)).tocsr()
        made: Floats = laplacian + (self._back @ (middle @ self._operator)).toarray()
        return made

    @property
    def positions(self) -> Floats:
        """(m, 3) float64, a copy: where the nodes are."""
        return np.array(self._positions)

    @property
    def velocities(self) -> Floats:
        """(m, 3) float64, a copy."""
        return np.array(self._velocities)

    @property
    def pinned(self) -> Indices:
        """(k,) the nodes that are held, sorted."""
        return np.array(self._held)

    def __repr__(self) -> str:
        return f"Elastic({len(self.nodes)} nodes, {len(self._held)} pinned, young={self.young:g}, mass={self.masses.sum():g})"

    def move(self, indices: ArrayLike, positions: ArrayLike) -> None:
        """Say where these pinned nodes (k,) will be after the next step: (k, 3). The others stay where they are held."""
        some = validate.indices("indices", indices, len(self.nodes), "nodes that are pinned")
        bad = ~np.isin(some, self._held)
        if bad.any():
            raise MeshError(f"indices: row {int(bad.argmax())} is {some[bad.argmax()]}, a node that is not pinned: forces move it")
        rows = validate_rig.points("positions", positions, len(some), "one for each of indices")
        self._wanted[np.searchsorted(self._held, some)] = rows

    def place(self, positions: ArrayLike, velocities: ArrayLike | None = None) -> None:
        """Put all nodes there (m, 3), pinned ones as well, with these velocities (m, 3) or none."""
        rows = validate_rig.points("positions", positions, len(self.nodes))
        speeds = np.zeros_like(rows) if velocities is None else validate_rig.points("velocities", velocities, len(self.nodes))
        self._positions, self._velocities, self._wanted = np.array(rows), np.array(speeds), rows[self._held]

    def step(self, dt: float, *, iterations: int = 4, forces: ArrayLike | None = None) -> None:
        """Go on by the time dt. `forces` (m, 3) act during this step, besides gravity; neither moves what is pinned. More iterations come
        nearer to the implicit step: bodies that are bent or turned far in one step are less stiff to it then."""
        dt, turns = validate_rig.positive("dt", dt), validate.integer("iterations", iterations, range(1, 1 << 31))
        pull = None if forces is None else validate_rig.points("forces", forces, len(self.nodes))
        system, before, masses = self._system_for(dt), self._positions, self.masses[:, None]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            speed = math.exp(-self.damping * dt) * self._velocities + dt * (self.gravity if pull is None else self.gravity + pull / masses)
            flown = before + dt * speed
            flown[self._held] = self._wanted
            middle = self._middles(flown)[self._piece]
            now, flown = before - middle, flown - middle                # rigid shifts cost nothing, and are taken out of what is rounded
            now[self._held] = flown[self._held]
            if np.isfinite(now).all() and np.isfinite(flown).all() and len(self._free):
                now = self._settled(system, now, system.inertia * masses * flown, turns)
            now += middle
            now[self._held] = self._wanted                              # to the bit
            speeds = (now - before) / dt
        if not (np.isfinite(now).all() and np.isfinite(speeds).all()):
            raise MeshError(f"dt: a step of {dt!r} with these velocities and forces leads beyond the largest numbers")
        self._positions, self._velocities = now, speeds

    def _settled(self, system: System, now: Floats, drive: Floats, turns: int) -> Floats:
        """Positions after local and global minimisation in turn."""
        for _ in range(turns):
            turned = self._turned(self._slopes(now)) * (system.stiffness * self._strength)[:, None, None]
            wanted = (drive + self._back @ turned.reshape(-1, 3))[self._free] - system.coupling @ now[self._held]
            now[self._free] = cho_solve(system.factor, wanted, overwrite_b=True, check_finite=False)
        return now

    def _slopes(self, positions: Floats) -> Floats:
        """(m, 3, 3): the transposed gradients of positions, 0 in directions that are not spanned."""
        made: Floats = (self._operator @ positions).reshape(-1, 3, 3)
        return made

    def _turned(self, slopes: Floats) -> Floats:
        """(m, 3, 3): transposed rotations, 0 in directions that are not spanned."""
        made: Floats = self.nodes.slopes.span @ rotations(slopes, self._rank < FULL)
        return made

    def _middles(self, rows: Floats) -> Floats:
        """(pieces, 3): the centre of mass of each."""
        sums = [np.bincount(self._piece, self.masses * column, self._pieces) for column in rows.T]
        made: Floats = np.stack(sums, axis=1) / self._weight[:, None]
        return made

    def _system_for(self, dt: float) -> System:
        """Factored when dt is another than before: 3 ms for 550 nodes."""
        if self._system is not None and self._system.dt == dt:
            return self._system
        inertia, stiffness = (1.0, dt * dt) if dt < 1 else (1.0 / dt / dt, 1.0)
        matrix = stiffness * self._matrix
        matrix[np.diag_indices(len(matrix))] += inertia * self.masses
        for piece in np.flatnonzero(self._loose):
            # Its centre of mass is known, which makes it harmless to add what only that would feel: no dt is too large then.
            some = np.flatnonzero(self._piece == piece)
            mass = self.masses[some] / np.linalg.norm(self.masses[some])
            matrix[np.ix_(some, some)] += matrix[some, some].mean() * np.outer(mass, mass)
        try:
            factor = cho_factor(matrix[np.ix_(self._free, self._free)], lower=True, overwrite_a=True) if len(self._free) else None
        except (LinAlgError, ValueError):
            raise MeshError(f"dt: a step of {dt!r} leads beyond the precision of numbers, with Young's modulus {self.young!r}") from None
        self._system = System(dt, inertia, stiffness, factor, matrix[np.ix_(self._free, self._held)])
        return self._system

    def maps(self) -> Floats:
        """(m, 3, 4): the affine map of each node, for `update` of a blended body. As `Nodes.maps`, but directions across flat sets of nodes
        turn along with them."""
        gradients = self.nodes.gradients_at(self._positions)
        flat = self._rank < FULL
        if flat.any():
            slopes = self._slopes(self._positions - self._middles(self._positions)[self._piece])
            turn = rotations(slopes[flat], np.ones(flat.sum(), bool)).transpose(0, 2, 1)
            gradients[flat] += (turn - np.eye(3)) @ (np.eye(3) - self.nodes.slopes.span[flat])
        return self.nodes.maps_with(gradients, self._positions)

    def energy(self) -> float:
        """The elastic energy, 0 at rest wherever that is, and however turned."""
        near = self._positions - self._middles(self._positions)[self._piece]
        slopes, links = self._slopes(near), self.nodes.links
        strain = ((slopes - self._turned(slopes)) ** 2).sum(axis=(1, 2))
        offsets = np.ldexp(links.offset, self.nodes.frame.exponent)
        left = near[links.other] - near[links.node] - (offsets[:, None] @ slopes[links.node])[:, 0]
        return float(0.5 * (self._strength @ strain + self._links @ (left**2).sum(axis=1)))


def _volumes(nodes: Nodes, volume: ArrayLike | None) -> Floats:
    """(m,) of each node."""
    if volume is not None and np.ndim(volume):
        return _moderate("volume", validate_rig.positives("volume", volume, len(nodes), "node"))
    with np.errstate(over="ignore", under="ignore"):
        each = nodes.spacing**3
        each = np.maximum(each, LEAST_PART * each.max())
        if volume is not None:
            each = each / _moderate("volume of nodes", each).sum() * validate_rig.positives("volume", volume, len(nodes), "node")
    return _moderate("volume of nodes", each)


def _moderate(name: str, values: Floats) -> Floats:
    """Refuse what products would make infinite, or 0."""
    bad = ~((values >= SMALLEST) & (values <= LARGEST))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{name}: row {row} is {values[row]}, expected {SMALLEST:g} to {LARGEST:g}; use other units")
    return values
