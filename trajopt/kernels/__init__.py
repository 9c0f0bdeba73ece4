"""Compiler from expressions to machine code that evaluates several knots at once."""

from trajopt.kernels.call_sequence import CallSequence
from trajopt.kernels.compiler import compilations, compiled
from trajopt.kernels.driver import KernelCall, Rows, blocks_of, lane_rows, rows
from trajopt.kernels.group_calls import GroupCalls, Stage
from trajopt.kernels.lane_copies import LaneChoice, copy_vectors
from trajopt.kernels.machine import (
    Kernel,
    compile_together,
    forget,
    kernel,
    lane_count,
    wait_until_optimised,
    without_background,
)
from trajopt.kernels.parallel import ParallelCalls, SideBySide
from trajopt.kernels.program import Program
from trajopt.kernels.reductions import Reduction
from trajopt.kernels.steps import Array, PairCalls, Step
from trajopt.kernels.threads import get_num_threads, set_num_threads
from trajopt.kernels.vector_sines import with_vector_sines

__all__ = [
    "Array",
    "CallSequence",
    "GroupCalls",
    "Kernel",
    "KernelCall",
    "LaneChoice",
    "PairCalls",
    "ParallelCalls",
    "Program",
    "Reduction",
    "Rows",
    "SideBySide",
    "Stage",
    "Step",
    "blocks_of",
    "compilations",
    "compile_together",
    "compiled",
    "copy_vectors",
    "forget",
    "get_num_threads",
    "kernel",
    "lane_count",
    "lane_rows",
    "rows",
    "set_num_threads",
    "wait_until_optimised",
    "with_vector_sines",
    "without_background",
]
