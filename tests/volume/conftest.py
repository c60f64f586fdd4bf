"""What is given to the tests of all families."""

import numpy as np
import pytest

from pliant.tree.nodes import WIDTH_OF_ARITY


@pytest.fixture(params=sorted(set(WIDTH_OF_ARITY.values())), ids=lambda width: f"W{width}")
def width(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(41)
