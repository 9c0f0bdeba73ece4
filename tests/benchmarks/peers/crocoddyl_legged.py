"""Gaits of quadrupeds and bipeds, built by Crocoddyl's own builders (crocoddyl.utils.quadruped, crocoddyl.utils.biped).

A phase is the name of a gait and the numbers that its builder takes:

    Walking, Trotting, Pacing, Bounding   step length [m], step height [m], time step [s], knots of a swing, a support
    Jumping                               height [m], displacement (3,) [m], time step [s], knots on the ground, of half
                                          the flight
    CoM                                   displacement [m], time step [s], knots of each way

A builder makes the first two steps of a walk (the first of a trot, pace or biped walk) half as long, once: so a phase
that is not the first of its chain differs from the same phase alone by that, and by x0, the last state of the phase
before. The posture that the state cost draws to stays the robot's own throughout. `LEGGED_REFERENCES` maps names to all
of them.
"""

from functools import partial
from typing import Any

import crocoddyl
import example_robot_data
import numpy as np
from crocoddyl.utils.biped import SimpleBipedGaitProblem
from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem
from crocoddyl_reference import Reference, references, scaled_effort

Phase = tuple[Any, ...]

FEET = {  # of each robot: left front, right front, left hind, right hind; or right, left
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "hyq": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "go2": ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    "talos_legs": ("right_sole_link", "left_sole_link"),
}
STANCES = {"talos_legs": "half_sitting"}  # else "standing"


def legged(
    robot: str, phases: list[Phase], *, integrator: str = "euler", max_iterations: int = 100, stop: float | None = None
) -> crocoddyl.ShootingProblem:
    """The last of some phases: one builder makes all of them, and those before it are solved for their last state.

    Args:
        robot: Name in example-robot-data.
        phases: The phases, from the robot's own stance on.
        integrator: "euler" or "rk4".
        max_iterations: Directions that an earlier phase may compute [-].
        stop: `th_stop` of the earlier phases [cost]; None is the solver's default.
    """
    model = example_robot_data.load(robot).model
    make = SimpleQuadrupedalGaitProblem if len(FEET[robot]) == 4 else SimpleBipedGaitProblem
    builder = make(model, *FEET[robot], integrator=integrator)
    x0 = np.concatenate([model.referenceConfigurations[STANCES.get(robot, "standing")], np.zeros(model.nv)])
    for gait, *numbers in phases[:-1]:
        earlier = Reference(
            build=partial(problem_of, builder, gait, x0, numbers),
            solver="fddp",
            guess="quasi-static",
            max_iterations=max_iterations,
            stop=stop,
        )
        problem = earlier.build()
        solver = earlier.make_solver(problem)
        if not earlier.solve(solver, *earlier.start(problem)):
            raise RuntimeError(f"{robot}: the phase {gait} {numbers} did not converge")
        x0 = np.array(solver.xs[-1])
    gait, *numbers = phases[-1]
    return problem_of(builder, gait, x0, numbers)


def problem_of(builder: Any, gait: str, x0: np.ndarray, numbers: list[Any]) -> crocoddyl.ShootingProblem:
    """One phase from the state x0 (nx,); the builder of a jump overwrites the displacement that it is given."""
    copies = [np.array(number) if isinstance(number, tuple) else number for number in numbers]
    return getattr(builder, f"create{gait}Problem")(x0, *copies)


def walk_with_half_the_torque() -> crocoddyl.ShootingProblem:
    """ANYmal's walk in Crocoddyl's example quadrupedal_walk_ubound: its first phase."""
    model = scaled_effort(example_robot_data.load("anymal").model, 0.5)
    x0 = np.concatenate([model.referenceConfigurations["standing"], np.zeros(model.nv)])
    builder = SimpleQuadrupedalGaitProblem(model, *FEET["anymal"])
    return problem_of(builder, "Walking", x0, [0.25, 0.25, 1e-2, 25, 2])


def phase_references(
    robot: str,
    phases: dict[str, Phase],
    expected: dict[str, tuple[int, float]],
    *,
    chained: bool = False,
    integrator: str = "euler",
    max_iterations: int = 100,
    stop: float | None = None,
    initial_regularization: float = 1e-9,
) -> dict[str, Reference]:
    """An entry for each phase: from the stance, or chained and called ROBOT-chain-PHASE, of all but the first."""
    entries: dict[str, Reference] = {}
    for i, (name, phase) in enumerate(phases.items()):
        if chained and i == 0:
            continue
        path = list(phases.values())[: i + 1] if chained else [phase]
        entry = f"{robot.replace('_', '-')}-{'chain-' if chained else ''}{name}"
        entries |= references(
            entry,
            partial(legged, robot, path, integrator=integrator, max_iterations=max_iterations, stop=stop),
            {"fddp": expected.get(entry)},
            guess="quasi-static",
            max_iterations=max_iterations,
            stop=stop,
            initial_regularization=initial_regularization,
        )
    return entries


ANYMAL = {  # Crocoddyl's example quadrupedal_gaits_fwddyn
    "walk": ("Walking", 0.25, 0.15, 1e-2, 25, 2),
    "trot": ("Trotting", 0.15, 0.10, 1e-2, 25, 2),
    "pace": ("Pacing", 0.15, 0.10, 1e-2, 25, 5),
    "bound": ("Bounding", 0.15, 0.10, 1e-2, 25, 5),
    "jump": ("Jumping", 0.15, (0.0, 0.3, 0.0), 1e-2, 10, 20),
}
HYQ = {  # its benchmark quadrupedal_gaits_optctrl
    "walk": ("Walking", 0.25, 0.25, 1e-2, 25, 2),
    "trot": ("Trotting", 0.15, 0.2, 1e-2, 25, 2),
    "pace": ("Pacing", 0.15, 0.2, 1e-2, 25, 2),
    "bound": ("Bounding", 0.007, 0.05, 1e-2, 25, 12),
    "jump": ("Jumping", 0.15, (0.0, 0.3, 0.0), 1e-2, 10, 20),
}
TALOS = {  # its example bipedal_gaits_fwddyn
    "walk": ("Walking", 0.6, 0.1, 0.03, 15, 4),
    "jump": ("Jumping", 0.1, (0.0, 0.3, 0.0), 0.03, 9, 6),
    "walk-again": ("Walking", 0.6, 0.1, 0.03, 15, 2),
}
# Not for Solo12: its centre of mass is above the diagonal of its feet, so that in the guess for a walk rounding decides
# whether the unloaded foot pulls.
SMALL = {"walk": ("Walking", 0.1, 0.05, 1e-2, 25, 2), "trot": ("Trotting", 0.1, 0.05, 1e-2, 25, 2)}

KNOWN = {
    "anymal-walk": (12, 588.6368067889),
    "anymal-walk-rk4": (14, 591.3665865293),
    "anymal-com": (10, 109.1547328662),
    "anymal-chain-trot": (9, 427.3296136241),
    "anymal-chain-jump": (17, 3058.740477736),
    "hyq-walk": (13, 1596.818335603),
    "hyq-trot": (8, 864.1027376813),
    "talos-legs-walk": (15, 5111.964479134),
    "talos-legs-benchmark": (12, 5195.698697658),
}
LEGGED_REFERENCES: dict[str, Reference] = {
    **phase_references("anymal", ANYMAL, KNOWN),
    **phase_references("anymal", ANYMAL, KNOWN, chained=True),
    **phase_references("anymal", {"walk-rk4": ANYMAL["walk"]}, KNOWN, integrator="rk4"),
    **phase_references("anymal", {"com": ("CoM", 0.1, 1e-2, 25)}, KNOWN),
    **references(
        "anymal-walk-limits",
        walk_with_half_the_torque,
        {"box-ddp": (13, 1035.892152046), "box-fddp": (13, 1035.892152046)},
        guess="quasi-static",
        max_iterations=100,
        initial_regularization=0.1,
    ),
    **phase_references("hyq", HYQ, KNOWN, initial_regularization=0.1, max_iterations=200),
    **phase_references("go2", SMALL, KNOWN),
    **phase_references("talos_legs", {name: TALOS[name] for name in ("walk", "jump")}, KNOWN, stop=1e-7),
    **phase_references("talos_legs", TALOS, KNOWN, chained=True, stop=1e-7),
    **phase_references(
        "talos_legs",
        {"benchmark": ("Walking", 0.6, 0.1, 0.0375, 25, 1)},
        KNOWN,
        initial_regularization=0.1,
        max_iterations=200,
    ),
}
