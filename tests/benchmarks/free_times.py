"""Free times: rhythms of gaits at equal total time, a quadrotor through gates, jumps, time of the backward pass."""

from __future__ import annotations

import itertools
import runpy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks import unknowns
from tests.benchmarks.table import table
from tests.support.a1_jumps import drawn
from trajopt import gaits
from trajopt.analysis import replay
from trajopt.shooting import ShootingProblem
from trajopt.simulator import MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverIpopt, SolverSQP
from trajopt.types import Reals

SUPPORTS = np.linspace(0.02, 0.2, 7)  # duration of each support in the scan [s]
SHARES = (0.4, 0.5, 0.6)  # of the first swing in the duration of both [-]
TITLE = """Gaits of two steps at equal total time and footholds: cost with the schedule's durations, of the best of 21
rhythms (supports of 20 to 200 ms, swings of 2:3 to 3:2), and with free durations (required: the least of the three);
largest distance of the base from the plan when the simulator replays the motion with springs, 20 steps a knot."""

RACE = """Quadrotor through seven gates, full dynamics, rotor limits (example 44); required: SolverSQP takes less than
10 s of one core."""
JUMPS, SEED = 40, 1
LEAPS = f"""Jumps of an A1 within its torque limits, {JUMPS} heights and lengths by seed {SEED}: solved with fixed
durations (required: 10 to 20, so that jumps are neither easy nor hopeless), and with free ones (at least 1.5 times as
many). Solved are jumps whose feet push within the friction cone, and whose joints keep their limits. Cost with free
durations in that with fixed ones: median of the jumps that both solve."""


@dataclass(frozen=True)
class Rhythm:
    """A gait and its problems with fixed and with free durations."""

    robot: trajopt.Robot
    schedule: gaits.ContactSchedule

    def fixed(self) -> ShootingProblem:
        return gaits.gait_problem(self.robot, self.schedule)

    def free(self) -> ShootingProblem:
        timing = gaits.FreeTime(0.02, 1.0, total=self.schedule.duration)
        return gaits.gait_problem(self.robot, self.schedule, timing=timing)

    def scan(self, first: Solution) -> dict[tuple[float, float], float]:
        """Cost by duration of supports and share of the first swing; NaN where no solve converges."""
        problem, phases, total, found = self.fixed(), self.free().unknowns["dt"].phases, self.schedule.duration, {}
        for support, share in itertools.product(SUPPORTS, SHARES):
            swings = total - 2.0 * support
            for knots, duration in zip(phases, (support, share * swings, support, (1.0 - share) * swings)):
                problem.set_parameter("dt", duration / len(knots), knots=knots)
            solution = SolverFDDP(problem).solve(first)
            found[support, share] = solution.cost if solution.converged else np.nan
        return found


def trot() -> Rhythm:
    """Trot of a Go2."""
    robot = trajopt.load_robot("go2")
    stance = gaits.Stance.of(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"])
    return Rhythm(
        robot, gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, support_knots=4, step_knots=23)
    )


def walk() -> Rhythm:
    """Walk of a Talos."""
    from trajopt import problems

    problem = problems.load("biped-walk", robot="talos").problem
    assert problem.schedule is not None
    return Rhythm(problem.state.robot, problem.schedule)


def replayed(solution: Solution) -> float:
    """Largest distance of the base from the plan in the simulator [m]."""
    motion = replay(solution, 20, plant=Simulator(solution.robot, _contacts(solution)), feedback="springs")
    return float(np.linalg.norm(motion.xs[:, :3] - solution.xs[:, :3], axis=1).max())


def _contacts(solution: Solution) -> list[MDPContact]:
    """Points of the feet, or corners of their soles, on the ground."""
    from trajopt.analysis.replays import _feet

    return _feet(solution)


def measure() -> dict[str, Any]:
    """Figures of the four parts."""
    rhythms = {name: _figures(rhythm) for name, rhythm in (("Go2, trot", trot()), ("Talos, walk", walk()))}
    return {"rhythms": rhythms, "race": race(), "jumps": jumps(JUMPS, SEED), "backward": unknowns.measure()}


def race() -> dict[str, Any]:
    """Figures of the race by solver, after a solve that compiles."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "44_gate_race.py"))
    problem, guess = example["build"]()
    us, found = np.full((problem.T, 4), example["GRAVITY"] / 4), {}
    SolverSQP(problem).solve(guess, us)
    for solver in (SolverSQP(problem), SolverIpopt(problem)):
        begun = time.process_time()
        solution = solver.solve(guess, us)
        found[type(solver).__name__] = {
            "seconds": time.process_time() - begun,
            "iterations": solution.iterations,
            "cost": solution.cost,
            "duration": float(solution.times[-1]) if solution.times is not None else np.nan,
            "converged": solution.converged,
        }
    return found


def jumps(count: int, seed: int) -> dict[str, float]:
    """Number of jumps that are solved with fixed and with free durations, the ratio of costs, and the time of both."""
    fixed, free, costs, begun = 0, 0, list[float](), time.process_time()
    for jump in drawn(count, seed):
        first, second = jump.fixed(), jump.free()
        solved = jump.solved(first), jump.solved(second)
        fixed, free = fixed + solved[0], free + solved[1]
        costs += [second.cost / first.cost] if all(solved) else []
    ratio = float(np.median(costs)) if costs else np.nan
    return {"fixed": fixed, "free": free, "cost": ratio, "seconds": time.process_time() - begun}


def _figures(rhythm: Rhythm) -> dict[str, Any]:
    fixed = rhythm.fixed()
    first = SolverFDDP(fixed).solve(*gaits.gait_guess(fixed, rhythm.schedule))
    free = SolverFDDP(rhythm.free()).solve(first)
    costs = np.array(list(rhythm.scan(first).values()))
    return {
        "total": rhythm.schedule.duration,
        "time": free.times[-1] if free.times is not None else np.nan,
        "fixed": first.cost,
        "scan": float(np.nanmin(costs)),
        "scanned": int(np.isfinite(costs).sum()),
        "free": free.cost,
        "iterations": free.iterations,
        "converged": first.converged and free.converged,
        "durations": _durations(free),
        "replays": (replayed(first), replayed(free)),
    }


def _durations(free: Solution) -> Reals:
    assert free.problem is not None
    unknown = free.problem.unknowns["dt"]
    return np.asarray(free.unknowns["dt"] * unknown.counts)


def report(figures: dict[str, Any]) -> str:
    """The tables."""
    parts = _rhythms(figures["rhythms"]), _race(figures["race"]), _jumps(figures["jumps"])
    return "\n".join([*parts, unknowns.report(figures["backward"])])


def _race(figures: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, f in figures.items():
        ours = name == "SolverSQP"
        bar = "" if not ours else "yes" if f["converged"] and f["seconds"] < 10.0 else "NO"
        cells = [name, f"{f['iterations']}", f"{f['cost']:.6f}", f"{f['duration']:.4f}", f"{f['seconds']:.2f}"]
        rows.append([*cells, bar])
    return table(RACE, ["solver", "iterations", "cost", "flight [s]", "processor time [s]", "bar"], rows)


def _jumps(f: dict[str, float]) -> str:
    kept = 10 <= f["fixed"] <= 20 and f["free"] >= 1.5 * f["fixed"]
    row = [f"{f['fixed']:g} of {JUMPS}", f"{f['free']:g} of {JUMPS}", f"{f['cost']:.2f}", f"{f['seconds']:.0f}"]
    return table(LEAPS, ["fixed", "free", "cost", "processor time [s]", "bar"], [[*row, "yes" if kept else "NO"]])


def _rhythms(figures: dict[str, dict[str, Any]]) -> str:
    header = ["gait", "total time [s]", "fixed", "best of scan", "free", "iterations", "durations [ms]"]
    header += ["replay, fixed [mm]", "replay, free [mm]", "bar"]
    rows = []
    for name, f in figures.items():
        kept = f["converged"] and f["free"] < min(f["scan"], f["fixed"]) and abs(f["time"] - f["total"]) < 1e-9
        cells = [name, f"{f['total']:.3f}", f"{f['fixed']:.3f}", f"{f['scan']:.3f}", f"{f['free']:.3f}"]
        cells += [f"{f['iterations']}", " ".join(f"{1e3 * each:.0f}" for each in f["durations"])]
        rows.append([*cells, *(f"{1e3 * each:.1f}" for each in f["replays"]), "yes" if kept else "NO"])
    return table(TITLE, header, rows)
