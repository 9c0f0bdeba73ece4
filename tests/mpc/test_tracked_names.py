"""Names of tracked quantities."""

import dataclasses

import casadi
import numpy as np

import trajopt
from tests.mpc.slider import controller
from trajopt import mpc, problems
from trajopt.mpc.sensing import Sensing
from trajopt.mpc.tracking import Tracked


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


def test_the_drawn_path_is_that_of_the_tracked_frame(tmp_path) -> None:
    """And not that of the tool 10 cm before it; a log from a file knows it, too."""
    log = problems.mpc.load("arm-tracking").simulate(0.05)
    frame = log.tracked[0].frame
    assert frame
    np.testing.assert_allclose(log.motion.frame_path(frame)[:-1], log.tracked[0].actual, atol=1e-9)
    texts = log.plot(tmp_path / "log.png").findobj(lambda each: hasattr(each, "get_text"))
    assert f"path of {frame}" in " ".join(text.get_text() for text in texts)
    assert mpc.ClosedLoop.load(log.save(tmp_path / "log.npz")).tracked[0].frame == frame


def test_a_constant_reference_of_zero_is_no_target_beside_one_that_moves() -> None:
    log = mpc.simulate(controller(), None, [0.0, 0.2], 0.5)
    times = log.sample_times[:-1, None]
    place = Tracked(name="place", labels=("q",), unit="m", actual=times + 0.1, reference=times)
    speed = Tracked(name="speed", labels=("v",), unit="m/s", actual=times, reference=0.0 * times)
    height = Tracked(name="height", labels=("z",), unit="m", actual=times, reference=0.0 * times + 0.5)

    def shown(*tracked: Tracked) -> dict[str, str]:
        return dataclasses.replace(log, kept=tracked).report()

    words = shown(place, speed, height)
    assert words["place"].startswith("error 0.1 m rms")
    assert words["height"].startswith("from a constant reference ")
    assert "speed" not in words
    assert shown(speed)["speed"].startswith("from a constant reference 0.2")
    figure = dataclasses.replace(log, kept=(place, speed)).plot_tracking()
    notes = [axes.texts[0].get_text() for axes in figure.axes]
    assert [note.partition(" 0")[0] for note in notes] == ["error", "from a constant reference"]


def test_errors_of_estimates_are_distances() -> None:
    """3 cm and 4 cm beside the state are 5 cm off."""
    state = trajopt.StateVector(3, names=["x", "y", "heading"], units=["m", "m", "rad"])
    sensing, xs = Sensing(None, None, lambda t, y, u: y, state), np.zeros((5, 3))
    assert sensing.error_words(xs, xs + np.array([0.03, -0.04, 0.1])) == ", off by 0.05 m, 0.1 rad rms"
