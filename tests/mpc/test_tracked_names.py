"""Names of tracked quantities."""

import casadi

import trajopt
from trajopt import mpc


def test_tracked_coordinates_have_the_model_s_own_names() -> None:
    """Of a cart with a pole: two velocities that would both be called "velocity"."""
    names, units = ["p", "angle", "v", "rate"], ["m", "rad", "m/s", "rad/s"]
    state = trajopt.StateVector(4, names=names, units=units)

    class Cart(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x, u):
            return casadi.vertcat(u[0], 9.81 * casadi.sin(x[1]) - u[0] * casadi.cos(x[1]))

    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=0.1)
    knot = trajopt.IntegratedActionModelEuler(Cart(state, 1, costs), dt=0.05)
    end = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=10.0)
    problem = trajopt.ShootingProblem([0.1, 0.1, 0.0, 0.0], [knot] * 20, end)
    log = mpc.simulate(mpc.MPCController(problem), None, [0.1, 0.1, 0.0, 0.0], 0.2)
    own = [f"state: {name}" for name in names]
    assert [each.name for each in log.tracked] == own
    assert set(own) < set(log.report())
    assert [axes.get_title(loc="left") for axes in log.plot_tracking().axes] == own
