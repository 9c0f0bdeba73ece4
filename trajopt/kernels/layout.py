"""Layout of the scratch memory in which a program keeps its arrays while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Layout:
    """Layout of a program's scratch: offsets from its start, in scalars of W lanes.

    Attributes:
        arrays: Offset of each array, by number, that steps write and that is neither an output nor a slice of an input.
        steps: Offset of the scratch of the running step.
        end: End of the memory that the program itself needs.
    """

    arrays: dict[int, int]
    steps: int
    end: int


def layout(program: Program) -> Layout:
    """Returns the layout of the scratch: the offset of each array that steps write, except outputs, and the size."""
    written = {array: None for step in program.steps for array in step.writes if not step.names_only}
    offsets, end = {}, 0
    for array in sorted(written.keys() - {*program.outputs}, key=lambda array: array.number):
        offsets[array.number] = end
        end += array.size
    return Layout(offsets, end, end + max((step.scratch for step in program.steps), default=0))
