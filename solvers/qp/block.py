"""Flat arrays with one entry for each row of a program, in a block that machine code works on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.types import Reals

CELL = 8  # doubles; arrays end with whole cells, and begin at multiples of them


class Block:
    """Named arrays of one shape in one piece of memory. Padding behind each array keeps its first value.

    Args:
        first: Name and first value of each array, in the order that the machine code knows.
        shape: Shape of each array.

    Attributes:
        address: Address of the first array.
        size: Distance between the starts of two arrays [doubles].
    """

    def __init__(self, first: Mapping[str, float], shape: tuple[int, ...]) -> None:
        count = int(np.prod(shape))
        self.size = -(-count // CELL) * CELL
        room = np.empty(len(first) * self.size + CELL)
        skipped = -int(room.ctypes.data) // 8 % CELL
        self._block = room[skipped : skipped + len(first) * self.size].reshape(len(first), self.size)
        self.address = int(self._block.ctypes.data)
        self._arrays: dict[str, Reals] = {}
        for row, (name, value) in zip(self._block, first.items()):
            row[:] = value
            self._arrays[name] = row[:count].reshape(shape)

    def __getitem__(self, name: str) -> Reals:
        return self._arrays[name]
