"""Some seeds of the fuzzer, and every case that was kept. `make fuzz SECONDS=…` plays many more: docs/fuzzing.md."""
import json

import pytest

from fuzz.cases import case_of, text_of
from fuzz.options import BLOCK, POLICIES, TABLE, campaign_of, first_with
from fuzz.play import play
from fuzz.run import CASES
from pliant.errors import ArgumentError
from pliant.volume.protocol import VOLUME_TYPES

pytestmark = pytest.mark.slow
SEEDS = range(30)                                                       # of the first campaign: boxes, which most tests compile
KEPT = sorted(CASES.glob("*.json"))


@pytest.mark.parametrize("first", range(0, len(SEEDS), 10))
def test_seeds(first):
    for seed in SEEDS[first:first + 10]:
        outcome = play(case_of(seed))
        assert outcome.differences == [], f"seed {seed}: " + "\n".join(map(str, outcome.differences))


def test_seeds_are_worth_it():
    """They ask many questions of bodies of all motions."""
    cases = [case_of(seed) for seed in SEEDS]
    assert {body["motion"] for case in cases for body in case["bodies"]} == {"free", "rigid", "morph", "blended"}
    done = {step["do"] for case in cases for step in case["steps"]}
    assert {"update", "changed", "transform", "control", "refused", "reload", "cast", "closest", "collide", "self_collide"} <= done


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_cases(path):
    outcome = play(json.loads(path.read_text()))
    assert outcome.differences == [], "\n".join(map(str, outcome.differences))


@pytest.mark.parametrize("seed", [0, 7, 3 * BLOCK + 5])
def test_a_seed_gives_one_case(seed):
    case = case_of(seed)
    assert case == case_of(seed)
    assert case != case_of(seed + 1)
    assert json.loads(text_of(case)) == case


def test_campaigns_go_through_all_volumes_and_policies():
    assert {pair for k in range(len(TABLE)) for pair in campaign_of(k * BLOCK).volumes} == set(TABLE)
    met = set()
    for seed in range(300):
        for body in case_of(seed)["bodies"]:
            policy = body["options"]["policy"]
            met.add(policy if isinstance(policy, str) else policy["name"])
            assert (body["options"]["volume"], body["options"]["arity"]) == ("aabb", 8)
    assert met >= set(POLICIES)


@pytest.mark.parametrize("volume", VOLUME_TYPES)
def test_a_volume_type_may_be_chosen(volume):
    """Campaigns with it alone, from the first on."""
    seed, skipped = first_with(volume, 100_007), range(100_007, first_with(volume, 100_007), BLOCK)
    assert seed % BLOCK == 7 and volume in dict(campaign_of(seed).volumes)
    assert not any(volume in dict(campaign_of(each).volumes) for each in skipped)


def test_an_unknown_volume_type_is_refused():
    with pytest.raises(ArgumentError, match=r"'ball'.*aabb"):
        first_with("ball", 0)
