"""Arrays that compiled code reads and writes."""

from __future__ import annotations

import pytest

from trajopt.shooting.arrays import in_one_piece, padded


@pytest.mark.parametrize("shape", [(1,), (3, 5), (7, 0), (100, 36, 36)])
def test_arrays_start_with_a_cache_line(shape: tuple[int, ...]) -> None:
    for array in (padded(shape), *in_one_piece(shape, (3,), shape)[1]):
        assert array.ctypes.data % 64 == 0 or not array.size
        assert array.flags.c_contiguous
        assert not array.any()
