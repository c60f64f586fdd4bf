"""A body: a triangle mesh whose vertices move. What users hold in their hands.

It joins a motion (where vertices are), a tree with volumes (what encloses them) and a policy (when volumes follow). `update` takes
positions; queries make volumes follow. Neither knows the other's insides, and no query can see a stale volume.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

import pliant.refit  # policies, builders and families register themselves
import pliant.tree
import pliant.volume  # noqa: F401
from pliant.body_file import read_body, write_body
from pliant.core import validate
from pliant.core.soa import aligned
from pliant.core.threads import Guard, Reading
from pliant.errors import MeshError
from pliant.geometry.mesh import Mesh, mesh_of, welded
from pliant.motion.blended import blended_of
from pliant.motion.free import Free, place
from pliant.motion.morph import morph_of
from pliant.motion.rigid import IDENTITY, place_all, rounding, world_box
from pliant.refit.blended import BLENDED, MOST_BETWEEN
from pliant.refit.convex import CONVEX
from pliant.refit.key_poses import Keys, chosen_key, keys_for, mean
from pliant.refit.policy import POLICIES, Options, Shape, options_for, policies_for
from pliant.refit.policy_files import policy_table
from pliant.volume.protocol import FAMILIES

NOT_MOVED = IDENTITY.tolist()


class Body:
    """A triangle mesh that may change shape every frame: any vertex may go anywhere.

    Parameters
    ----------
    vertices : (n, 3) positions, or an object with `.vertices` and `.faces` (or `.triangles`); any real dtype, any layout, copied
    faces : (f, 3) vertex indices, any integer dtype; degenerate faces are the segment or point they span
    volume : family of bounding volumes: "aabb", "sphere", "kdop14", "kdop18", "kdop26", "obb", "rss", "slabcutball" or "slabcutball2"
    build : how the tree is built, once, from the first positions
    arity : children of a node: 2, 4 or 8
    leaf : most triangles in a leaf: 1 to 8
    policy : when volumes follow the vertices: a name, a table {"name": …} with the options of that policy, or a TOML file that holds one
    origin : fix the point that float32 volumes are relative to; by default it follows the body
    poses : (k, n, 3) shapes that the body will take, if they are known: the tree is built on their mean, which serves all of them better
    weld : True to treat vertices that are given at one place as one, as at the seams of textured meshes; or a distance, to treat those as
        one that steps of at most that length connect. The lowest stands for all of them, in every frame; `faces` stays as given
    keys : (k, n, 3) shapes that the body comes near to, if no one tree serves them all: each has a tree of its own, built when it is first
        chosen. That of key 0 serves until `update(vertices, key=…)` says otherwise; policies keep to it, and "rebuild" is refused

    Queries on one body may run in several threads; `update` waits for them, and they for it.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> body.update([[0, 0, 1], [1, 0, 1], [0, 1, 1]])
    >>> body.vertices[2].tolist()
    [0.0, 1.0, 1.0]
    """

    def __init__(self, vertices: Any, faces: ArrayLike | None = None, *, volume: str = "aabb", build: str = "sah", arity: int = 8,
                 leaf: int = 8, policy: str | os.PathLike[str] | Mapping[str, Any] = "auto", origin: ArrayLike | None = None,
                 poses: ArrayLike | Iterable[ArrayLike] | None = None, weld: bool | float = False,
                 keys: ArrayLike | Iterable[ArrayLike] | None = None) -> None:
        options, tolerance = options_for(volume, build, policy_table(policy), arity, leaf), validate.weld("weld", weld)
        rows, indices = validate.mesh(vertices, faces)
        point = None if origin is None else validate.point("origin", origin)
        built_on = None if poses is None else mean(validate.targets("poses", poses, len(rows)))
        trees = keys_for(keys, len(rows), poses, options)
        self._start(Free(rows, point), indices, options, None if tolerance is None else welded(rows, tolerance), built_on, keys=trees)

    def _start(self, motion: Any, faces: NDArray[np.int32], options: Options, same: Any, built_on: Any = None, planted: Any = None,
               keys: Any = None) -> None:
        """Everything but validation; `same` names the vertex that stands for each; the tree is built on the first shape, on the one given,
        on the first of the keys, or taken as it is."""
        self.guard, self.options, self._same = Guard(), options, same
        self._faces = np.array(faces)
        self.corners = self._faces if same is None else same[self._faces]
        self.motion = motion
        if not options.policy.motion:
            motion.complete()
        if built_on is not None and len(faces):
            planted = options.builder.build(Free(built_on).points.reshape(-1, 4), self.corners, options.arity, options.leaf)
        self._keys: Any = None if keys is None else Keys(keys, options, self.guard, self.corners, motion)
        self._shape: Shape | None = None
        if len(faces):
            self._shape = self._keys.shape(0) if self._keys else Shape(options, self.guard, self.corners, motion.points, planted, motion)
            if options.policy.motion:
                motion.arrange(self._shape.tree.vertices)
        self.placement: NDArray[np.float64] | None = None
        self.moves = 0                                                  # updates so far
        self.watchers: tuple[Any, ...] = ()                             # scenes that want to know of each
        self._rigid = False
        self._rescaled: tuple[float, int, Shape] | None = None
        self._placed: tuple[int, NDArray[np.float64], bool, float] | None = None
        self._mesh: Mesh | None = None
        self.nearest: WeakKeyDictionary[Body, Any] = WeakKeyDictionary()                   # where distances to others were found last

    @classmethod
    def rigid(cls, vertices: Any, faces: ArrayLike | None = None, **options: Any) -> Body:
        """A body that keeps its shape: `update(matrix)` places it. Options as for `Body`; policy "fitted" where volumes are worth it.

        >>> import pliant as pl
        >>> tool = pl.Body.rigid([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> tool.update([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        >>> tool.vertices[0].tolist()
        [5.0, 0.0, 0.0]
        """
        if options.get("keys") is not None:
            raise TypeError("keys: a rigid body keeps its shape, which one tree serves")
        family = FAMILIES[validate.choice("volume", options.get("volume", "aabb"), FAMILIES)]
        body = cls(vertices, faces, **{"policy": "fitted" if family.fitted else "auto"} | options)
        body._rigid = True
        return body

    @classmethod
    def morph(cls, targets: Any, faces: ArrayLike, *, base: ArrayLike | None = None, relative: bool = False, rest: int | str = 0,
              between: int = 0, volume: str = "aabb", build: str = "sah", arity: int = 8, leaf: int = 8,
              policy: str | os.PathLike[str] | Mapping[str, Any] = "auto", origin: ArrayLike | None = None,
              weld: bool | float = False) -> Body:
        """A body between shapes: `update(weights)` says how much of each. That costs the same for any number of vertices, and queries look
        only at those of faces that may meet something.

        targets : (k, n, 3) the vertices in each shape; with weights (k,) that are not negative and sum up to 1 they are at Σ w_i target_i
        base : (n, 3) for targets as animation files have them: vertices are at base + Σ w_i (target_i − base), with any weights
        relative : targets are displacements from the base
        rest : the target that the tree is built on, or "mean"; with a base, 0 is the base. The body starts there, "mean" with equal weights
        between : reference volumes between any two consecutive targets: tighter where the body goes from one to the next
        policy : "auto" blends volumes as queries reach them; {"name": "blended", "stamps": False} does so again at every visit; the
            policies of other bodies set all vertices in every update, and then do as they do

        The other options as for `Body`.

        >>> import pliant as pl
        >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
        >>> high = [[0, 0, 4], [1, 0, 4], [0, 1, 4]]
        >>> body = pl.Body.morph([low, high], [[0, 1, 2]])
        >>> body.update([0.25, 0.75])
        >>> body.vertices[0].tolist()
        [0.0, 0.0, 3.0]
        """
        between = validate.integer("between", between, range(MOST_BETWEEN))
        known = policies_for(BLENDED)
        given: dict[str, Any] = policy_table(policy, known)
        if given.get("name") in ("auto", BLENDED.name):
            given["name"] = BLENDED.name
            given.setdefault("between", between)
        options = options_for(volume, build, given, arity, leaf, known)
        tolerance = validate.weld("weld", weld)
        shapes = validate.targets("targets", targets)
        if validate.flag("relative", relative) and base is None:
            raise TypeError("relative: targets are relative to a base, and none is given")
        if base is not None:
            first = validate.positions("base", base, shapes.shape[1], "as many as targets have")
            validate.finite("base", first)
            with np.errstate(over="ignore"):
                moves = shapes if relative else shapes - first
            for k, rows in enumerate(moves):
                validate.finite(f"targets[{k}] − base", rows)
            shapes = np.concatenate([first[None], moves])
        indices = validate.faces("faces", faces, shapes.shape[1])
        motion = morph_of(shapes, base is not None, origin, options.settings.get("between"))
        named = rest if isinstance(rest, str) else validate.integer("rest", rest, range(len(shapes)))
        motion.update(motion.checked(motion.start(validate.choice("rest", named, ("mean",)) if isinstance(named, str) else named)))
        body = cls.__new__(cls)
        body._start(motion, indices, options, None if tolerance is None else welded(motion.vertices, tolerance), motion.vertices.copy())
        return body

    @classmethod
    def blended(cls, rest: Any, faces: ArrayLike, weights: Any, *, maps: ArrayLike | None = None, volume: str = "aabb", build: str = "sah",
                arity: int = 8, leaf: int = 8, policy: str | os.PathLike[str] | Mapping[str, Any] = "auto",
                origin: ArrayLike | None = None, weld: bool | float = False) -> Body:
        """A body that few affine maps move: skinning, meshless animation, scaling and shear. `update(maps)` costs the same for any number
        of vertices, and queries look only at those of faces that may meet something.

        rest : (n, 3) vertices before any map
        weights : (n, m), dense or SciPy sparse: how much of each map moves each vertex; not negative, with a sum of 1 for every vertex.
            `pliant.Nodes` and `pliant.Skeleton` make them
        maps : (m, 3, 4) or (m, 4, 4) to start with; by default none moves anything. Vertex v is at (Σ w_j maps_j) · (v, 1)
        policy : "auto" bounds volumes by the maps as queries reach them; {"name": "convex", …} the same, with options: `bound`, "eq12" or
            "greedy", `boxes`, "own", "aabb" or "obb", `leaves`, "exact" or "bound". The policies of other bodies set all vertices in every
            update, and then do as they do

        The other options as for `Body`; the tree is built on the vertices at rest.

        >>> import pliant as pl
        >>> body = pl.Body.blended([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], [[1, 0], [0, 1], [0.5, 0.5]])
        >>> stays, lifts = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4]]
        >>> body.update([stays, lifts])
        >>> body.vertices[:, 2].tolist()
        [0.0, 4.0, 2.0]
        """
        known = policies_for(CONVEX)
        given: dict[str, Any] = policy_table(policy, known)
        if given.get("name") == "auto":
            given["name"] = CONVEX.name
        options, tolerance = options_for(volume, build, given, arity, leaf, known), validate.weld("weld", weld)
        rows, indices = validate.mesh(rest, faces)
        motion = blended_of(rows, weights, maps, origin)
        body = cls.__new__(cls)
        body._start(motion, indices, options, None if tolerance is None else welded(rows, tolerance), rows)
        return body

    @property
    def faces(self) -> NDArray[np.int32]:
        """(f, 3) int32, read-only."""
        view = self._faces.view()
        view.flags.writeable = False
        return view

    @property
    def vertices(self) -> NDArray[np.float64]:
        """(n, 3) float64, a copy: where the vertices are, to the bit what `update` was given, or the sum
        of a morphing body's shapes, or where the maps of a blended one have put them, or where its transform has put that."""
        with Reading(self.guard):
            return np.array(self.placed_vertices()[0]).reshape(-1, 3)

    @property
    def transform(self) -> NDArray[np.float64]:
        """(4, 4) float64: from the vertices given to where they are."""
        matrix, placement = np.eye(4), self.placement
        if placement is not None:
            matrix[:3] = placement.reshape(3, 4)
        return matrix

    @property
    def policy_log(self) -> list[Any]:
        """What `auto` has chosen so far: (update, policy, reason) each; nothing for morphing and blended bodies, which need no choice."""
        if self._keys is not None:
            return list(self._keys.log())
        mind = self._shape.mind if self._shape is not None else None
        return list(mind.log) if mind is not None else []

    @property
    def key(self) -> int | None:
        """The key whose tree serves; None for a body without keys, or without faces."""
        return None if self._keys is None or self._shape is None else int(self._keys.number(self._shape))

    def __len__(self) -> int:
        """The number of faces."""
        return len(self._faces)

    def __repr__(self) -> str:
        o = self.options
        parts = self.motion.parts + ("" if self._keys is None else f"{len(self._keys)} keys, ")
        return (f"Body({self.motion.count} vertices, {len(self)} faces, {parts}volume={o.family.name!r}, build={o.builder.name!r}, "
                f"arity={o.arity}, leaf={o.leaf}, policy={o.policy.name!r})")

    def update(self, vertices: ArrayLike | None = None, *, changed: ArrayLike | None = None, transform: ArrayLike | None = None,
               copy: bool = True, key: int | None = None) -> None:
        """Say where the body is now: vertices, and a rigid transform (4, 4) or (3, 4) that is applied to them; without one they are where
        they are. A transform alone moves the body as a whole, without touching its vertices; a rigid body takes nothing else. A morphing
        body takes weights (k,) instead of vertices, a blended one maps (m, 3, 4) or (m, 4, 4).

        `changed` (k,) names the vertices that have moved, and `vertices` (k, 3) has their rows alone; the others stay. Much cheaper where
        few have, as long as they are near each other. `key` says, with all vertices, that from now on the tree of that key serves.

        Checked first: what is refused leaves the body as it was. `copy=False` borrows a float64 array in C order instead of copying
        it: leave it alone until the next update.
        """
        validate.flag("copy", copy)
        if self._rigid and transform is None:
            vertices, transform = None, vertices
        if vertices is None and transform is None:
            wanted = "a matrix (4, 4)" if self._rigid else f"{self.motion.takes}, a transform or both"
            raise TypeError(f"update: nothing given; expected {wanted}")
        if self._rigid and vertices is not None:
            raise TypeError("update: a rigid body takes a matrix alone; use Body(vertices, faces) for vertices that move")
        placement = None if transform is None else validate.transform("transform", transform)
        some = None if changed is None else validate.indices("changed", changed, self.motion.count)
        if some is not None:
            if vertices is None:
                raise TypeError("update: changed is given without vertices; expected a row for each")
            if self.motion.name != "free":
                raise TypeError("update: changed is for bodies of which single vertices move; "
                                f"a {self.motion.kind} body takes {self.motion.takes} alone")
            vertices = validate.positions("vertices", vertices, len(some), "one for each of changed")
        elif vertices is not None:
            vertices = self.motion.checked(vertices)
        tree = None if key is None else chosen_key(self._keys, key, vertices, some)
        if placement is not None:
            bound = self.motion.bound_after(vertices, some)
            validate.within_range("transform", placement, bound, partial(self.motion.after, vertices, some))
        self.guard.start_writing()
        try:
            if vertices is not None:
                self._move(vertices, copy, some, tree)
            self.placement = placement if placement is None or placement.tolist() != NOT_MOVED else None
            self._moved()
        finally:
            self.guard.stop_writing()

    def _move(self, vertices: Any, copy: bool, some: Any, key: int | None) -> None:
        """Motion first, then the stamp that makes volumes stale; Ctrl-C in between must not part the two."""
        shape, whole = self._shape, some is None
        chosen = shape if key is None else self._keys.shape(key)        # built, if it has to be, before anything changes
        try:
            if whole:
                self.motion.update(vertices, copy)
                if not self.options.policy.motion:
                    self.motion.complete()
            else:
                origin, scale = self.motion.origin[:3].tolist(), self.motion.scale
                self.motion.update_some(vertices, some)
                whole = self.motion.origin[:3].tolist() != origin or self.motion.scale != scale
            if chosen is not None:
                chosen.succeed(shape) if whole else chosen.moved_some(some)
                self._shape = chosen
        except MeshError:
            raise                                                       # refused: nothing has changed
        except BaseException:
            self.motion.restore()
            if not self.options.policy.motion:
                self.motion.complete()
            if self._shape is not None:
                self._shape.moved()
            self._moved()                                               # it may have
            raise

    def _moved(self) -> None:
        """Whatever was worked out for the vertices, here or in a scene, is out of date."""
        self.moves += 1
        for scene in self.watchers:
            scene.note(self)

    def shape_at(self, scale: float) -> Shape:
        """For queries: the tree and volumes for coordinates times this power of two; the body's own, but for absurd pairs of sizes."""
        shape, motion = self._shape, self.motion
        assert shape is not None                                        # queries turn away bodies without faces
        if scale == motion.scale:
            return shape
        known = self._rescaled
        if known is None or known[:2] != (scale, self.moves):
            points, options = aligned(len(motion.points), np.float32), self.options
            if options.policy.motion:                                   # what it knows of volumes is of the other scale
                options = options._replace(policy=POLICIES["bottom_up"], settings={})
            motion.complete()
            place(motion.flat, points, motion.origin, scale, aligned(4, np.float64))
            known = self._rescaled = scale, self.moves, Shape(options, self.guard, self.corners, points, shape.tree)
        return known[2]

    def placed_vertices(self) -> tuple[NDArray[np.float64], bool, float]:
        """For queries: all vertices in the world, flat; are they in the range of the filters; how far rounding has moved them."""
        self.motion.complete()
        if self.placement is None:
            return self.motion.flat, self.motion.plain, 0.0
        known = self._placed
        if known is None or known[0] != self.moves:
            flat = np.empty_like(self.motion.flat)
            plain = place_all(self.placement, self.motion.flat, flat)
            known = self._placed = self.moves, flat, plain, rounding(self.placement, self.motion.box)
        return known[1:]

    def box(self) -> NDArray[np.float64]:
        """(2, 3) float64: low and high corner of a box around the vertices. Known without touching them; a transform
        makes it loose, and so do the weights of a morphing body and the maps of a blended one."""
        placement, box = self.placement, self.motion.box
        if placement is None:
            return np.array(box.reshape(2, 4)[:, :3])
        corners = np.empty(6)
        world_box(placement, box, corners)
        return corners.reshape(2, 3)

    def mesh(self) -> Mesh:
        """For queries: which faces share vertices, made when it is first asked for."""
        with self.guard.refit:
            if self._mesh is None:
                shape = self._shape
                assert shape is not None                                # queries turn away bodies without faces
                _, first = np.unique(shape.tree.vertices, return_index=True)
                self._mesh = mesh_of(self.corners, self.motion.count, shape.tree.vertices[np.sort(first)])
            return self._mesh

    def copy(self) -> Body:
        """Another body in the same state: mesh, tree, options, transform and key. It shares nothing that an update of either writes to, and
        is in no scene. `copy.copy` and `copy.deepcopy` give the same.

        >>> import pliant as pl
        >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> other = body.copy()
        >>> other.update([[0, 0, 5]], changed=[0])
        >>> body.vertices[0].tolist(), other.vertices[0].tolist()
        ([0.0, 0.0, 0.0], [0.0, 0.0, 5.0])
        """
        with Reading(self.guard):
            shape, keys = self._shape, self._keys
            body = type(self).__new__(type(self))
            body._start(self.motion.copy(), self._faces, self.options, self._same, planted=None if shape is None else shape.tree,
                        keys=None if keys is None else keys.rows)
            if keys is not None and shape is not None:
                body._shape = body._keys.shape(keys.number(shape))
            body.placement, body._rigid = self.placement, self._rigid
        return body

    def __copy__(self) -> Body:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Body:
        return self.copy()

    def __reduce__(self) -> str:
        raise TypeError("a Body holds addresses and locks of its process and cannot be pickled; use save and Body.load")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the body to a file, tree included: loading it needs no building. No pickle; written whole or not at all. A body with keys
        is refused: save the keys, and make it again."""
        if self._keys is not None:
            raise TypeError("save: a body with keys has several trees, which a file does not hold; save the keys, and make the body again")
        with Reading(self.guard):
            shape = self._shape
            same = np.arange(self.motion.count, dtype=np.int32) if self._same is None else self._same
            placement = None if self.placement is None else self.transform
            write_body(path, self.options, self.motion, self._faces, same, None if shape is None else shape.tree, self._rigid, placement)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Body:
        """Read a body that `save` wrote. The file is examined like any other input; what is wrong with it is a `FileError`."""
        motion, faces, options, same, planted, placement, rigid = read_body(path)
        body = cls.__new__(cls)
        body._start(motion, faces, options, same, planted=planted)
        body.placement, body._rigid = placement, rigid
        return body
