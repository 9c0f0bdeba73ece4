"""The cost of time is the duration."""

import numpy as np
import pytest

import trajopt
from tests.support.free_problems import Mass


@pytest.mark.parametrize("integrator", [trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4])
def test_the_cost_of_time_is_the_duration(integrator: type[trajopt.IntegratedActionModelEuler]) -> None:
    model = Mass(2, None)  # with a cost of time
    end = trajopt.ActionModelTerminal(trajopt.CostStack(model.state))
    problem = trajopt.ShootingProblem([1.0, 2.0], [integrator(model, dt=0.15)] * 20, end)
    us = np.sin(np.arange(20.0))[:, None]
    assert problem.calc(problem.rollout(us), us).cost == pytest.approx(3.0, abs=1e-12)
