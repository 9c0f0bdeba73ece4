"""Valid arguments of controllers, closed loops and servers, and objects to call methods on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.worlds import T, World, folder, world
from trajopt import mpc
from trajopt.problems.mpc import MPCCase

DT = 0.05  # of the worlds' knots [s]
ADDRESS = "tcp://127.0.0.1:*"


def _small(w: World) -> World:
    return world("arm") if w.legged else w


def _problem(w: World, rng: Random) -> trajopt.ShootingProblem:
    return w.problem(rng, expressions=True)


def _fresh(w: World, rng: Random) -> mpc.MPCController:
    return mpc.MPCController(_problem(w, rng))


def _begun(w: World, rng: Random) -> mpc.MPCController:
    """A controller with a plan, after one step or none."""
    controller = _fresh(w, rng)
    controller.reset()
    if rng.random() < 0.5:
        controller.step(_small(w).state.zero())
    return controller


@functools.cache
def _log(kind: str) -> mpc.ClosedLoop:
    """A closed loop with a push, a delay, and a reference that moves."""
    w, rng = world(kind), Random(0)
    controller = _fresh(w, rng)
    controller.follow("goal.reference", lambda t: np.full(w.state.nx, 0.1 * t))
    push = mpc.Push(time=DT, value=np.full(w.state.ndx, 0.1))
    return mpc.simulate(controller, None, w.state.zero(), 4 * DT, delay=DT / 2, disturbance=push, noise=0.01)


def log(w: World, rng: Random) -> mpc.ClosedLoop:
    """A short closed loop of a world."""
    return _log(_small(w).kind)


def plan(w: World, rng: Random) -> mpc.MPCStep:
    """A step of a controller that works on the problem of a world."""
    return _fresh(w, rng).reset()


def _states(w: World, rng: Random) -> Any:
    return np.array([_small(w).x(rng) for _ in range(T + 1)])


def _reference(w: World, rng: Random) -> Any:
    values = np.zeros((2, _small(w).state.nx))
    return rng.choice([None, lambda t: values[0], ([0.0, 10.0], values), ((0.0, 10.0), values.tolist())])


def _table(w: World, rng: Random) -> Any:
    weights = mpc.ParameterSchedule([0.0, 0.1], {"goal.weight": [1.0, 2.0]}, period=rng.choice([None, 0.2]))
    return rng.choice([weights, lambda times: {"goal.weight": np.ones(len(times))}])


def _plant(w: World, rng: Random) -> Any:
    own = _small(w).action(rng, expressions=True)
    return rng.choice([None, own, _problem(w, rng), lambda x, u, dt: x])


def _disturbance(w: World, rng: Random) -> Any:
    rate = np.zeros(_small(w).state.ndx)
    jump = mpc.Push(time=0.0, value=rate)
    return rng.choice([None, jump, [jump, mpc.Push(time=0.0, value=rate, duration=0.1)], lambda t, x: rate])


def _deviation(w: World, rng: Random) -> Any:
    ndx = _small(w).state.ndx
    return rng.choice([None, 0.01, np.full(ndx, 0.01), lambda generator, x: generator.standard_normal(ndx)])


def _guess(w: World, rng: Random) -> Any:
    nu = 1 if _small(w).kind == "vector" else 2
    return rng.choice([None, (_states(w, rng), np.zeros((T, nu))), _small(w).solution])


def _anew(x: Any, times: Any) -> tuple[Any, Any]:
    return np.tile(x, (len(times), 1)), np.zeros((T, 1 if len(x) == 2 else 2))


def _saved(w: World, rng: Random) -> Any:
    return log(w, rng).save(folder() / "loop.npz")


def _case(w: World, rng: Random) -> MPCCase:
    controller, x0 = _fresh(w, rng), _small(w).state.zero()
    return MPCCase(name="small", description="It stands.", controller=controller, x0=x0, duration=2 * DT)


FIXED_CONTROLLED: dict[str, Callable[[World, Random], Any]] = {
    "ClosedLoop": log,
    "MPCController": _begun,
    "MPCStep": plan,
    "MPCCase": _case,
    "Tracked": lambda w, rng: log(w, rng).tracked[0],
}
"""Objects to call methods on."""

CONTROLLED: dict[str, Callable[[World, Random], Any]] = {
    "address": lambda w, rng: "tcp://127.0.0.1:5555",
    "controller": _fresh,
    "MPCServer.controller": lambda w, rng: rng.choice([_fresh(w, rng), trajopt.solvers.SolverSQP(_problem(w, rng))]),
    "MPCServer.address": lambda w, rng: ADDRESS,
    "MPCServer.publish": lambda w, rng: rng.choice([None, ADDRESS]),
    "MPCServer.max_bytes": lambda w, rng: rng.choice([1024, 65536]),
    "MPCClient.timeout": lambda w, rng: rng.uniform(0.01, 1.0),
    "MPCClient.retries": lambda w, rng: rng.choice([0, 2]),
    "MPCController.problem": _problem,
    "MPCController.solver": lambda w, rng: rng.choice([trajopt.solvers.SolverSQP, "SolverSQP"]),
    **{f"MPCController.{method}.x": lambda w, rng: _small(w).x(rng) for method in ("step", "feedback")},
    "MPCController.reset.x0": lambda w, rng: _small(w).x(rng),
    "MPCController.reset.guess": _guess,
    "MPCController.check_references.first": lambda w, rng: 0.0,
    "MPCController.check_references.last": lambda w, rng: rng.uniform(0.1, 1.0),
    "MPCController.follow.name": lambda w, rng: "goal.reference",
    "MPCController.follow.reference": _reference,
    "MPCController.schedule.table": _table,
    "MPCController.schedule.knots": lambda w, rng: rng.choice(["all", "running"]),
    "MPCController.sensitivity.name": lambda w, rng: rng.choice(["goal.weight", "goal.reference", "x0"]),
    "MPCController.sensitivity.knots": lambda w, rng: None,
    "MPCOptions.mode": lambda w, rng: rng.choice(["real-time", "converged"]),
    "MPCOptions.hessian": lambda w, rng: rng.choice(["exact", "gauss-newton"]),
    "MPCOptions.solver_options": lambda w, rng: trajopt.solvers.SQPOptions(max_iterations=3),
    "MPCOptions.soft": lambda w, rng: rng.choice([None, (1.0, 0.0)]),
    "MPCOptions.on_failure": lambda w, rng: rng.choice(["feedback", "solve", _anew]),
    "ParameterSchedule.times": lambda w, rng: [0.0, 0.5],
    "ParameterSchedule.values": lambda w, rng: {"foot.reference": [[0.0, 1.0], [2.0, 3.0]], "foot.weight": [1.0, 0.0]},
    "ParameterSchedule.period": lambda w, rng: rng.uniform(0.6, 1.0),
    "ParameterSchedule.advance": lambda w, rng: None,
    "Factor.value": lambda w, rng: rng.uniform(0.5, 2.0),
    "Push.time": lambda w, rng: rng.uniform(0.0, 0.1),
    "Push.value": lambda w, rng: rng.choice([np.array([1.0, 2.0, 3.0]), [0.1, 0.2, 0.0]]),
    "Push.duration": lambda w, rng: rng.uniform(0.1, 1.0),
    "Push.frame": lambda w, rng: rng.choice([None, "tool"]),
    "simulate.plant": _plant,
    "simulate.x0": lambda w, rng: _small(w).x(rng),
    "simulate.duration": lambda w, rng: rng.choice([DT, 0.12]),
    "simulate.delay": lambda w, rng: rng.choice([0.0, 0.02, 0.05]),
    "simulate.noise": _deviation,
    "simulate.disturbance": _disturbance,
    "simulate.model_error": lambda w, rng: None,
    "simulate.dt_plant": lambda w, rng: rng.choice([None, 0.01]),
    "simulate.on_step": lambda w, rng: rng.choice([None, lambda step: None]),
    "MPCCase.simulate.duration": lambda w, rng: rng.choice([None, DT]),
    "mpc.load.name": lambda w, rng: rng.choice(["cart-pole-balance", "drive-obstacles"]),
    "mpc.load.robot": lambda w, rng: None,
    "mpc.describe.name": lambda w, rng: rng.choice(trajopt.problems.mpc.names()),
    "ClosedLoop.load.path": _saved,
    "ClosedLoop.save.path": lambda w, rng: folder() / "loop.npz",
    "ClosedLoop.animate.path": lambda w, rng: folder() / "loop.gif",
    **{f"ClosedLoop.{method}.obstacles": lambda w, rng: [[1.0, 2.0, 0.5]] for method in ("plot", "animate")},
    "ClosedLoop.film.path": lambda w, rng: folder() / "loop.gif",
    "ClosedLoop.film.options": lambda w, rng: {"size": (80, 64), "fps": 10.0},
    "ClosedLoop.animate.speed": lambda w, rng: rng.uniform(0.5, 2.0),
}
"""By door and argument, or by argument."""
