"""A body: a triangle mesh whose vertices move. The main user-facing class.

It joins a motion (where the vertices are), a BVH (what encloses the faces) and a policy (when volumes are refitted). `update` takes
positions; queries refit the volumes that they need. None of the three uses the internals of another, and no query sees a stale volume.
"""
from __future__ import annotations

import io
import os
from collections.abc import Iterable
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple, Unpack
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

import pliant.refit  # policies, builders and volume types register themselves
import pliant.tree
import pliant.volume  # noqa: F401
from pliant.body_file import read_body, write_body
from pliant.core import validate, validate_weld
from pliant.core.soa import aligned_zeros
from pliant.core.threads import ReadLock, ReadWriteLock
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError
from pliant.geometry.inside import OpenEdges, find_open_edges
from pliant.geometry.mesh import MeshTopology, build_topology
from pliant.motion.blended import blended_motion
from pliant.motion.free import Free, set_points
from pliant.motion.morph import morph_motion
from pliant.motion.motion import Motion, type_of
from pliant.motion.rigid import IDENTITY, rounding_bound, transform_vertices, world_bounds
from pliant.query.target import QueryBody
from pliant.refit.auto import Choice
from pliant.refit.blended import BLENDED, MAX_BETWEEN
from pliant.refit.convex import CONVEX
from pliant.refit.key_poses import KeyPoses, check_key_pose, check_key_poses, mean_pose
from pliant.refit.policy import MOTION_POLICIES, POLICIES, Bvh, Options, policies_of, resolve_options
from pliant.refit.policy_files import policy_table
from pliant.tree.features import LeafFeatures, MeshFeatures, find_features, leaf_features
from pliant.typing import BodyOptions, BuilderName, MeshLike, PolicyLike, SparseWeights, VolumeName
from pliant.volume.protocol import VOLUME_TYPES
from pliant.welding import make_weld_map

IDENTITY_LIST = IDENTITY.tolist()
DEFAULTS = {"build": "sah", "arity": 8, "leaf": 8}                      # options that `repr` shows only where they differ


class _Update(NamedTuple):
    """The validated arguments of `Body.update`."""
    vertices: Any
    copy: bool
    changed: NDArray[np.int64] | None
    key_pose: int | None
    matrix: NDArray[np.float64] | None


class Body(QueryBody):
    """A deformable triangle mesh with a bounding volume hierarchy (BVH): any vertex may move anywhere in every frame.

    Parameters
    ----------
    vertices : (n, 3) positions, or an object with `.vertices` and `.faces` (or `.triangles`); any real dtype and layout, copied
    faces : (f, 3) vertex indices of any integer dtype; a degenerate face is the segment or the point that its vertices span
    volume : the bounding-volume type: "aabb", "sphere", "kdop6", "kdop14", "kdop18", "kdop26", "obb", "rss", "slabcutball" or
        "double_slabcutball"
    build : the builder of the BVH, which runs once, on the first positions
    arity : maximum children of a BVH node: 2, 4 or 8
    leaf : maximum triangles of a leaf: 1 to 8
    policy : the refit policy: a name, a dict {"name": …} with options of that policy, or the path of a TOML file with one
    origin : (3,) a fixed point that float32 volumes are relative to; by default it moves with the body
    build_poses : (k, n, 3) poses that the body will take, if they are known: the BVH is built on their mean
    weld : True merges vertices at the same position, as at the seams of textured meshes; a number merges vertices that are connected
        by steps of at most that length; (n,) integers give for each vertex the lowest one that it is merged into. Merged vertices take
        the position of the one with the lowest index in every frame; `faces` stays as given
    key_poses : (k, n, 3) poses with a BVH each, for bodies that no single BVH fits. A BVH is built when its pose is first used;
        `update(vertices, key_pose=k)` chooses it, and 0 is the first. Not with policy "rebuild"

    Queries on one body may run in several threads; `update` waits for queries that run, and queries wait for it.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> body.update([[0, 0, 1], [1, 0, 1], [0, 1, 1]])
    >>> body.vertices[2].tolist()
    [0.0, 1.0, 1.0]
    """

    def __init__(self, vertices: ArrayLike | MeshLike, faces: ArrayLike | None = None, *, volume: VolumeName = "aabb",
                 build: BuilderName = "sah", arity: Literal[2, 4, 8] = 8, leaf: int = 8, policy: PolicyLike = "auto",
                 origin: ArrayLike | None = None, build_poses: ArrayLike | Iterable[ArrayLike] | None = None,
                 weld: bool | float | ArrayLike = False, key_poses: ArrayLike | Iterable[ArrayLike] | None = None) -> None:
        options, welding = resolve_options(volume, build, policy_table(policy), arity, leaf), validate_weld.weld("weld", weld)
        rows, indices = validate.mesh(vertices, faces)
        fixed_origin = None if origin is None else validate.point("origin", origin)
        build_vertices = None if build_poses is None else mean_pose(validate.targets("build_poses", build_poses, len(rows)))
        checked_key_poses = check_key_poses(key_poses, len(rows), build_poses, options)
        self._initialize(Free(rows, fixed_origin), indices, options, make_weld_map(welding, [rows], len(rows)),
                         build_vertices, key_poses=checked_key_poses)

    def _initialize(self, motion: Any, faces: NDArray[np.int32], options: Options, weld_map: Any, build_vertices: Any = None,
                    tree: Any = None, key_poses: Any = None, key_pose: int = 0) -> None:
        """Everything but validation. `weld_map` gives the vertex that each is merged into; the BVH is `tree`, or is built on the vertices,
        on `build_vertices` or on the `key_pose` of `key_poses`."""
        self._guard, self._options, self._weld_map = ReadWriteLock(), options, weld_map
        self._faces = np.array(faces)
        self._welded_faces = self._faces if weld_map is None else weld_map[self._faces]
        self._motion = motion
        if not options.policy.motion:
            motion.complete()
        if build_vertices is not None and len(faces):
            tree = options.builder.build(Free(build_vertices).points.reshape(-1, 4), self._welded_faces, options.arity, options.leaf)
        self._key_poses: Any = None if key_poses is None else KeyPoses(key_poses, options, self._guard, self._welded_faces, motion)
        self._bvh: Bvh | None = None
        if len(faces):
            self._bvh = (self._key_poses.bvh(key_pose, tree) if self._key_poses else
                         Bvh(options, self._guard, self._welded_faces, motion.points, tree, motion))
            if options.policy.motion:
                motion.arrange(self._bvh.tree.vertices)
        self._matrix: NDArray[np.float64] | None = None
        self._version = 0                                               # updates so far
        self._observers: tuple[Any, ...] = ()                            # scenes to notify of each
        self._rigid = False
        self._rescaled_bvh: tuple[float, int, Bvh] | None = None
        self._world_cache: tuple[int, NDArray[np.float64], bool, float] | None = None
        self._bounds_cache: tuple[int, NDArray[np.float64]] | None = None
        self._mesh: MeshTopology | None = None
        self._edges: OpenEdges | None = None
        self._features: MeshFeatures | None = None
        self._leaf_features: tuple[Any, LeafFeatures] | None = None     # with the tree that they are for
        self._swept_arrays: list[Any] = []                              # arrays of queries of features, while none uses them
        self._border_cap: Any = None                                    # see query/proximity/cap.py
        self._distance_cache: WeakKeyDictionary[Body, Any] = WeakKeyDictionary()  # by other body: where the last distance was found

    @classmethod
    def rigid(cls, vertices: ArrayLike | MeshLike, faces: ArrayLike | None = None, **options: Unpack[BodyOptions]) -> Body:
        """A rigid body: `update(matrix)` sets its transform. Copies are instances: they share the mesh and the BVH, and each has its own
        transform.

        vertices, faces : as for `Body`, and all its options but `key_poses`. The default policy is "fitted" for bounding-volume types
            whose merged volumes are loose

        >>> import pliant as pl
        >>> tool = pl.Body.rigid([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> tool.update([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        >>> tool.vertices[0].tolist()
        [5.0, 0.0, 0.0]
        """
        if dict(options).get("key_poses") is not None:
            raise ArgumentTypeError("key_poses: rigid bodies do not support key poses")
        volume_type = VOLUME_TYPES[validate.choice("volume", options.get("volume", "aabb"), VOLUME_TYPES)]
        options.setdefault("policy", "fitted" if volume_type.loosened_by_merge else "auto")
        body = cls(vertices, faces, **options)
        body._rigid = True
        return body

    @classmethod
    def morph(cls, targets: ArrayLike | Iterable[ArrayLike], faces: ArrayLike, *, base: ArrayLike | None = None, relative: bool = False,
              rest: int | Literal["mean"] = 0, between: int = 0, volume: VolumeName = "aabb", build: BuilderName = "sah",
              arity: Literal[2, 4, 8] = 8, leaf: int = 8, policy: PolicyLike = "auto", origin: ArrayLike | None = None,
              weld: bool | float | ArrayLike = False) -> Body:
        """A body with morph targets (blend shapes): `update(weights)` sets the weight of each. The cost of an update does not depend on
        the number of vertices, and queries compute only the vertices of faces that they test.

        targets : (k, n, 3) vertices of each shape. Vertices are Σ w_i target_i, for weights (k,) that are not negative and sum to 1
        faces : as for `Body`
        base : (n, 3), for additive targets as in animation files: vertices are base + Σ w_i (target_i − base), for any weights
        relative : targets are displacements from the base
        rest : the target that the BVH is built on and the body starts at, or "mean" for equal weights; with a base, 0 is the base
        between : the number of additional reference volumes between consecutive targets, for tighter bounds between them
        policy : "auto" blends volumes as queries reach them; {"name": "blended", "stamps": False} blends them again at every visit;
            policies of free bodies compute all vertices in every update
        weld : as for `Body`; vertices are merged if they are together in all targets
        volume, build, arity, leaf, origin : as for `Body`

        >>> import pliant as pl
        >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
        >>> high = [[0, 0, 4], [1, 0, 4], [0, 1, 4]]
        >>> body = pl.Body.morph([low, high], [[0, 1, 2]])
        >>> body.update([0.25, 0.75])
        >>> body.vertices[0].tolist()
        [0.0, 0.0, 3.0]
        """
        between = validate.integer("between", between, range(MAX_BETWEEN))
        policies = policies_of("morph")
        policy_options: dict[str, Any] = policy_table(policy, policies)
        if policy_options.get("name") in ("auto", BLENDED.name):
            policy_options["name"] = BLENDED.name
            policy_options.setdefault("between", between)
        options = resolve_options(volume, build, policy_options, arity, leaf, policies)
        welding = validate_weld.weld("weld", weld)
        shapes = validate.targets("targets", targets)
        if validate.flag("relative", relative) and base is None:
            raise ArgumentTypeError("relative: targets are relative to a base, and none is given")
        if base is not None:
            base_rows = validate.positions("base", base, shapes.shape[1], "as many as targets have")
            validate.check_finite("base", base_rows)
            with np.errstate(over="ignore"):
                displacements = shapes if relative else shapes - base_rows
            for k, rows in enumerate(displacements):
                validate.check_finite(f"targets[{k}] − base", rows)
            shapes = np.concatenate([base_rows[None], displacements])
        indices = validate.faces("faces", faces, shapes.shape[1])
        motion = morph_motion(shapes, base is not None, origin, options.settings.get("between"))
        rest_target = rest if isinstance(rest, str) else validate.integer("rest", rest, range(len(shapes)))
        shape = validate.choice("rest", rest_target, ("mean",)) if isinstance(rest_target, str) else rest_target
        motion.update(motion.validate_input(motion.single_shape_weights(shape)))
        body = cls.__new__(cls)
        body._initialize(motion, indices, options, make_weld_map(welding, shapes, shapes.shape[1]), motion.vertices.copy())
        return body

    @classmethod
    def blended(cls, rest: ArrayLike, faces: ArrayLike, weights: ArrayLike | SparseWeights, *, maps: ArrayLike | None = None,
                volume: VolumeName = "aabb", build: BuilderName = "sah", arity: Literal[2, 4, 8] = 8, leaf: int = 8,
                policy: PolicyLike = "auto", origin: ArrayLike | None = None, weld: bool | float | ArrayLike = False) -> Body:
        """A body that affine maps move: skinning, meshless animation, scaling and shear. The cost of `update(maps)` does not depend on
        the number of vertices, and queries compute only the vertices of faces that they test.

        rest : (n, 3) vertices at rest, on which the BVH is built
        faces : as for `Body`
        weights : (n, m), dense or SciPy sparse: the weight of each map for each vertex, not negative, with sum 1 for every vertex.
            `pliant.Skeleton` and `pliant.MeshlessNodes` make them
        maps : (m, 3, 4) or (m, 4, 4) at the start, by default identities. Vertex v moves to (Σ w_j maps_j) · (v, 1)
        policy : "auto" bounds volumes by the maps as queries reach them; {"name": "convex", …} does so with options: `bound` "eq12"
            or "greedy", `boxes` "own", "aabb" or "obb", `leaves` "exact" or "bound". Policies of free bodies compute all vertices in
            every update
        weld : as for `Body`; vertices are merged if they are together at rest and have the same weights
        volume, build, arity, leaf, origin : as for `Body`

        >>> import pliant as pl
        >>> body = pl.Body.blended([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], [[1, 0], [0, 1], [0.5, 0.5]])
        >>> stays, lifts = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4]]
        >>> body.update([stays, lifts])
        >>> body.vertices[:, 2].tolist()
        [0.0, 4.0, 2.0]
        """
        policies = policies_of("blended")
        policy_options: dict[str, Any] = policy_table(policy, policies)
        if policy_options.get("name") == "auto":
            policy_options["name"] = CONVEX.name
        options, welding = resolve_options(volume, build, policy_options, arity, leaf, policies), validate_weld.weld("weld", weld)
        rows, indices = validate.mesh(rest, faces)
        motion = blended_motion(rows, weights, maps, origin)
        body = cls.__new__(cls)
        body._initialize(motion, indices, options, make_weld_map(welding, [rows], len(rows), motion.file_skin), rows)
        return body

    @classmethod
    def from_motion(cls, motion: Motion, faces: ArrayLike, *, volume: VolumeName = "aabb", build: BuilderName = "sah",
                    arity: Literal[2, 4, 8] = 8, leaf: int = 8, policy: PolicyLike = "auto",
                    weld: bool | float | ArrayLike = False) -> Body:
        """A body with a motion of another package, such as a subclass of `pliant.motion.procedural.ProceduralMotion`. Its `update` takes
        the input of that motion. The BVH is built on the present vertices.

        motion : an instance of a class that was registered with `register_motion`; the body owns it from now on
        faces : as for `Body`
        policy : a policy of free bodies, or of this motion; "auto" is the motion's own policy, if it has one
        volume, build, arity, leaf, weld : as for `Body`
        """
        name, faces_checked = type_of(motion).name, validate.faces("faces", faces, motion.count)
        if motion.has_body:
            raise ArgumentError("motion: moves another body already; make one for each body")
        policies, own = policies_of(name), next(iter(MOTION_POLICIES.get(name, ())), "auto")
        policy_options: dict[str, Any] = policy_table(policy, policies)
        if policy_options.get("name") == "auto":
            policy_options["name"] = own
        options, welding = resolve_options(volume, build, policy_options, arity, leaf, policies), validate_weld.weld("weld", weld)
        body = cls.__new__(cls)
        body._initialize(motion, faces_checked, options, make_weld_map(welding, [motion.vertices], motion.count),
                         motion.vertices.copy() if options.policy.motion else None)
        motion.has_body = True
        return body

    @property
    def faces(self) -> NDArray[np.int32]:
        """(f, 3) int32, read-only."""
        view = self._faces.view()
        view.flags.writeable = False
        return view

    @property
    def vertices(self) -> NDArray[np.float64]:
        """(n, 3) float64, a copy: the positions that `update` was given, to the bit; of a morphing or blended body the positions that it
        computes. The transform is applied to them.
        """
        with ReadLock(self._guard):
            return np.array(self._world_vertices()[0]).reshape(-1, 3)

    @property
    def transform(self) -> NDArray[np.float64]:
        """(4, 4) float64: from the vertices given to the world."""
        matrix, rows = np.eye(4), self._matrix
        if rows is not None:
            matrix[:3] = rows.reshape(3, 4)
        return matrix

    @property
    def n_computed(self) -> int | None:
        """The number of vertices computed since the last update. Of a blended body, those that queries have reached; of a free or rigid
        body, all. None for a morphing body, which does not record it.

        >>> import pliant as pl
        >>> pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).n_computed
        3
        """
        count: int | None = self._motion.n_computed
        return count

    @property
    def policy_log(self) -> list[Choice]:
        """The choices of `auto` so far: (update, policy, reason) each; empty for morphing and blended bodies, which need no choice."""
        if self._key_poses is not None:
            return list(self._key_poses.log())
        policy_state = self._bvh.policy_state if self._bvh is not None else None
        return list(policy_state.log) if policy_state is not None else []

    @property
    def key_pose(self) -> int | None:
        """The key pose whose BVH is used; None for a body without key poses, or without faces."""
        return None if self._key_poses is None or self._bvh is None else int(self._key_poses.key_of(self._bvh))

    def __len__(self) -> int:
        """The number of faces."""
        return len(self._faces)

    def __repr__(self) -> str:
        options, parts = self._options, self._motion.repr_parts + ("" if self._key_poses is None else f"{len(self._key_poses)} key poses, ")
        values = {"build": options.builder.name, "arity": options.arity, "leaf": options.leaf}
        others = "".join(f"{name}={value!r}, " for name, value in values.items() if value != DEFAULTS[name])
        return (f"Body({self._motion.count} vertices, {len(self)} faces, {parts}volume={options.volume_type.name!r}, {others}"
                f"policy={options.policy.name!r})")

    def update(self, vertices: ArrayLike | None = None, *, changed: ArrayLike | None = None, transform: ArrayLike | None = None,
               copy: bool = True, key_pose: int | None = None) -> None:
        """Set the vertices, and a rigid transform that is applied to them, by default the identity.

        A transform alone moves the body as a whole, without touching its vertices. Invalid input raises an error, and the body is
        unchanged.

        Parameters
        ----------
        vertices : (n, 3) positions; of a rigid body its transform instead, of a morphing body weights (k,), of a blended body maps
            (m, 3, 4) or (m, 4, 4)
        changed : (k,) indices of the vertices that have moved, or a mask (n,) of bool. `vertices` (k, 3) has their rows alone, or with a
            mask all rows; the other vertices stay. This is much cheaper where few have moved, if they are near each other
        transform : (4, 4) or (3, 4), a rotation and a translation
        copy : False borrows a float64 array in C order instead of copying it: do not modify it until the next update
        key_pose : with all vertices, use the BVH of that key pose from now on
        """
        self._apply(self._check_update(vertices, changed=changed, transform=transform, copy=copy, key_pose=key_pose))

    def _check_update(self, vertices: ArrayLike | None = None, *, changed: ArrayLike | None = None, transform: ArrayLike | None = None,
                      copy: bool = True, key_pose: int | None = None) -> _Update:
        """Validate the arguments of `update`."""
        validate.flag("copy", copy)
        if self._rigid and transform is None:
            if getattr(vertices, "shape", None) == (self._motion.count, 3) != (3, 3):
                raise ArgumentTypeError(f"update: a rigid body takes a matrix (4, 4), got shape {(self._motion.count, 3)}; "
                                        "bodies of Body(vertices, faces) take vertices")
            vertices, transform = None, vertices
        if vertices is None and transform is None:
            wanted = "a matrix (4, 4)" if self._rigid else f"{self._motion.input_name}, a transform or both"
            raise ArgumentTypeError(f"update: nothing given; expected {wanted}")
        if self._rigid and vertices is not None:
            raise ArgumentTypeError("update: a rigid body takes a matrix alone; use Body(vertices, faces) for vertices that move")
        matrix = None if transform is None else validate.transform("transform", transform)
        rows: Any = vertices
        indices = None if changed is None else validate.changed_indices("changed", changed, self._motion.count)
        if indices is not None:
            if vertices is None:
                raise ArgumentTypeError("update: changed is given without vertices; expected a row for each")
            if not self._motion.updates_single_vertices:
                raise ArgumentTypeError("update: changed is for bodies of which single vertices move; "
                                        f"a {self._motion.kind} body takes {self._motion.input_name} alone")
            rows = validate.changed_rows("vertices", vertices, indices, changed, self._motion.count)
        elif vertices is not None:
            rows = self._motion.validate_input(vertices)
        tree_key = None if key_pose is None else check_key_pose(self._key_poses, key_pose, rows, indices)
        if matrix is not None:
            validate.check_transform_range("transform", matrix, self._motion.bound_after(rows, indices),
                                           partial(self._motion.vertices_after, rows, indices))
        return _Update(rows, copy, indices, tree_key, matrix)

    def _apply(self, update: _Update) -> None:
        """Do what `_check_update` has validated."""
        self._guard.start_writing()
        try:
            if update.vertices is not None:
                self._apply_update(update.vertices, update.copy, update.changed, update.key_pose)
            self._matrix = None if update.matrix is None or update.matrix.tolist() == IDENTITY_LIST else update.matrix
            self._invalidate()
        finally:
            self._guard.stop_writing()

    def _apply_update(self, vertices: Any, copy: bool, changed: Any, key: int | None) -> None:
        """Update the motion, then invalidate the volumes; Ctrl-C must not leave one without the other."""
        old_bvh, all_moved = self._bvh, changed is None
        new_bvh = old_bvh if key is None else self._key_poses.bvh(key)  # built, if necessary, before anything changes
        try:
            if all_moved:
                self._motion.update(vertices, copy)
                if not self._options.policy.motion:
                    self._motion.complete()
            else:
                origin, scale = self._motion.origin[:3].tolist(), self._motion.scale
                self._motion.update_some(vertices, changed)
                all_moved = self._motion.origin[:3].tolist() != origin or self._motion.scale != scale
            if new_bvh is not None:
                new_bvh.take_over(old_bvh) if all_moved else new_bvh.invalidate_vertices(changed)
                self._bvh = new_bvh
        except MeshError:
            raise                                                       # invalid input: nothing has changed
        except BaseException:
            self._motion.restore()
            if not self._options.policy.motion:
                self._motion.complete()
            if self._bvh is not None:
                self._bvh.invalidate()
            self._invalidate()                                          # vertices may have moved
            raise

    def _invalidate(self) -> None:
        """Mark as out of date all that was computed from the vertices, here or in a scene."""
        self._version += 1
        for scene in self._observers:
            scene._mark_stale(self)

    def _bvh_at(self, scale: float) -> Bvh:
        """For queries: the BVH for coordinates times this power of two; the body's own, except for extreme ratios of sizes."""
        bvh, motion = self._bvh, self._motion
        assert bvh is not None                                          # queries reject bodies without faces
        if scale == motion.scale:
            return bvh
        cached = self._rescaled_bvh
        if cached is None or cached[:2] != (scale, self._version):
            points, options = aligned_zeros(len(motion.points), np.float32), self._options
            if options.policy.motion:                                   # its state is for volumes of the other scale
                options = options._replace(policy=POLICIES["bottom_up"], settings={})
            motion.complete()
            set_points(motion.flat, points, motion.origin, scale, aligned_zeros(4, np.float64))
            cached = self._rescaled_bvh = scale, self._version, Bvh(options, self._guard, self._welded_faces, points, bvh.tree)
        return cached[2]

    def _world_vertices(self) -> tuple[NDArray[np.float64], bool, float]:
        """For queries: world vertices, flat; whether they are in the filters' range; a bound on their rounding error."""
        self._motion.complete()
        if self._matrix is None:
            return self._motion.flat, self._motion.in_filter_range, 0.0
        cached = self._world_cache
        if cached is None or cached[0] != self._version:
            flat = np.empty_like(self._motion.flat)
            in_filter_range = transform_vertices(self._matrix, self._motion.flat, flat)
            cached = self._world_cache = self._version, flat, in_filter_range, rounding_bound(self._matrix, self._motion.box)
        return cached[1:]

    @property
    def bounds(self) -> NDArray[np.float64]:
        """(2, 3) float64: the low and the high corner of the tight axis-aligned box around the vertices; zeros without vertices. Computed
        from all vertices when first read after an update."""
        with ReadLock(self._guard):
            cached = self._bounds_cache
            if cached is None or cached[0] != self._version:
                rows = self._world_vertices()[0].reshape(-1, 3)
                box = np.stack([rows.min(axis=0), rows.max(axis=0)]) if len(rows) else np.zeros((2, 3))
                cached = self._bounds_cache = self._version, box
            return cached[1].copy()

    def _world_box(self) -> NDArray[np.float64]:
        """For queries: (2, 3) float64, a box around the vertices, computed without touching them. It is loose after a transform, partial
        updates, weights and maps."""
        matrix, box = self._matrix, self._motion.box
        if matrix is None:
            return np.array(box.reshape(2, 4)[:, :3])
        corners = np.empty(6)
        world_bounds(matrix, box, corners)
        return corners.reshape(2, 3)

    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces; for results (`results.Surface`)."""
        with ReadLock(self._guard):
            return np.asarray(self._world_vertices()[0].reshape(-1, 3)[self._welded_faces[faces]])

    def _topology(self) -> MeshTopology:
        """For queries: which faces share vertices, built at first use."""
        with self._guard.refit_lock:
            if self._mesh is None:
                bvh = self._bvh
                assert bvh is not None                                  # queries reject bodies without faces
                _, first = np.unique(bvh.tree.vertices, return_index=True)
                self._mesh = build_topology(self._welded_faces, self._motion.count, bvh.tree.vertices[np.sort(first)])
            return self._mesh

    @property
    def edges(self) -> NDArray[np.int32]:
        """(e, 2) int32, read-only: the edges of all faces, each once, the lower vertex first, sorted. Of vertices that are welded
        (`weld=`), that with the lowest index stands for all. Found when first read.

        >>> import pliant as pl
        >>> pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[2, 0, 1]]).edges.tolist()
        [[0, 1], [0, 2], [1, 2]]
        """
        return self._mesh_features().edges

    def _mesh_features(self) -> MeshFeatures:
        """For queries: edges, and the owners of edges and vertices, found at first use."""
        with self._guard.refit_lock:
            if self._features is None:
                self._features = find_features(self._welded_faces, self._motion.count)
            return self._features

    def _feature_tree(self) -> tuple[Any, MeshFeatures, LeafFeatures]:
        """For queries: a tree, the features of the mesh, and those that the leaves of the tree own."""
        features = self._mesh_features()
        with self._guard.refit_lock:
            bvh = self._bvh
            assert bvh is not None                                      # queries reject bodies without faces
            tree, known = bvh.tree, self._leaf_features
            if known is None or known[0] is not tree:
                known = self._leaf_features = tree, leaf_features(tree, features)
            return tree, features, known[1]

    def _open_edges(self) -> OpenEdges:
        """For queries: which edges have no face on one side, found at first use."""
        if self._edges is None:
            self._edges = find_open_edges(self._welded_faces)
        return self._edges

    def copy(self) -> Body:
        """Another body in the same state: mesh, BVH, options, transform and key pose. It shares nothing that an update of either body
        writes to, and it is in no scene. Copies of a rigid body are instances: they share the mesh and the BVH, so a thousand of them
        take the memory of one. `copy.copy` and `copy.deepcopy` return the same.

        >>> import pliant as pl
        >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> other = body.copy()
        >>> other.update([[0, 0, 5]], changed=[0])
        >>> body.vertices[0].tolist(), other.vertices[0].tolist()
        ([0.0, 0.0, 0.0], [0.0, 0.0, 5.0])
        """
        with ReadLock(self._guard):
            bvh, key_poses = self._bvh, self._key_poses
            body = type(self).__new__(type(self))
            if self._rigid:
                body.__dict__.update(self.__dict__)
                body._guard, body._observers, body._distance_cache = ReadWriteLock(), (), WeakKeyDictionary()
                body._border_cap = None
                return body
            body._initialize(self._motion.copy(), self._faces, self._options, self._weld_map, tree=None if bvh is None else bvh.tree,
                             key_poses=None if key_poses is None else key_poses.rows, key_pose=self.key_pose or 0)
            body._matrix = self._matrix
        return body

    def __copy__(self) -> Body:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Body:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """What `save` writes, in memory: for worker processes. The BVH travels with it; `load` never unpickles a file."""
        buffer = io.BytesIO()
        self.save(buffer)
        return _load_bytes, (buffer.getvalue(),)

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the body to a file, BVH included: loading needs no build. The file is not a pickle; it appears when it is complete.

        path : of the file, or a binary stream
        """
        with ReadLock(self._guard):
            bvh, key_poses = self._bvh, self._key_poses
            weld_map = np.arange(self._motion.count, dtype=np.int32) if self._weld_map is None else self._weld_map
            matrix = None if self._matrix is None else self.transform
            write_body(path, self._options, self._motion, self._faces, weld_map, None if bvh is None else bvh.tree, self._rigid, matrix,
                       None if key_poses is None else key_poses.rows, self.key_pose or 0)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO) -> Body:
        """Read a body that `save` wrote. The file is validated like any other input; invalid content is a `FileError`.

        path : of the file, or a binary stream
        """
        saved = read_body(path)
        body = cls.__new__(cls)
        body._initialize(saved.motion, saved.faces, saved.options, saved.weld_map, tree=saved.tree, key_poses=saved.key_poses,
                         key_pose=saved.key_pose)
        body._matrix, body._rigid = saved.transform, saved.rigid
        return body


def _load_bytes(content: bytes) -> Body:
    """A body from what `Body.__reduce__` gives."""
    return Body.load(io.BytesIO(content))
