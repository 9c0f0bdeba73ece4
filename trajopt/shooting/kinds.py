"""A kind of knot: a model, the knots that use it, and the way they are evaluated.

Two classes implement it: `CompiledKind` for models that are expressions, `BlackBoxKind` for models in Python. No other
code distinguishes the two.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Self

from trajopt.actions.base import ActionModelAbstract
from trajopt.constraints.row_block import RowBlock, row_bounds, row_softness
from trajopt.model.parameters import Parameter, ParameterLayout
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.kernels import Kernel
    from trajopt.shooting.evaluator import Evaluator
    from trajopt.shooting.linear_trial import LinearTrial
    from trajopt.shooting.trials import Trials


class KnotsCall(Protocol):
    """Work on the arrays of some knots, to which it is bound: a `KernelCall` or a `PythonCall`."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels that the call runs."""

    def prepare(self) -> None:
        """Compiles the code that the call runs, if there is any."""

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Runs blocks first..end-1 in order; by default all of them."""


class Kind(ABC):
    """A model and the knots that use it. These knots share their code; each has its own row of parameter values.

    Calls are bound to the arrays of an `Evaluator` or of its `Trials`. One call serves the running knots of all kinds
    of one class, so that compiled knots need a single call.

    Args:
        model: The model.
        knots: Numbers of its knots, ascending.
        terminal: Whether the knot is the end of the horizon.
        layout: Run-time parameters of the model, and their positions in a row of values.
    """

    def __init__(
        self, model: ActionModelAbstract, knots: Sequence[int], *, terminal: bool, layout: ParameterLayout
    ) -> None:
        self.model, self.knots, self.terminal, self.layout = model, tuple(knots), terminal, layout

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Run-time parameters of the model by name."""
        return self.layout.parameters

    @property
    def title(self) -> str:
        """Class of the model, with the names of its cost terms and constraints."""
        terms, rows = self.model.model_parts.terms, self.model.constraints.names
        names = ", ".join([*(term.name for term in terms), *rows])
        return f"{type(self.model).__name__}({names})" if names else type(self.model).__name__

    def rows(self, table: Reals) -> Reals:
        """Rows (n, size) of the parameter values of its knots, from a table with one row for each knot 0..T."""
        return table[list(self.knots), : self.layout.size]

    def can_fail(self, evaluator: Evaluator) -> bool:
        """True if a step of its programs may fail, such as an iteration."""
        return False

    @functools.cached_property
    def row_blocks(self) -> tuple[RowBlock, ...]:
        """Constraint rows of its knots."""
        return self.model.end_blocks if self.terminal else self.model.row_blocks

    @functools.cached_property
    def nc(self) -> int:
        """Number of constraint rows of its knots [-]."""
        return sum(block.size for block in self.row_blocks)

    def row_sizes(self) -> dict[str, int]:
        """Number of rows of each block by name, such as "tool" or "tool at dt/2" [-]."""
        return {block.name: block.size for block in self.row_blocks}

    def row_bounds(self, values: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the constraint rows (n, nc); `values` are parameter values from `rows`."""
        return row_bounds(self.row_blocks, self.layout, values)

    def row_softness(self, values: Reals) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of the rows' slacks (n, nc); inf and 0 for hard rows."""
        return row_softness(self.row_blocks, self.layout, values)

    @property
    def lift_size(self) -> int | None:
        """Smallest block size of a lift, see `trajopt.actions.Lift`; None if the model has no lift."""
        return None

    @property
    def constant_states(self) -> int:
        """Number of states of the model that never change, the last ones [-]."""
        return 0

    # Calls

    @classmethod
    @abstractmethod
    def expansions(cls, kinds: Sequence[Self], evaluator: Evaluator) -> list[KnotsCall]:
        """Calls that fill values and derivatives of all running knots of these kinds."""

    @abstractmethod
    def terminal_expansion(self, evaluator: Evaluator) -> KnotsCall:
        """Call that fills the value and derivatives of the terminal knot."""

    @classmethod
    @abstractmethod
    def steps(cls, kinds: Sequence[Self], trials: Trials) -> KnotsCall:
        """Call with one block per knot t of these kinds; block t is the step of a rollout from knot t to the next."""

    @abstractmethod
    def terminal_step(self, trials: Trials) -> KnotsCall:
        """Returns the call that computes the terminal knot at the end of a rollout: cost, dx and constraint rows."""

    @classmethod
    @abstractmethod
    def points(cls, kinds: Sequence[Self], trial: LinearTrial) -> list[KnotsCall]:
        """Calls that evaluate a linear trial at all running knots of these kinds."""

    @abstractmethod
    def terminal_point(self, trial: LinearTrial) -> KnotsCall:
        """Returns the call that computes state, cost and constraint rows of the terminal knot of a linear trial."""

    # Numbers, for inspection

    @abstractmethod
    def quasi_static(self, x: Reals, values: Reals) -> Reals:
        """Control (nu,) that best holds a state (nx,) at rest; `values` is one row of parameter values."""

    @abstractmethod
    def cost_terms(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Value of each cost term at all knots of the kind, (n,) each [cost].

        Args:
            xs: States (n, nx).
            us: Controls (n, nu) of the running knots; the terminal knot has none.
            values: Parameter values, see `rows`.
        """

    @abstractmethod
    def contact_forces(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Force or impulse by name of the contact, (n, size) [N, N m] or [N s, N m s]; arguments as in `cost_terms`."""

    def torques(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Torque of each motor by name, (n,) [N m, N]; arguments as in `cost_terms`."""
        return {}


def by_class(kinds: Iterable[Kind]) -> dict[type[Kind], list[Kind]]:
    """Returns lists of kinds by their class, with the classes in order of first occurrence."""
    groups: dict[type[Kind], list[Kind]] = {}
    for kind in kinds:
        groups.setdefault(type(kind), []).append(kind)
    return groups
