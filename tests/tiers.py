"""Which tests belong to the short tier. `make test` runs these, `make test-full` all others, pytest alone everything.

What a test costs is mostly compiling: each bounding-volume type, each width of nodes and each pair of them is another loop. So the short
tier has two types, nodes of eight, and one mixed pair; of a function with many cases it takes a few, spread evenly over all; and it leaves
out what FULL names. `docs/tiers.md` tells contributors.
"""
from collections import defaultdict

from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS
from pliant.volume.protocol import VOLUME_TYPES, VolumeType

TIERS = ("all", "short", "full")
VOLUMES = ("aabb", "obb")
MIXED = {"aabb", "obb"}
WIDE = 8
CASES = {"jit": 5, "off": 4, "cuda": 1}                                 # of one function
OFF_FOLDERS = ("core", "geometry", "volume")                            # with the JIT off: formulas and the protocol

# Files, or functions of a file, that are for the full tier: why.
FULL = {
    "fuzz/test_fuzz_itself.py": "the fuzzer finds faults that are put in: many runs",
    "fuzz/test_fuzz.py::test_kept_cases": "cases of all volume types",
    "geometry/test_triangle_overlap.py::test_the_long_run_in_small": "adversarial triangles, thousands of each kind",
    "volume/test_slabcutball.py::test_close_proximity": "every volume type on two close bodies",
    "test_volumes_benchmark.py": "a random run of every volume type",
    "test_range_motions.py": "sizes of all motions; test_range.py has those of free bodies",
    "test_range.py::test_volume_types": "sizes of all volume types",
    "geometry/test_fastmath.py": "both compile orders of every kernel entry",
    "geometry/test_bounds_large.py": "longer attacks",
    "volume/test_bounds_volumes.py": "attacks on all volume types; those of geometry/ are in the short tier",
    "query/test_bounds_queries.py": "attacks on queries",
    "refit/test_bounds_refits.py": "attacks on refits",
    "io/test_subprocess.py": "processes that crash, hang and eat memory",
    "io/test_subprocess_files.py": "the same with files",
    "core/test_cache.py": "the cache of kernels, in processes of their own",
    "core/test_cache_damaged.py": "the same with damaged files",
    "query/test_frustum.py::test_morphing_bodies": "morphing and blended bodies, with all policies",
    "test_scene_distances.py::test_bodies_of_all_motions": "scenes of all motions, in every batch that is compiled for them",
    "core/test_lazy_compile.py::test_kernels_from_the_disk_cache_call_it": "the cache of kernels, in processes of their own",
    "io/test_meshes.py::test_a_face_of_many_corners_takes_no_time": "the largest face that is refused, timed by the processor",
    "refit/test_fitted.py::test_slabs_chosen_with_the_parent_need_fewer_tests_of_slivers": "a count of volume tests on binary BVHs",
    "test_mutants.py": "the faults that tools/mutants.py draws",
    "test_names.py": "names and phrases; make lint runs it",
    "query/collide/test_collide_properties.py": "properties on many examples; test_collide.py has the cases",
    "query/collide/test_self_collide_properties.py": "properties on many examples; test_self_collide.py has the cases",
    "query/ray/test_rays_properties.py": "properties on many examples",
    "query/ray/test_rays_scenes.py": "scenes of many bodies, in a tree",
    "test_extend.py::test_every_query": "every query with the example extension, in three orders of imports",
    "test_extend.py::test_every_query_compiled": "compiles every query for one more volume type",
    "test_extend.py::test_every_policy_and_motion": "every policy and motion with it, also compiled",
    "test_extend.py::test_the_volume_type_keeps_the_protocol": "the tests of the protocol for one more volume type",
    "test_scene_distances.py::test_another_type_and_boxes": "scenes of every volume type",
    "refit/test_auto.py::test_volumes_that_are_dear_are_left_alone_sooner": "volume types beside boxes, rebuilt in the background",
    "test_cli.py::test_warm_says_if_nothing_was_kept": "compiles in processes of its own",
    "test_cli.py::test_warm_exports_and_imports": "compiles everything, and takes it to another cache",
    "test_cli.py::test_warm_says_how_long_it_took": "compiles everything",
    "test_types.py::test_a_program_passes": "a type checker, which make test does not install",
    "test_types.py::test_wrong_programs_do_not": "the same",
    "test_docs.py": "the examples of all docstrings",
    "test_site.py": "the documentation as a site",
    "test_site_pages.py": "its pages in a browser",
    "test_tutorials.py": "tutorials, as programs",
    "test_doc_pictures.py": "pictures of the documentation",
    "test_watertight.py": "the benchmark of rays, small",
    "query/continuous/test_ccd_bodies.py::test_meshes_on_a_lattice": "a property on many examples, against rational arithmetic",
    "query/continuous/test_ccd_bodies.py::test_orders_change_nothing": "the same",
    "query/proximity/test_contact_features.py::test_lattice_meshes": "a property on many examples, against rational arithmetic",
    "query/proximity/test_contact_features.py::test_the_order_of_bodies_changes_nothing": "the same",
    "test_packing.py": "a benchmark on a GPU, in the simulator",
}
EXPERIMENTS = "experiments/"                                            # the folder of tests that run the experiments of papers, small
# Cases of a file in all, or of a function, where the rules take more.
SHORT = {"report/test_page.py": 2, "fuzz/test_fuzz.py::test_seeds": 1, "test_range.py::test_query_of_two_bodies": 3,
         "query/test_frustum.py": 20, "check/test_between_frames.py::test_contacts_that_no_frame_shows": 3,
         "check/test_between_frames.py::test_a_bullet_passes_through_a_plate": 3}


def is_small(value):
    """Does this parameter of a test stay within VOLUMES and WIDE?"""
    if isinstance(value, dict):
        return value.get("arity", WIDE) == WIDE and is_small(value.get("volume", "aabb"))
    if isinstance(value, (tuple, list)):
        volumes = {each["volume"] if isinstance(each, dict) else each for each in value
                   if (isinstance(each, dict) and "volume" in each) or (isinstance(each, str) and each in VOLUME_TYPES)}
        return all(map(is_small, value)) and (len(volumes) < 2 or volumes == MIXED)
    name = value.name if isinstance(value, VolumeType) else value
    return not (isinstance(name, str) and name in VOLUME_TYPES) or name in VOLUMES


def is_left_out(path, function, call, mode):
    """Is a case for the full tier by itself, whatever others there are?"""
    if path in FULL or f"{path}::{function}" in FULL or path.startswith(EXPERIMENTS):
        return True
    if mode == "off" and path.partition("/")[0] not in OFF_FOLDERS:
        return True
    if call is None or mode != "jit":
        return False
    return not all(map(is_small, call.values())) or call.get("width", WIDE) != WIDE or call.get("arity", WIDE) != WIDE


def spread(cases, n):
    """n of the cases, evenly."""
    return cases if len(cases) <= n else [cases[k * len(cases) // n] for k in range(n)]


def short(items, folder, mode):
    """The items of the short tier, as a set. `mode`: "jit", "off" or "cuda"."""
    functions, chosen = defaultdict(list), set()
    for item in items:
        path, call = item.path.relative_to(folder).as_posix(), getattr(item, "callspec", None)
        if not is_left_out(path, item.originalname, call and call.params, mode):
            functions[path, item.cls, item.originalname].append(item)
    for (path, _, function), cases in functions.items():
        chosen.update(spread(cases, min(SHORT.get(f"{path}::{function}", CASES[mode]), CASES[mode])))
    for path, n in SHORT.items():
        mine = [item for item in items if item in chosen and item.path == folder / path]
        chosen.difference_update(set(mine) - set(spread(mine, n)))
    return chosen


def missing(rows):
    """Policies and builders that none of these options of bodies has."""
    small = [row for row in rows if is_small(row)]
    return set(POLICIES) - {row["policy"] for row in small}, set(BUILDERS) - {row["build"] for row in small}
