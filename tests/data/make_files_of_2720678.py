"""Writes tests/data/files_of_2720678: small files of every kind that revision 2720678 saves or sends.

Run once, with the package of that revision and from its root, so that nothing newer is imported:

    git worktree add DIR 2720678
    cd DIR && PYTHONPATH=DIR/src python PATH/TO/make_files_of_2720678.py FOLDER

FOLDER is new. `tests/test_old_files.py` loads what it gets with the package of today. `facts.json` holds what the files
must still say: numbers as they are, arrays by
type, shape and the SHA-256 of their bytes.

Longer than a file should be, because it imports nothing of this tree.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import pickle
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

os.environ["TRAJOPT_CACHE_DIR"] = CACHE = tempfile.mkdtemp(prefix="trajopt-files-")
os.environ["TRAJOPT_OPTIMISE"] = "off"

import casadi as ca
import numpy as np

import trajopt
from trajopt import articulations, mpc, problems, solvers
from trajopt.analysis import motion_report
from trajopt.kinematics import IKTracker, ik
from trajopt.mpc.server import MPCClient, MPCServer, RequestRefusedError
from trajopt.robots.skeleton import Skeleton, Solid
from trajopt.sweeps import Recipe, Sweep

REVISION = "2720678"
FACTS: dict[str, Any] = {"revision": REVISION, "numpy": np.__version__, "casadi": ca.__version__}


def brief(value: Any) -> Any:
    """A value for facts.json: arrays as type, shape and digest, numbers, texts and None as they are."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "U":
            return value.tolist()
        data = np.ascontiguousarray(value)
        return f"{data.dtype} {data.shape} {hashlib.sha256(data.tobytes()).hexdigest()[:16]}"
    if isinstance(value, dict):
        return {str(key): brief(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [brief(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


# Solutions


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """m l² dv/dt = u - m g l sin(q), with x = (q, v)."""

    def __init__(self, costs: trajopt.CostStack, mass: float = 1.0, length: float = 0.5) -> None:
        names = {"control_names": ["torque"], "control_units": ["N m"]}
        super().__init__(costs.state, nu=1, costs=costs, lower=[-4.0], upper=[4.0], **names)
        self.mass = self.parameter("mass", mass, unit="kg")
        self.length = self.parameter("length", length, unit="m")

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """dv/dt [rad/s²] of a torque u [N m]."""
        return u / (self.mass * self.length**2) - 9.81 / self.length * ca.sin(x[0])

    def skeleton(self, xs: Any, parameters: Any) -> Skeleton:
        """Pivot and rod, with a block that swings."""
        bob = float(parameters["length"]) * np.stack([np.sin(xs[:, 0]), 0.0 * xs[:, 0], -np.cos(xs[:, 0])], axis=1)
        block = bob[:, None] + 0.05 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = np.stack([0.0 * bob, bob], axis=1)
        return Skeleton(points=points, bones=[(0, 1)], fixed=[(0, 0)], tracks=[1], solids=[Solid(points=block)])


def own_pendulum() -> trajopt.ShootingProblem:
    """A pendulum swings up within limits of its torque."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    terminal = trajopt.CostStack(state)
    terminal.add("upright", trajopt.ResidualModelState(state, [np.pi, 0.0]), weight=1e2)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(running), dt=5e-2)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 20, terminal)
    problem.set_parameter("mass", 1.2)
    return problem


def inverse_dynamics_problem() -> trajopt.ShootingProblem:
    """An arm reaches, with accelerations as controls and torques as an equation."""
    robot = trajopt.load_robot("planar-2r")
    state, actuation = trajopt.StateMultibody(robot), trajopt.ActuationModelFull(trajopt.StateMultibody(robot))
    running = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=1e-2)
    running.add("effort", trajopt.ResidualModelJointEffort(state, actuation), weight=1e-3)
    goal = trajopt.ResidualModelState(state, [0.5, 0.4, 0.0, 0.0])
    terminal = trajopt.CostStack(state).add("goal", goal, weight=1e2)
    model = trajopt.DifferentialActionModelFreeInvDynamics(state, actuation, running)
    knot = trajopt.IntegratedActionModelEuler(model, dt=5e-2)
    return trajopt.ShootingProblem(state.zero(), [knot] * 8, terminal)


def crane_problem() -> trajopt.ShootingProblem:
    """A robot from the builder, with solids on its links, and a tool on a rope of limited length."""
    builder = articulations.ArticulationBuilder()
    trolley, tool = builder.add_link("trolley"), builder.add_link("tool")
    builder.add_box(trolley, [0.3, 0.2, 0.1])
    builder.add_sphere(tool, 0.05)
    builder.add_prismatic("world", trolley, axis=[1.0, 0.0, 0.0], lower=-1.0, upper=1.0)
    builder.add_distance(trolley, tool, lower=0.1, upper=0.5, X_c=[0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0])
    state = trajopt.StateMultibody(builder.build("crane"))
    running = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), weight=1e-3)
    running.add("state", trajopt.ResidualModelState(state), weight=1e-2)
    terminal = trajopt.CostStack(state)
    terminal.add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", [0.2, 0.0, -0.4]), weight=1e2)
    actuation = trajopt.ActuationModelMatrix(state, np.eye(state.nv, 1))
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running)
    knot = trajopt.IntegratedActionModelEuler(model, dt=5e-2)
    return trajopt.ShootingProblem(state.zero(), [knot] * 6, terminal)


def trot() -> trajopt.Solution:
    """A few knots of a trot with touch-downs that are impulses: contacts and impulses in one solution."""
    case = problems.load("quadruped-trot", "small-quadruped", step_knots=3, support_knots=1, mu=0.7)
    solver = case.solver(case.problem, dataclasses.replace(case.options, max_iterations=2))
    return solver.solve(case.xs, case.us)


def solved(name: str, robot: str | None = None, most: int = 100, **options: Any) -> trajopt.Solution:
    """A ready problem after so many iterations at most."""
    case = problems.load(name, robot, **options)
    solver = case.solver(case.problem, dataclasses.replace(case.options, max_iterations=most))
    return solver.solve(case.xs, case.us)


def solutions() -> dict[str, trajopt.Solution]:
    """Solutions by the names of their files."""
    return {
        "own_pendulum": solvers.SolverBoxDDP(own_pendulum()).solve(),
        "arm_reach": solved("arm-reach", "planar-2r", T=10, dt=0.05),
        "trot": trot(),
        "simulator_puck": solved("puck", T=20, dt=0.05, most=10),
        "simulator_hopper": solved("hopper", T=12, most=3),
        "limits_sqp": solved("pendulum-limits", T=20, dt=0.15),
        "states_within_bounds": solved("lqr-bounds", T=10),
        "parking": solved("parking-circles", T=15, dt=0.3, most=20),
        "quadrotor": solved("quadrotor-obstacles", T=6, most=5),
        "crane": solvers.SolverFDDP(crane_problem()).solve(),
        "inverse_dynamics": solvers.SolverSQP(inverse_dynamics_problem()).solve(),
        "unicycle": solved("unicycle", T=6),
    }


def facts_of_solution(solution: trajopt.Solution) -> dict[str, Any]:
    """What a solution and its file must say."""
    assert solution.problem is not None
    return brief(
        {
            **{name: getattr(solution, name) for name in ("cost", "iterations", "solver", "converged", "failed_knot")},
            **{name: getattr(solution, name) for name in ("xs", "us", "x0", "K", "k", "Vx", "Vxx", "times")},
            "status": solution.status.name,
            "coordinates": [solution.coordinate_names, solution.coordinate_units],
            "controls": [solution.control_names, solution.control_units],
            "robot": None if solution.robot is None else solution.robot.name,
            "masses": None if solution.robot is None else [float(i.mass) for i in solution.robot.model.inertias],
            "parameters": dict(solution.parameters),
            "multipliers": dict(solution.multipliers),
            "history": {name: [float(getattr(r, name)) for r in solution.history] for name in ("cost", "step_length")},
            "cost_terms": solution.cost_terms(),
            "contact_forces": solution.contact_forces(),
            "violations": solution.violations(),
            "gaps": float(np.abs(solution.gaps()).max()),
            "stationarity": float(np.abs(solution.stationarity()).max()),
        }
    )


def write_solutions(folder: Path) -> None:
    """Files of solutions, a pickle of one, a table of one."""
    FACTS["solutions"] = {}
    for name, solution in solutions().items():
        if solution.xs.shape[1] > 4:  # gains of large states are half of a file
            solution = dataclasses.replace(solution, K=None, k=None, Vx=None, Vxx=None)
        solution.save(folder / f"{name}.npz")
        FACTS["solutions"][name] = facts_of_solution(solution)
        if name == "trot":
            FACTS["motion_report"] = brief(motion_report(solution, 0.7))
        if name == "arm_reach":
            solution.to_csv(folder / "arm_reach.csv")
            loaded = trajopt.Solution.load(folder / "arm_reach.npz")
            (folder / "arm_reach.pickle").write_bytes(pickle.dumps(loaded, protocol=5))
    FACTS["statuses"] = [status.name for status in trajopt.SolverStatus]


# Inverse kinematics


def write_kinematics(folder: Path) -> None:
    """Results are kept by pickling; paths also by `trajopt ik --path --save`."""
    robot = trajopt.load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    frame = robot.model.frames[robot.model.nframes - 1].name
    reach = robot.placement(np.array([0.4, 0.7]), frame)[:3, 3]
    tasks = trajopt.ConstraintStack(state)
    tasks.add("tip", trajopt.ResidualModelFrameTranslation(state, frame, reach), equals=0.0)
    targets = np.stack([robot.placement(np.array([0.4 + 0.02 * i, 0.7]), frame)[:3, 3] for i in range(6)])
    result = ik.solve(robot, tasks)
    far = ik.solve(robot, tasks, {"tip.reference": 10.0 * reach})
    batch = ik.solve_batch(robot, tasks, {"tip.reference": targets[:4]})
    path = ik.track(robot, tasks, targets, 0.05, q0=[0.4, 0.7])
    optimal = ik.track(robot, tasks, targets, 0.05, q0=[0.4, 0.7], method="optimal")
    tracker = IKTracker(robot, tasks, [0.4, 0.7], dt=0.05)
    step = tracker.step({"tip.reference": targets[1]})
    kept = {"ik_result": result, "ik_unreachable": far, "ik_batch": batch, "ik_step": step}
    kept |= {"ik_path": path, "ik_path_optimal": optimal}
    for name, thing in kept.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(thing, protocol=5))
    for name, each in (("ik_result", result), ("ik_unreachable", far)):
        names = ("q", "configurations", "cost", "distance", "iterations", "starts", "active_limits", "solved")
        tip = {"tip": each.residuals["tip"].value.tolist(), "unit": each.residuals["tip"].unit}
        FACTS[name] = brief({key: getattr(each, key) for key in names} | {"status": each.status.name} | tip)
    FACTS["ik_batch"] = brief({name: getattr(batch, name) for name in ("q", "solved", "violation", "cost", "starts")})
    for name, each in (("ik_path", path), ("ik_path_optimal", optimal)):
        names = ("times", "qs", "vs", "distance", "limits", "frames", "wanted", "followed", "accelerations")
        FACTS[name] = brief({key: getattr(each, key) for key in names} | {"status": each.status.name})
        FACTS[name]["tip"] = brief(each.residuals["tip"].value)
    FACTS["ik_step"] = brief({name: getattr(step, name) for name in ("q", "v", "distance")})
    rows = "\n".join(f"{0.05 * i},{x!r},{y!r},{z!r}" for i, (x, y, z) in enumerate(targets.tolist()))
    (folder / "ik_targets.csv").write_text(f"time [s],x [m],y [m],z [m]\n{rows}\n")
    for suffix in ("npz", "csv"):
        ended = command("ik", "--robot", "planar-2r", "--frame", frame, "--path", folder / "ik_targets.csv", "--save",
                        folder / f"ik_path_saved.{suffix}")  # fmt: skip
        assert ended in (0, 2)
    with np.load(folder / "ik_path_saved.npz") as arrays:
        FACTS["ik_path_saved"] = {name: brief(arrays[name]) for name in arrays.files}


def command(*words: Any) -> int:
    """Runs the command `trajopt`; returns its exit code."""
    ended = subprocess.run([sys.executable, "-m", "trajopt", *map(str, words)], capture_output=True, text=True)
    assert ended.returncode in (0, 2), ended.stdout + ended.stderr
    return ended.returncode


def write_inverse_dynamics(folder: Path) -> None:
    """Forces of a recorded motion, as `trajopt inverse-dynamics --save` writes them."""
    command("inverse-dynamics", "small-quadruped", folder / "trot.npz", "--friction", 0.7, "--save",
            folder / "forces_saved.npz")  # fmt: skip
    with np.load(folder / "forces_saved.npz") as arrays:
        FACTS["forces_saved"] = {name: brief(arrays[name]) for name in arrays.files}


# Controllers


class Slider(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u / mass."""

    def __init__(self, costs: trajopt.CostStack, constraints: trajopt.ConstraintStack) -> None:
        given = {"control_names": ["f"], "control_units": ["N"], "constraints": constraints}
        super().__init__(costs.state, nu=1, costs=costs, **given)
        self.mass = self.parameter("mass", 1.0, unit="kg")

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        """dv/dt [m/s²] of a force u [N]."""
        return u / self.mass


def slider_controller() -> mpc.MPCController:
    """A mass on a rail, with a hard limit of its force and a soft one of its speed."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["m", "m/s"])
    costs = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=0.1)
    rows = trajopt.ConstraintStack(state)
    rows.add("force", trajopt.ResidualModelControl(state), lower=-2.0, upper=2.0)
    soft = {"lower": [-np.inf, -0.8], "upper": [np.inf, 0.8], "soft": (10.0, 10.0)}
    rows.add("speed", trajopt.ResidualModelState(state), **soft)
    knot = trajopt.IntegratedActionModelEuler(Slider(costs, rows), 0.1)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), weight=5.0)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 8, end)
    return mpc.MPCController(problem, "SolverSQP", mpc.MPCOptions(dt=0.1))


def write_controllers(folder: Path) -> None:
    """Logs of closed loops, one of them of a robot, and a plan."""
    own = slider_controller()
    own.follow("goal.reference", lambda t: [0.4 * t, 0.4])
    pushes = [mpc.Push(time=0.5, value=[0.0, -0.5]), mpc.Push(time=1.0, duration=0.3, value=lambda t, x: [0.0, 1.0])]
    log = mpc.simulate(own, None, [0.0, 0.9], 1.5, noise=1e-3, disturbance=pushes, delay=0.01)
    plan = own.step([0.1, 0.2])
    arm = mpc.MPCController(problems.load("arm-reach", "planar-2r", T=6, dt=0.05).problem, "SolverSQP")
    motion = mpc.simulate(arm, None, arm.problem.x0, 0.3)
    FACTS["closed_loops"] = {}
    for name, each in (("closed_loop_slider", log), ("closed_loop_arm", motion)):
        each.save(folder / f"{name}.npz")
        arrays = ("times", "xs", "measured", "us", "lower", "upper", "control_excess", "costs", "violations", "soft")
        more = (
            "plan_costs",
            "plan_violations",
            "statuses",
            "reasons",
            "iterations",
            "preparation_times",
            "dt",
            "every",
        )
        plain = ("feedback_times", "delay", "seed", "every", "plant", "solver", "stopped")
        names = ("coordinate_names", "control_names", "cost", "counts", "violated", "outcome")
        FACTS["closed_loops"][name] = brief(
            {key: getattr(each, key) for key in (*arrays, *more, *plain, *names)}
            | {"tracked": [[t.name, t.labels, t.unit, t.actual, t.reference] for t in each.tracked]}
            | {"pushes": [[p.time, p.duration, None if callable(p.value) else list(p.value)] for p in each.pushes]}
            | {"motion": [each.motion.xs, each.motion.us, each.motion.times]}
        )
    (folder / "plan.pickle").write_bytes(pickle.dumps(plan, protocol=5))
    names = [field.name for field in dataclasses.fields(plan) if field.name != "status"]
    FACTS["plan"] = brief({name: getattr(plan, name) for name in names} | {"status": str(plan.status)})


def write_messages(folder: Path) -> None:
    """A conversation of a client with a server through a line that writes everything down, and published plans."""
    import zmq

    time_ns, time.time_ns = time.time_ns, lambda: 0  # clients count their requests from the clock
    heard: list[tuple[str, bytes]] = []
    context, stop = zmq.Context(), threading.Event()
    with MPCServer(slider_controller(), "tcp://127.0.0.1:*", publish="tcp://127.0.0.1:*") as server:
        front, back, plans = context.socket(zmq.ROUTER), context.socket(zmq.DEALER), context.socket(zmq.SUB)
        port = front.bind_to_random_port("tcp://127.0.0.1")
        back.connect(server.address)
        plans.setsockopt(zmq.SUBSCRIBE, b"")
        plans.connect(server.publish)
        time.sleep(0.5)

        def relay() -> None:
            while not stop.is_set():
                if front.poll(20):
                    who, request = front.recv_multipart()
                    heard.append(("request", request))
                    back.send(request)
                    assert back.poll(20_000)
                    answer = back.recv()
                    heard.append(("answer", answer))
                    front.send_multipart([who, answer])

        line = threading.Thread(target=relay)
        line.start()
        with MPCClient(f"tcp://127.0.0.1:{port}", timeout=20.0, name="recorded") as client:
            about = client.describe()
            first = client.reset([0.0, 0.0])
            second = client.step([0.02, 0.1], 0.1)
            try:
                client.step([0.0, 0.0, 0.0])
                raise AssertionError("a state of the wrong size was taken")
            except RequestRefusedError as error:
                FACTS["refusal"] = str(error)
        stop.set()
        line.join()
        published = []
        while len(published) < 2:
            assert plans.poll(5_000)
            published.append(plans.recv())
    context.destroy(linger=0)
    time.time_ns = time_ns
    kept = [[kind, base64.b64encode(message).decode()] for kind, message in heard]
    kept += [["plan", base64.b64encode(message).decode()] for message in published]
    (folder / "messages.json").write_text(json.dumps(kept, indent=1))
    FACTS["description"] = brief(dataclasses.asdict(about) | {"x0": about.x0.tolist()})
    FACTS["steps"] = []
    for step in (first, second):
        fields = [field.name for field in dataclasses.fields(step) if field.name != "status"]
        FACTS["steps"].append(brief({name: getattr(step, name) for name in fields} | {"status": str(step.status)}))


# Sweeps


def write_sweeps(folder: Path) -> None:
    """A store with a row that fails and one that raises; recipes as texts and as a pickle."""
    recipe = Recipe(
        problem="arm-reach", robot="planar-2r", options={"T": 20, "target": (0.5, 0.0, 0.1)},
        solver_options={"max_iterations": 12},
    )  # fmt: skip
    rows = {"seed": np.arange(5), "spread": np.array([0.0, 0.5, 30.0, 0.2, -1.0])}
    rows["stop.weight"] = np.linspace(5.0, 9.0, 5)
    found = trajopt.sweep(recipe, rows, chunk=3, workers=1, store=folder / "sweep", progress=False)
    assert isinstance(found, Sweep)
    FACTS["sweep"] = brief(
        {name: getattr(found, name) for name in ("index", "cost", "iterations", "converged", "status")}
        | {"error": list(found.error), "parameters": dict(found.parameters), "best": found.best().index}
        | {"reasons": {reason: failure.rows.index.tolist() for reason, failure in found.failures().items()}}
        | {"trajectories": [[row.xs, row.us] for row in found if not row.error]}
        | {"fingerprint": json.loads((folder / "sweep" / "recipe.json").read_text())["fingerprint"]}
    )
    recipes = [
        recipe,
        Recipe.of("pendulum"),
        Recipe.of(problems.load("quadruped-trot", "small-quadruped", step_length=0.1)),
        Recipe.of(problems.load("pendulum-limits", T=30)),
        Recipe(problem="lqr", solver="SolverSQP", solver_options={"max_iterations": 7}),
        *(Recipe(problem="lqr", solver=name) for name in ("SolverDDP", "SolverFDDP", "SolverBoxDDP", "SolverBoxFDDP")),
    ]
    (folder / "recipes.json").write_text(json.dumps([each.text for each in recipes], indent=1))
    (folder / "recipe.pickle").write_bytes(pickle.dumps(recipe, protocol=5))
    FACTS["recipes"] = [dataclasses.asdict(each) for each in recipes]


# The cache


def write_cache(folder: Path) -> None:
    """The smallest entry of each kind: a stored program, machine code."""
    (folder / "cache").mkdir()
    smallest: dict[str, Path] = {}
    for entry in sorted(Path(CACHE).glob("*.kernel"), key=lambda file: file.stat().st_size):
        content = entry.read_bytes()[len(b"trajopt kernel 1\n") + 32 :]
        if content.startswith(b"\x80"):
            kind = "program" if b"trajopt" in content else "numbers"
        else:
            kind = "table" if content.startswith(b"PK") else "code"
        smallest.setdefault(kind, entry)
    FACTS["cache"] = {kind: smallest[kind].stem for kind in ("program", "code")}
    for entry in FACTS["cache"].values():
        shutil.copy2(Path(CACHE) / f"{entry}.kernel", folder / "cache")


def main(folder: Path) -> None:
    """Writes all files."""
    folder.mkdir(parents=True)
    for write in (write_solutions, write_kinematics, write_inverse_dynamics, write_controllers, write_messages,
                  write_sweeps, write_cache):  # fmt: skip
        write(folder)
        print(write.__name__, flush=True)
    FACTS["python"] = platform.python_version()
    (folder / "facts.json").write_text(json.dumps(FACTS, indent=1, sort_keys=True) + "\n")
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            print(f"{file.stat().st_size:8d}  {file.relative_to(folder)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
