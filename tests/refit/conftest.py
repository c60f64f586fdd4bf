"""Fixtures of the tests of policies."""

import pytest

from pliant.refit import auto


@pytest.fixture
def hasty(monkeypatch):
    """Looks come so often, and at bodies so small, that a few frames show everything."""
    for name, value in {"LEAF_CHECK_INTERVAL": 2, "MIN_FACES": 0, "MIN_SAMPLE_INTERVAL": 2, "MAX_SAMPLE_INTERVAL": 4, "TEST_COST": 0,
                        "MIN_WAIT": 8, "MAX_WAIT": 64}.items():
        monkeypatch.setattr(auto, name, value)
