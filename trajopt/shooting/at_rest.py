"""Controls that hold a state at rest, from the model of a knot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.actions.black_box_errors import class_name
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, pass_on_signal
from trajopt.shooting.black_box import BlackBoxKind
from trajopt.shooting.kinds import Kind
from trajopt.types import Reals


def controls_at_rest(kinds: Sequence[Kind], states: Reals, values: Reals, nu: int) -> Reals:
    """Controls (T, nu) that hold states (T, nx) at rest, with parameter values (T + 1, n) of all knots.

    Raises:
        ModelEvaluationError: A model raised an error; the message names the knot.
    """
    controls = np.zeros((len(states), nu))
    for kind in kinds:
        cache: dict[bytes, Reals] = {}
        for t in kind.knots if kind.model.nu else ():
            key = states[t].tobytes() + values[t].tobytes()
            if key not in cache:
                cache[key] = _control_at_rest(kind, t, states[t], values[t])
            controls[t, : kind.model.nu] = cache[key]
    return controls


def _control_at_rest(kind: Kind, t: int, x: Reals, values: Reals) -> Reals:
    """Control (nu,) that holds a state (nx,) at rest at knot t, with parameter values of the knot.

    Raises:
        ModelEvaluationError: The model raised an error; the message names the knot.
    """
    try:
        return kind.quasi_static(x, values)
    except ModelEvaluationError as error:
        if str(error).startswith("knot "):
            raise
        raise ModelEvaluationError(f"knot {t}: {error}") from error.__cause__ or error
    except InvalidArgumentError as error:  # of a user's expression
        raise ModelEvaluationError(f"knot {t}: {error}") from error
    except Exception as error:
        pass_on_signal(error)
        missing = isinstance(error, NotImplementedError) and isinstance(kind, BlackBoxKind)
        cure = "; implement quasi_static, or pass us to solve" if missing else ""
        raise ModelEvaluationError(
            f"knot {t}: {class_name(kind.model)}.quasi_static, the control that holds a state at rest, raised "
            f"{type(error).__name__}: {error}{cure}"
        ) from error
