"""Surfaces of pieces against a graph."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.check.flood import join_pieces


@given(st.integers(1, 9), st.data())
def test_pieces_that_faces_join(pieces, data):
    corners = np.array(data.draw(st.lists(st.tuples(*[st.integers(-1, pieces - 1)] * 3), max_size=12)), np.int32).reshape(-1, 3)
    surfaces = np.arange(pieces, dtype=np.int32)
    join_pieces(corners, surfaces)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = edges[(edges >= 0).all(axis=1)]
    _, labels = connected_components(coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(pieces, pieces)), directed=False)
    assert surfaces.tolist() == [labels.tolist().index(label) for label in labels.tolist()], "the lowest piece of each"
