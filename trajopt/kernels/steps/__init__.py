"""Steps of a program: their interface and the available kinds."""

from trajopt.kernels.steps.base import Array, PatternOf, Step, ValuesByNumber
from trajopt.kernels.steps.call import Call
from trajopt.kernels.steps.dense import Dense
from trajopt.kernels.steps.elementwise import Elementwise
from trajopt.kernels.steps.factorisation import Factorisation, TriangularSolve
from trajopt.kernels.steps.groups import Groups
from trajopt.kernels.steps.iteration import Iteration
from trajopt.kernels.steps.pairs import PairCalls
from trajopt.kernels.steps.product import MatrixProduct
from trajopt.kernels.steps.slice import Slice
from trajopt.kernels.steps.sum import Sum

__all__ = [
    "Array",
    "Call",
    "Dense",
    "Elementwise",
    "Factorisation",
    "Groups",
    "Iteration",
    "MatrixProduct",
    "PairCalls",
    "PatternOf",
    "Slice",
    "Step",
    "Sum",
    "TriangularSolve",
    "ValuesByNumber",
]
