"""Control limits of the models of a problem, as the rollout family keeps them."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.ddp.box_options import BoxOptions
from trajopt.solvers.ddp.searches import LineSearch, LineStep
from trajopt.solvers.options import SolverOptions
from trajopt.solvers.riccati.recursion import BOX_OPTIONS
from trajopt.solvers.riccati.riccati import ControlBox
from trajopt.types import Reals


class ControlLimits:
    """Limits of all controls, and of the steps from the controls of an evaluator.

    Args:
        evaluator: Evaluator of the problem, with the controls.
        options: The options, which are `BoxOptions`.

    Attributes:
        options: The options.
        lower: Lower limits (T, nu), infinite where there are none.
        upper: Upper limits.
        box: Limits of du, about the controls of the last `centre`.
        holds: Whether backward passes hold controls at a limit that their gains lead beyond.
        held: Whether those of this iteration held any, so that they may promise less than there is to gain.
    """

    def __init__(self, evaluator: Evaluator, options: SolverOptions) -> None:
        assert isinstance(options, BoxOptions)
        self._e, self.options = evaluator, options
        self.lower, self.upper = evaluator.control_limits()
        numbers = np.array([float(getattr(options, f"box_{name}")) for name in BOX_OPTIONS])
        self.box = ControlBox(np.empty_like(self.lower), np.empty_like(self.upper), numbers)

    def begin(self, search: LineSearch) -> None:
        """Reads the limits anew, for a search too, and forgets the last feed-forward."""
        self.lower[:], self.upper[:] = self._e.control_limits()
        search.limit(self.lower, self.upper)
        self._e.k[:] = 0.0
        self.holds = self.held = False

    def centre(self) -> None:
        """Sets `box` to the limits lower - us and upper - us of a step du, with the evaluator's current controls us."""
        np.subtract(self.lower, self._e.us, out=self.box.lower)
        np.subtract(self.upper, self._e.us, out=self.box.upper)

    def judge(self, step: LineStep) -> None:
        """From the first short step on, controls are held."""
        self.holds = self.holds or (step.short and self.options.box_exact)

    def hold(self, du: Reals) -> bool:
        """Holds, in `box`, controls at a limit that a step du (T, nu) leads beyond; whether there are any."""
        box = self.box
        beyond = ((du < 0.0) & (box.lower == 0.0)) | ((du > 0.0) & (box.upper == 0.0))
        box.lower[beyond] = box.upper[beyond] = 0.0
        self.held = self.held or bool(beyond.any())
        return bool(beyond.any())

    def clip(self, us: Reals) -> Reals:
        """Returns the controls us (T, nu) clipped to the limits."""
        return np.clip(us, self.lower, self.upper)
