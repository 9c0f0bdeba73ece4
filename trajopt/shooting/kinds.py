"""A kind of knot: a model, the knots that use it, and how they are evaluated.

Two classes implement it: `CompiledKind` for models that are expressions, `BlackBoxKind` for models in Python. Nobody
else asks which one a model is.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Self

from trajopt.actions.base import ActionModelAbstract
from trajopt.model.parameters import Parameter, ParameterLayout
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.kernels import Kernel
    from trajopt.shooting.evaluator import Evaluator
    from trajopt.shooting.linear_trial import LinearTrial
    from trajopt.shooting.trials import Trials


class KnotsCall(Protocol):
    """Work on the arrays of some knots, bound to them once: a `KernelCall`, or a `PythonCall`."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels that it runs."""

    def prepare(self) -> None:
        """Makes ready what it runs."""

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Works on blocks first..end-1 in order, on all by default."""


class Kind(ABC):
    """A model and the knots that use it. Knots of one kind share their code; each has a row of parameter values.

    Calls are bound to the arrays of an `Evaluator`, or of its `Trials`. Those of running knots are bound for all kinds
    of one class together, so that one call serves all compiled knots.

    Args:
        model: The model.
        knots: Its knots, ascending.
        terminal: Whether it is the end of the horizon.
        layout: Its run-time parameters, and where each of them is in a row of values.
    """

    def __init__(
        self, model: ActionModelAbstract, knots: Sequence[int], *, terminal: bool, layout: ParameterLayout
    ) -> None:
        self.model, self.knots, self.terminal, self.layout = model, tuple(knots), terminal, layout

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its run-time parameters by name."""
        return self.layout.parameters

    def rows(self, table: Reals) -> Reals:
        """The parameter values of its knots (n, size), of a table with one row for each of 0..T."""
        return table[list(self.knots), : self.layout.size]

    def can_fail(self, evaluator: Evaluator) -> bool:
        """Whether a step of its programs may fail, such as an iteration."""
        return False

    @functools.cached_property
    def nc(self) -> int:
        """Number of constraint rows of its model [-]."""
        return self.model.nc

    def row_sizes(self) -> dict[str, int]:
        """Number of rows of each constraint of its model, by name [-]."""
        return self.model.constraints.sizes(self.model.stage_nu)

    def row_bounds(self, values: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of its constraint rows (n, nc), with parameter values as of `rows`."""
        return self.model.constraints.row_bounds(self.model.stage_nu, self.layout, values)

    def row_softness(self, values: Reals) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of the slacks of its rows (n, nc), see `ConstraintStack.row_softness`."""
        return self.model.constraints.row_softness(self.model.stage_nu, self.layout, values)

    @property
    def lift_size(self) -> int | None:
        """Smallest size of the blocks of a lift, see `trajopt.actions.Lift`; None if its model has none."""
        return None

    # Calls

    @classmethod
    @abstractmethod
    def expansions(cls, kinds: Sequence[Self], evaluator: Evaluator) -> list[KnotsCall]:
        """Calls that fill values and derivatives of all running knots of these kinds."""

    @abstractmethod
    def terminal_expansion(self, evaluator: Evaluator) -> KnotsCall:
        """Call that fills value and derivatives of the end."""

    @classmethod
    @abstractmethod
    def steps(cls, kinds: Sequence[Self], trials: Trials) -> KnotsCall:
        """Call whose blocks t are the steps of a rollout from knot t to the next, for the knots of these kinds."""

    @abstractmethod
    def terminal_step(self, trials: Trials) -> KnotsCall:
        """Call that ends a rollout."""

    @classmethod
    @abstractmethod
    def points(cls, kinds: Sequence[Self], trial: LinearTrial) -> list[KnotsCall]:
        """Calls that fill a linear trial at all running knots of these kinds."""

    @abstractmethod
    def terminal_point(self, trial: LinearTrial) -> KnotsCall:
        """Call that fills a linear trial at the end."""

    # Numbers, for inspection

    @abstractmethod
    def quasi_static(self, x: Reals, values: Reals) -> Reals:
        """Control (nu,) that holds a state (nx,) as well as it can, with a row of parameter values."""

    @abstractmethod
    def cost_terms(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Contribution of each cost term at all knots of the kind, (n,) each [cost].

        Args:
            xs: States (n, nx).
            us: Controls (n, nu) of the running knots; the end has none.
            values: Parameter values, see `rows`.
        """

    @abstractmethod
    def contact_forces(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Force of each contact, or impulse, at all knots of the kind, (n, size) each; arguments as in `cost_terms`."""

    def torques(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        """Torque of each motor at all knots of the kind, (n,) each; arguments as in `cost_terms`."""
        return {}


def by_class(kinds: Iterable[Kind]) -> dict[type[Kind], list[Kind]]:
    """Kinds of one class together, in the order in which they come."""
    found: dict[type[Kind], list[Kind]] = {}
    for kind in kinds:
        found.setdefault(type(kind), []).append(kind)
    return found
