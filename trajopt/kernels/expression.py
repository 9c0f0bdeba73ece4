"""An SX function that a program calls; one that comes from the disk cache is unpacked when it is needed."""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None
"""Rows and columns of the elements that CasADi keeps of a sparse matrix, in its order; None for a dense one."""


class Expression:
    """An SX function, and what a program must know of it.

    Pickled, it is a compressed text that stays so until the function is asked for: a start whose machine code is in the
    cache needs no function.

    Args:
        function: The function.

    Attributes:
        digest: Hash of its content.
        instructions: Number of its instructions [-].
    """

    def __init__(self, function: ca.Function) -> None:
        self._function: ca.Function | None = function
        self._packed = b""
        self.digest = hashlib.sha256(function.serialize().encode()).hexdigest()
        self.instructions = int(function.n_instructions())

    @property
    def function(self) -> ca.Function:
        """The function."""
        return self._function or self.unpack()

    def unpack(self) -> ca.Function:
        """Makes the function ready, and returns it."""
        if self._function is None:
            self._function = ca.Function.deserialize(zlib.decompress(self._packed).decode())
        return self._function

    def evaluate(self, arrays: Sequence[Reals]) -> list[Reals]:
        """Outputs (rows, columns) for one array an input, of its size, by CasADi's evaluator.

        Buffers take 25 µs a call of a small function, CasADi's own matrices 185.
        """
        inputs, outputs = self._layout
        buffer: Any
        buffer, run = self.function.buffer()
        given = [_kept(array.reshape(shape), places) for array, (shape, places) in zip(arrays, inputs, strict=True)]
        found = [np.zeros(shape[0] * shape[1] if places is None else len(places[0])) for shape, places in outputs]
        for i, array in enumerate(given):
            buffer.set_arg(i, array.data)
        for i, array in enumerate(found):
            buffer.set_res(i, array.data)
        run()
        return [_whole(array, shape, places) for array, (shape, places) in zip(found, outputs)]

    @functools.cached_property
    def _layout(self) -> tuple[list[tuple[tuple[int, int], Places]], list[tuple[tuple[int, int], Places]]]:
        """Shape of each input and of each output, and the elements that CasADi keeps of it."""
        f = self.function
        sparsities = [f.sparsity_in(i) for i in range(f.n_in())], [f.sparsity_out(i) for i in range(f.n_out())]
        inputs, outputs = ([(s.size(), _places(s)) for s in group] for group in sparsities)
        return inputs, outputs

    def __getstate__(self) -> dict[str, Any]:
        packed = self._packed or zlib.compress(self.function.serialize().encode(), level=1)
        return {"_function": None, "_packed": packed, "digest": self.digest, "instructions": self.instructions}


def _places(sparsity: ca.Sparsity) -> Places:
    return None if sparsity.is_dense() else (np.array(sparsity.row(), int), np.array(sparsity.get_col(), int))


def _kept(array: Reals, places: Places) -> Reals:
    """The elements of a matrix that CasADi keeps, in its order."""
    return array.ravel(order="F") if places is None else array[places]


def _whole(kept: Reals, shape: tuple[int, int], places: Places) -> Reals:
    """The matrix of the elements that CasADi keeps."""
    if places is None:
        return np.ascontiguousarray(kept.reshape(shape[::-1]).T)
    whole = np.zeros(shape)
    whole[places] = kept
    return whole
