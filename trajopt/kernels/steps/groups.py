"""Groups of indices that a product or a sum skips while they are inactive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.builder import Builder
from trajopt.kernels.numbers import Values
from trajopt.kernels.operations import LaneType
from trajopt.kernels.products import Ranges
from trajopt.kernels.steps.base import Array, ValuesByNumber


@dataclass(frozen=True)
class Groups:
    """Groups of adjacent indices; a group is active if one of its rows of `array` is not zero.

    Attributes:
        ranges: First index of each group, and the end; together all indices.
        array: Array with one row per index.
    """

    ranges: Ranges
    array: Array

    @property
    def identity(self) -> tuple[object, ...]:
        """Hashable content of the groups; equal groups have equal content."""
        return (self.ranges, self.array.number)

    def check(self, argument: str, size: int) -> None:
        """Raises InvalidArgumentError unless the groups cover indices 0..size - 1."""
        covered = [i for first, end in self.ranges for i in range(first, end)]
        if covered != list(range(size)) or self.array.shape[0] != size or len(self.ranges) > 64:
            raise InvalidArgumentError(
                f"{argument}: expected groups of indices 0..{size - 1}, 64 at most, and an array of {size} rows, "
                f"got {self}"
            )

    def matter(self, values: Values) -> npt.NDArray[np.bool_]:
        """Mask (size,) of the indices in active groups, for these values of the array."""
        chosen = np.zeros(len(values), dtype=np.bool_)
        for first, end in self.ranges:
            chosen[first:end] = np.any(values[first:end] != 0)
        return chosen


def arrays_of(*groups: Groups | None) -> tuple[Array, ...]:
    """Returns the arrays of the groups that are not None; their values decide which groups are active."""
    return tuple(g.array for g in groups if g is not None)


def ranges_of(groups: Groups | None) -> Ranges:
    """First index of each group, and the end; empty without groups."""
    return () if groups is None else groups.ranges


def matter(groups: Groups | None, values: ValuesByNumber, size: int) -> npt.NDArray[np.bool_]:
    """Mask of the active indices among `size`; all are active without groups."""
    return np.ones(size, dtype=np.bool_) if groups is None else groups.matter(values[groups.array.number])


def nonzero_name(size: int, width: int) -> str:
    """Symbol of the function that tests whether one of `size` elements is nonzero."""
    return f"trajopt_nonzero_{size}_{width}"


def nonzero_text(size: int, width: int) -> str:
    """LLVM text of `i1 name(double *a)`: whether an element is nonzero in a lane (NaN does not count)."""
    lanes = LaneType(width)
    b = Builder(f"define i1 @{nonzero_name(size, width)}(ptr %a)")
    if not size:
        return b.text("ret i1 false")
    zero = lanes.constant(0.0)
    with b.loop(0, size, carried=[(lanes.mask, "false" if width == 1 else "zeroinitializer")]) as loop:
        value = b.load(b.at("%a", (loop.index, width)), lanes.real, lanes.align)
        loop.carry(b.op(f"or {lanes.mask} {loop.values[0]}, {b.op(f'fcmp une {lanes.real} {value}, {zero}')}"))
    return b.text(f"ret i1 {b.any(loop.results[0], width)}")
