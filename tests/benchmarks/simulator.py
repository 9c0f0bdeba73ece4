"""Steps of the differentiable simulator in batches, alone or beside MuJoCo in the same run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.machine import ROOT
from tests.benchmarks.mjcf import mjcf, state
from tests.benchmarks.peer_process import SCRIPTS, PeerProcess
from tests.benchmarks.table import bar, number, table
from trajopt.kernels import wait_until_optimised
from trajopt.simulator import MDPContact, Simulator

ROBOT, FEET, RADIUS, FRICTION = "a1", ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), 0.02, 0.7
DT, SIZE, RAYS = 1e-3, 1000, 6
WITH, WITHOUT = "with derivatives", "without"
BARS = {("contact", WITH): 60.0, ("contact", WITHOUT): 10.0}  # [µs], at most
AIM = 30.0  # [µs] with derivatives
FASTER = {"contact": 5.0, "air": 10.0}  # than mjd_transitionFD [-], at least
CALLS = 40  # of a round, of which the fastest counts: a second thread that has just begun shares a core for some ms
GAIN = 1.7  # of a second thread [-], at least
START = {"cold": 20.0, "warm": 2.0}  # first step of a process [s], at most
TITLE = f"""FORWARD_RK1F of {ROBOT}, 4 feet of {RAYS} rays, in batches of {SIZE}: µs per state, one thread; medians
of the rounds, and our fastest round, which bars are about. MuJoCo's derivatives are mjd_transitionFD, its steps
mj_step, on the same robot in the same states. A ratio [-] says how many times faster we are, and the gain of a second
thread is a ratio too, of each side's fastest round, which other work on the machine disturbs least."""
HEADER = ["states", "step", "ours", "fastest", "required"]
HEADER += ["MuJoCo", "ratio", "required", "2 threads", "gain", "required"]

Figures = dict[str, Any]


def simulator() -> Simulator:
    """The quadruped on a plane."""
    contacts = [MDPContact(foot, radius=RADIUS, rays=RAYS, friction=FRICTION, strength=1e8) for foot in FEET]
    return Simulator(trajopt.load_robot(ROBOT), contacts)


def states(kind: str, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """States and torques of a batch, the same in each run.

    In "contact" all feet are 0.1 to 4 mm deep and move by decimetres per second; "air" is the same 1 m above.
    """
    robot, rng = trajopt.load_robot(ROBOT), np.random.default_rng(0)
    model, data = robot.model, robot.model.createData()
    xs = []
    for _ in range(size):
        dq = 0.002 * rng.normal(size=model.nv)
        q = pin.integrate(model, robot.configuration("standing"), dq)
        pin.framesForwardKinematics(model, data, q)
        q[2] += RADIUS - 1e-4 - max(data.oMf[model.getFrameId(foot)].translation[2] for foot in FEET)
        q[2] += 1.0 if kind == "air" else 0.0
        v = 0.3 * rng.normal(size=model.nv)
        xs.append(np.concatenate([q, v]))
    taus = 3 * rng.normal(size=(size, model.nv))
    taus[:, :6] = 0
    return np.array(xs), taus


def measure(environment: Path | None, *, rounds: int) -> Figures:
    """Times of both kinds of states, in turns with MuJoCo's."""
    ours, peer = simulator(), _peer(environment)
    figures: Figures = {"start": _starts(), "states": {}}
    for kind in ("contact", "air"):
        x, tau = states(kind)
        figures["states"][kind] = found = _turns(ours, peer, kind, x, tau, rounds)
    if peer:
        figures["disagreement"] = _disagreement(x[0], tau[0], found["mujoco"][0]["qacc"])
        peer.close()
    return figures


def _turns(
    ours: Simulator, peer: PeerProcess | None, kind: str, x: np.ndarray, tau: np.ndarray, rounds: int
) -> dict[str, Any]:
    """Times of each round: ours by kind of step with one thread and with two [µs], and MuJoCo's answers."""
    question = _question(kind, x, tau) if peer else ""
    calls = {
        WITH: lambda: ours.simulate_batched(DT, x, tau, Dqdqs=True, Dtaus=True),
        WITHOUT: lambda: ours.simulate_batched(DT, x, tau),
    }
    for call in calls.values():
        call()
    wait_until_optimised()
    one: dict[str, list[float]] = {name: [] for name in calls}
    two: dict[str, list[float]] = {name: [] for name in calls}
    theirs: list[dict[str, Any]] = []
    for _ in range(rounds):
        for name, call in calls.items():
            for threads, found in ((1, one), (2, two)):
                trajopt.set_num_threads(threads)
                call()
                found[name].append(min(_timed(call) for _ in range(CALLS)))
        trajopt.set_num_threads(1)
        if peer:
            theirs.append(peer.ask(question))
    return {"one": one, "two": two, "mujoco": theirs}


def _timed(call: Any) -> float:
    """Time of a call for a state [µs]."""
    start = time.perf_counter()
    call()
    return 1e6 * (time.perf_counter() - start) / SIZE


_folder = tempfile.TemporaryDirectory(prefix="trajopt-mujoco-")


def _peer(environment: Path | None) -> PeerProcess | None:
    if environment is None:
        return None
    if not (environment / "bin" / "python").exists():
        raise SystemExit(f"--mujoco: no environment; make it: {SCRIPTS / 'make_mujoco_env.sh'} {environment}")
    return PeerProcess(environment, 0.0, "mujoco_times.py")


def _question(kind: str, x: np.ndarray, tau: np.ndarray) -> str:
    """Writes model and states; the question about them."""
    model = trajopt.load_robot(ROBOT).model
    files = {
        name: str(Path(_folder.name) / f"{kind}{suffix}") for name, suffix in (("model", ".xml"), ("states", ".npz"))
    }
    radii = dict.fromkeys(FEET, RADIUS)
    Path(files["model"]).write_text(mjcf(model, radii, friction=FRICTION, timestep=DT))
    rows = [state(model, row[: model.nq], row[model.nq :]) for row in x]
    np.savez(files["states"], qpos=[q for q, _ in rows], qvel=[v for _, v in rows], ctrl=tau[:, 6:])
    return json.dumps(files)


def _disagreement(x: np.ndarray, tau: np.ndarray, qacc: list[float]) -> str:
    """Why both sides do not have the same robot, by the joints' accelerations in the air; empty if they do."""
    model = trajopt.load_robot(ROBOT).model
    ours = pin.aba(model, model.createData(), x[: model.nq], x[model.nq :], tau)[6:]
    error = np.abs(ours - np.array(qacc)[6:]).max() / np.abs(ours).max()
    return "" if error < 1e-8 else f"accelerations differ by {error:.1e} of the largest"


def _starts() -> dict[str, float]:
    """Seconds from starting python to the first step with derivatives."""
    code = "from tests.benchmarks.simulator import *; x, u = states('contact', 1);"
    code += "simulator().simulate(DT, x[0], u[0], Dqdq=True, Dtau=True)"
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for kind in START:
            begin = time.perf_counter()
            environment = {**os.environ, "TRAJOPT_CACHE_DIR": cache}
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
            found[kind] = time.perf_counter() - begin
    return found


def report(figures: Figures) -> str:
    """The table, and below it the starts."""
    rows = [_row(kind, name, found) for kind, found in figures["states"].items() for name in (WITH, WITHOUT)]
    starts = [
        f"first step, {kind}: {s:.1f} s {bar(s, START[kind], at_least=False)}" for kind, s in figures["start"].items()
    ]
    version = [m["mujoco"][0]["version"] for m in figures["states"].values() if m["mujoco"]]
    touching = [f"{kind} {m['mujoco'][0]['contacts']:.1f}" for kind, m in figures["states"].items() if m["mujoco"]]
    notes = [f"MuJoCo {version[0]}, mean number of contacts: {', '.join(touching)}"] if version else []
    if figures.get("disagreement"):
        notes.append(f"DIFFERENT ROBOTS, DO NOT COMPARE: {figures['disagreement']}")
    return table(TITLE, HEADER, rows) + "\n".join([*starts, *notes]) + "\n"


def _row(kind: str, name: str, found: dict[str, Any]) -> list[str]:
    one, two = found["one"][name], found["two"][name]
    micros, gain = min(one), min(one) / min(two)
    limit = BARS.get((kind, name))
    required = "" if limit is None else bar(micros, limit, at_least=False)
    required += f", aim {bar(micros, AIM, at_least=False)}" if limit and name == WITH else ""
    cells = [kind, name, number(median(one)), number(micros), required]
    if found["mujoco"]:
        theirs = [row["transition_us" if name == WITH else "step_us"] for row in found["mujoco"]]
        ratio = min(theirs) / min(one)
        cells += [
            number(median(theirs)),
            f"{ratio:.1f}",
            bar(ratio, FASTER[kind], at_least=True) if name == WITH else "",
        ]
    else:
        cells += ["", "", ""]
    return [*cells, number(median(two)), f"{gain:.2f}", bar(gain, GAIN, at_least=True)]
