"""Valid arguments of every name that the public interface has.

Longer than other files, because it is one table.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.fuzz.articulated import ARTICULATED
from tests.fuzz.batched import BATCHED
from tests.fuzz.collided import COLLIDED
from tests.fuzz.controlled import CONTROLLED
from tests.fuzz.displayed import DISPLAYED
from tests.fuzz.driving import DRIVING
from tests.fuzz.identified import IDENTIFIED
from tests.fuzz.kinematic import KINEMATIC
from tests.fuzz.learned import LEARNED
from tests.fuzz.measured import MEASURED
from tests.fuzz.planned import PLANNED
from tests.fuzz.reduced import REDUCED
from tests.fuzz.retimed import RETIMED
from tests.fuzz.sensed import SENSED
from tests.fuzz.simulated import SIMULATED, rollout_of_arm
from tests.fuzz.stepped import STEPPED
from tests.fuzz.swept import SWEPT
from tests.fuzz.worlds import T, World, folder, speed, world
from tests.support import constrained
from tests.support.collision_arm import collision_arm
from trajopt import analysis, gaits, problems, solvers


def _numbers(*shape: int) -> Callable[[World, Random], Any]:
    return lambda w, rng: np.array([rng.uniform(-1, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)


def _up_to(largest: float) -> Callable[[World, Random], float]:
    return lambda w, rng: rng.uniform(1e-3, largest)


def _one_of(*values: Any) -> Callable[[World, Random], Any]:
    return lambda w, rng: rng.choice(values)


def _rotation(w: World, rng: Random) -> Any:
    return pin.exp3(_numbers(3)(w, rng))


def _placement(w: World, rng: Random) -> Any:
    return pin.SE3(_rotation(w, rng), _numbers(3)(w, rng))


def _trajectory(w: World, rng: Random) -> Any:
    small = w if not w.legged else world("arm")
    return np.array([small.x(rng) for _ in range(T + 1)])


def _controls(w: World, rng: Random) -> Any:
    return _numbers(T, w.nu if not w.legged else 2)(w, rng)


def _motion(w: World, rng: Random) -> Any:
    return analysis.legged_motion(w.legged_solution)


def _any_solution(w: World, rng: Random) -> Any:
    return w.legged_solution if w.legged else w.solution


def _rand(state: trajopt.StateAbstract) -> Callable[[World, Random], Any]:
    return lambda w, rng: state.rand(rng.randrange(1000))


def _targets(w: World, rng: Random) -> Any:
    return rng.choice([None, (), np.array([0.5, 0.5, 0.0]), np.array([[0.5, 0.5, 0.0], [0.2, 0.1, 0.0]])])


def _obstacles(w: World, rng: Random) -> Any:
    return rng.choice([(), np.array([[0.5, 0.5, 0.1]]), np.array([[0.5, 0.5, 0.0, 0.1], [0.2, 0.1, 0.0, 0.1]])])


def _lower(w: World, rng: Random) -> Any:
    return -np.ones(w.state.ndx)


PARTS = {
    "StateSO3": trajopt.StateSO3(),
    "StateSE3": trajopt.StateSE3(),
    "StateProduct": trajopt.StateProduct(trajopt.StateSE3(), trajopt.StateVector(6)),
}
"""States on manifolds, whose methods take states of their own."""

DYNAMICS = [f"DifferentialActionModel{k}Dynamics" for k in ("FreeFwd", "ContactFwd", "FreeInv", "ContactInv")]
VALID: dict[str, Callable[[World, Random], Any]] = {
    # by function and argument
    "ActionModelLQR.A": _numbers(2, 2),
    "ActionModelLQR.B": _numbers(2, 1),
    "ActionModelLQR.N": _numbers(2, 1),
    "ActionModelLQR.Q": lambda w, rng: np.eye(2),
    "ActionModelLQR.R": lambda w, rng: np.eye(1),
    "ActionModelLQR.f": _numbers(2),
    "ActionModelLQR.q": _numbers(2),
    "ActionModelLQR.r": _numbers(1),
    "ActionModelLQR.constraints": lambda w, rng: w.constraints(rng, trajopt.StateVector(2)),
    "ActionModelUnicycle.constraints": lambda w, rng: w.constraints(rng, trajopt.StateVector(3)),
    "ActionModelUnicycle.weights": lambda w, rng: np.array([1.0, 2.0]),
    "ActionModelImpulseFwdDynamics.costs": lambda w, rng: w.costs(rng, w.robot_state, control=False),
    "ActionModelImpulseFwdDynamics.constraints": lambda w, rng: w.constraints(rng, w.robot_state),
    "ActionModelImpulseFwdDynamics.restitution": _up_to(1.0),
    "ActionModelTerminal.costs": lambda w, rng: w.costs(rng, control=False),
    "ActivationModelQuadraticBarrier.lower": lambda w, rng: -np.ones(3),
    "ActivationModelQuadraticBarrier.upper": lambda w, rng: np.ones(3),
    "ActuationModelFloatingBaseThrusters.state": lambda w, rng: world("quadruped").robot_state,
    "ActuationModelFloatingBaseThrusters.thrusters": lambda w, rng: [trajopt.Thruster((0.1, 0.0, 0.0), 0.01)],
    "Thruster.placement": _numbers(3),
    "Thruster.lower": lambda w, rng: 0.0,
    "Thruster.upper": lambda w, rng: 1.0,
    "Thruster.spin": _one_of("cw", "ccw"),
    "ActivationModelWeightedQuadraticBarrier.lower": lambda w, rng: -np.ones(3),
    "ActivationModelWeightedQuadraticBarrier.upper": lambda w, rng: np.ones(3),
    "ActivationModelWeightedQuadraticBarrier.weights": lambda w, rng: np.ones(3),
    "ActivationModelSymbolic.function": lambda w, rng: lambda r: r[0] ** 2,
    "ActivationModelSymbolic.parameters": lambda w, rng: None,
    "Feedback.solution": lambda w, rng: world("arm").solution,
    "ActivationModelWeightedQuad.weights": lambda w, rng: np.ones(3),
    **{f"ActuationModelMatrix.{name}": lambda w, rng: None for name in ("lower", "upper", "names")},
    "ActuationModelSquashed.actuation": lambda w, rng: trajopt.ActuationModelFull(world("arm").robot_state),
    "ActuationModelSquashed.lower": lambda w, rng: -np.ones(world("arm").robot.nv),
    "ActuationModelSquashed.upper": lambda w, rng: np.ones(world("arm").robot.nv),
    "ActuationModelSquashed.smoothness": lambda w, rng: 0.1,
    "ActuationModelMatrix.matrix": lambda w, rng: np.ones((w.robot.nv, 1)),
    "Capsule.start": _numbers(3),
    "Capsule.end": _numbers(3),
    "ConstraintStack.add.soft": _one_of(None, (1.0, 0.0), (0.0, 2.0)),
    "ConstraintStack.add.lower": lambda w, rng: -1.0,
    "ConstraintStack.add.upper": lambda w, rng: 1.0,
    "ConstraintStack.add.equals": lambda w, rng: None,
    "ContactModel1D.axis": lambda w, rng: np.array([0.0, 0.0, 1.0]),
    "ContactModel1D.reference": _up_to(1.0),
    "ContactModel2D.reference": _numbers(2),
    "ContactModel6D.reference": _placement,
    "ContactModelLoop.dimension": _one_of(3, 5, 6),
    "ContactSchedule.phases": lambda w, rng: (w.phase(rng), w.phase(rng)),
    "ContactSchedule.append.phases": lambda w, rng: w.phase(rng),
    "ContactSchedule.replace.phase": _one_of(0, -1),
    "ContactSchedule.start": lambda w, rng: w.stance,
    "ContactStack.add.item": lambda w, rng: trajopt.ContactModel3D(w.robot_state, w.frames[-1]),
    "ImpulseStack.add.item": lambda w, rng: trajopt.ImpulseModel3D(w.robot_state, w.frames[-1]),
    "DifferentialActionModelSymbolic.state": lambda w, rng: world("vector").state,
    "DifferentialActionModelSymbolic.nu": _one_of(1),
    "DifferentialActionModelSymbolic.costs": lambda w, rng: w.costs(rng, world("vector").state),
    "DifferentialActionModelSymbolic.constraints": lambda w, rng: w.constraints(rng, world("vector").state),
    "DifferentialActionModelSymbolic.lower": lambda w, rng: [-1.0],
    "DifferentialActionModelSymbolic.upper": lambda w, rng: [1.0],
    "DifferentialActionModelSymbolic.control_names": lambda w, rng: ["torque"],
    **{f"{name}.costs": lambda w, rng: w.costs(rng, w.robot_state) for name in DYNAMICS},
    **{f"{name}.constraints": lambda w, rng: w.constraints(rng, w.robot_state) for name in DYNAMICS},
    "Foothold.position": _numbers(3),
    "Foothold.of.value": _numbers(3),
    "Foothold.moved.motion": _placement,
    "GaitOptions.com": _up_to(1e6),
    "GaitOptions.state": _up_to(10),
    "GaitModels.costs": lambda w, rng: None,
    "GaitModels.problem.x0": lambda w, rng: None,
    "IterationRecord.iteration": _one_of(1),
    "LeggedRobot.feet": lambda w, rng: ("a", "b"),
    "LeggedRobot.sole": lambda w, rng: (0.2, 0.1),
    "Phase.stance": lambda w, rng: w.stance.names[:-1],
    "Phase.swings": lambda w, rng: (gaits.Swing(w.stance.names[-1], w.foothold(rng)),),
    "Phase.free": lambda w, rng: (),
    "ResidualModelCentroidalMomentum.reference": _numbers(6),
    "ResidualModelContactForce.reference": _numbers(3),
    "ResidualModelContactFrictionCone.cone": lambda w, rng: trajopt.FrictionCone(0.5),
    "ResidualModelContactWrenchCone.cone": lambda w, rng: trajopt.WrenchCone(0.5),
    "ResidualModelControl.reference": lambda w, rng: np.zeros(w.nu),
    "ResidualModelFramePlacement.reference": _placement,
    "ResidualModelFrameRotation.reference": _rotation,
    "ResidualModelFrameVelocity.reference": _numbers(6),
    "ResidualModelJointAcceleration.reference": lambda w, rng: np.zeros(w.robot.nv),
    "ResidualModelJointEffort.reference": lambda w, rng: None,
    "ResidualModelManipulability.rows": _one_of((0, 2), [2]),
    "ResidualModelManipulability.reference": _one_of(0.0, 0.3),
    "ResidualModelLookAt.axis": _one_of((0.0, 0.0, 1.0), [1.0, 2.0, 0.0]),
    "CollisionShapes.bodies": lambda w, rng: (trajopt.Sphere(0.1, frame="a"), trajopt.Sphere(0.2, frame="b")),
    "CollisionShapes.pairs": lambda w, rng: ((0, 1),),
    "CollisionShapes.left_out": lambda w, rng: {},
    "ResidualModelCollisions.state": lambda w, rng: collision_arm(),
    "ResidualModelCollisions.scene": lambda w, rng: rng.choice([None, trajopt.Scene({"ball": trajopt.Sphere(0.1)})]),
    "Scene.obstacles": lambda w, rng: {"ball": trajopt.Sphere(0.1), "table": trajopt.Box([1.0, 1.0, 0.1])},
    "Box.size": _one_of([0.3, 0.2, 0.1], (1.0, 2.0, 0.5)),
    "Box.placement": _placement,
    "ResidualModelPairDistance.first": lambda w, rng: trajopt.Sphere(0.1, frame=w.frames[-1]),
    "ResidualModelPairDistance.second": lambda w, rng: rng.choice([trajopt.Sphere(0.1), trajopt.Sphere(0.2)]),
    "ResidualModelRelativePlacement.frame": lambda w, rng: w.frames[-1],
    "ResidualModelRelativePlacement.base": lambda w, rng: "universe",
    "ResidualModelRelativePlacement.reference": _placement,
    "ResidualModelRelativeTranslation.frame": lambda w, rng: w.frames[-1],
    "ResidualModelRelativeTranslation.base": lambda w, rng: "universe",
    "ResidualModelState.elements": _one_of(None, [0], (1,)),
    "Sphere.center": _numbers(3),
    "ResidualModelState.reference": lambda w, rng: w.x(rng),
    "Robot.model": lambda w, rng: w.robot.model,
    "Robot.configurations": lambda w, rng: {"here": pin.neutral(w.robot.model)},
    "Robot.placement.q": lambda w, rng: pin.neutral(w.robot.model),
    "Robot.jacobian.q": lambda w, rng: pin.neutral(w.robot.model),
    "Robot.com.q": lambda w, rng: pin.neutral(w.robot.model),
    "Robot.configuration.name": lambda w, rng: rng.choice(list(w.robot.configurations)),
    "Robot.frame_id.name": lambda w, rng: rng.choice(w.frames),
    "Robot.joint_id.name": lambda w, rng: rng.choice(w.robot.joint_names),
    "Robot.lock_joints.names": lambda w, rng: [w.robot.joint_names[-1]],
    "Robot.lock_joints.configuration": lambda w, rng: None,
    "ShootingProblem.running": lambda w, rng: [w.action(rng)] * T if not w.legged else [],
    "ShootingProblem.terminal": lambda w, rng: w.costs(rng, control=False),
    "ShootingProblem.set_parameter.name": _one_of("goal.weight", "goal.reference", "dt", "effort.weight"),
    "ShootingProblem.set_parameter.value": lambda w, rng: rng.choice([0.5, w.x(rng), [0.5] * T]),
    "ShootingProblem.get_parameter.name": _one_of("goal.weight", "goal.reference", "dt"),
    "ShootingProblem.start": _one_of("fixed", "free"),
    "ShootingProblem.x0": lambda w, rng: w.state.zero(),
    "ShootingProblem.circular_append.model": lambda w, rng: None,
    "Solution.frame_path.frame": lambda w, rng: rng.choice((w if not w.legged else world("arm")).frames),
    "Solution.animate.path": lambda w, rng: folder() / "film.gif",
    "Solution.film.path": lambda w, rng: folder() / rng.choice(["film.gif", "still.png"]),
    "Solution.film.options": lambda w, rng: {"size": (80, 64), "fps": 10.0},
    "Solution.to_csv.path": lambda w, rng: folder() / "table.csv",
    "SolutionLibrary.solutions": lambda w, rng: w.converged_solutions,
    "SolutionLibrary.save.path": lambda w, rng: folder() / "library.npz",
    "SolutionLibrary.load.path": lambda w, rng: w.converged_solutions.save(folder() / "saved library.npz"),
    "SolutionBatch.load.path": lambda w, rng: w.solutions.save(folder() / "saved batch.npz"),
    "Solution.load.path": lambda w, rng: w.solution.save(folder() / "saved.npz"),
    "Stance.com": _numbers(3),
    "Stance.feet": lambda w, rng: {"a": (0.0, 0.0, 0.0), "b": w.foothold(rng)},
    "Stance.motion_to.other": lambda w, rng: w.stance,
    "Stance.of.robot": lambda w, rng: w.walker.robot,
    "Stance.of.feet": lambda w, rng: w.stance.names,
    "Stance.of.x": lambda w, rng: None,
    "Stance.stepped.places": lambda w, rng: {w.stance.names[0]: w.foothold(rng)},
    "StateMultibody.lower": lambda w, rng: -np.ones(2 * w.robot.nv),
    "StateMultibody.upper": lambda w, rng: np.ones(2 * w.robot.nv),
    "Conic.plugin": _one_of("qrqp"),
    "StageQP.lq": lambda w, rng: w.qp.lq,
    "StageQP.C": lambda w, rng: w.qp.C,
    "StageQP.terminal_C": lambda w, rng: w.qp.terminal_C,
    "StageQP.lower": lambda w, rng: w.qp.lower,
    "StageQP.upper": lambda w, rng: w.qp.upper,
    "StageQP.delta": lambda w, rng: w.qp.delta,
    "StageQP.y_ref": lambda w, rng: w.qp.y_ref,
    "StageQP.soft_linear": lambda w, rng: w.qp.soft_linear,
    "StageQP.soft_quadratic": lambda w, rng: w.qp.soft_quadratic,
    "StageQP.zeros.lq": lambda w, rng: w.qp.lq,
    "StageQP.zeros.nc": _one_of(0, 2),
    "StageQP.rows.dx": _numbers(T + 1, 2),
    "StageQP.rows.du": _numbers(T, 1),
    "StateProduct.states": _one_of(*PARTS.values()),
    "StateProduct.labels": lambda w, rng: ["body"],
    "StateVector.nx": _one_of(2),
    "StateVector.lower": lambda w, rng: -np.ones(2),
    "StateVector.upper": lambda w, rng: np.ones(2),
    "StateVector.names": lambda w, rng: ["angle", "rate"],
    "StateVector.units": lambda w, rng: ["rad", "rad/s"],
    "Swing.foot": lambda w, rng: rng.choice(w.stance.names),
    "animate.solution": lambda w, rng: rng.choice([w.solution, world("vector").drive, w.legged_solution]),
    "animate.path": lambda w, rng: folder() / "film.gif",
    "biped_footsteps.footsteps": lambda w, rng: [(w.stance.names[0], w.foothold(rng))],
    "biped_jump.flight": _one_of("ballistic", "crocoddyl"),
    "carried_postures.robot": lambda w, rng: w.walker.robot,
    "carried_postures.posture": lambda w, rng: None,
    "configuration_on_ground.robot": lambda w, rng: w.walker.robot,
    "configuration_on_ground.feet": lambda w, rng: w.stance.names,
    "configuration_on_ground.configuration": lambda w, rng: "standing",
    "contact_forces.problem": lambda w, rng: w.problem(rng),
    "describe.name": lambda w, rng: rng.choice(problems.names()),
    "footsteps_along.path": lambda w, rng: [(0.0, 0.0), (0.5, 0.0)],
    "friction_use.motion": _motion,
    "gait_guess.problem": lambda w, rng: w.gait_models.problem(w.schedule),
    "gait_problem.robot": lambda w, rng: w.walker.robot,
    "gait_problem.costs": lambda w, rng: None,
    "gait_problem.x0": lambda w, rng: None,
    "legged_motion.sole": lambda w, rng: None,
    "legged_robot.name": _one_of("small-quadruped", "small-biped"),
    "ConstraintRows.title.row": lambda w, rng: 0,
    "constraint_rows.solution": lambda w, rng: rng.choice([w.solution, constrained.torn_mass()]),
    "limit_uses.solution": _any_solution,
    "limits_report.solution": _any_solution,
    "load.name": _one_of("pendulum", "lqr", "cart-pole", "unicycle", "double-pendulum"),
    "load.start": lambda w, rng: np.zeros(rng.choice([2, 3, 4])),
    "load.weights": lambda w, rng: (10.0, 1.0),
    "load.hessian": _one_of("gauss-newton", "exact"),
    "load.robot": lambda w, rng: None,
    "load_robot.source": _one_of("planar-2r", "planar-3r", "cart-pole", "double-pendulum"),
    "load_robot.name": _one_of("a", "b"),
    "pendulum_plan.com": lambda w, rng: None,
    "constraints_report.solution": _any_solution,
    "plot_configurations.configurations": lambda w, rng: pin.neutral(w.robot.model),
    "plot_configurations.points": _targets,
    "plot_configurations.placements": _placement,
    "plot_configurations.obstacles": _obstacles,
    "plot_configurations.view": lambda w, rng: rng.choice([None, (20.0, 30.0)]),
    "plot_constraints.solution": lambda w, rng: constrained.torn_mass(),
    "plot_motion.frame": lambda w, rng: None,
    "plot_motion.targets": _targets,
    "plot_motion.view": lambda w, rng: rng.choice([None, (20.0, 30.0)]),
    "plot_pages.path": lambda w, rng: folder() / "pages.pdf",
    "plot_path.targets": _targets,
    "plot_path.obstacles": _obstacles,
    "plot_path.solution": lambda w, rng: world("vector").drive,
    "plot_path.view": lambda w, rng: rng.choice([None, (20.0, 30.0)]),
    "plot_rollout.rollout": rollout_of_arm,
    "animate_rollout.rollout": rollout_of_arm,
    "animate_rollout.path": lambda w, rng: folder() / "rollout.gif",
    "with_base.model": lambda w, rng: trajopt.load_robot("small-quadruped").model,
    "with_base.base": _one_of("free_flyer", "euler", "planar", "fixed"),
    "load_geometry.source": _one_of("four-limbs", "planar-2r"),
    "load_geometry.model": lambda w, rng: trajopt.load_robot("four-limbs").model,
    "load_geometry.kind": _one_of("collision", "visual"),
    "plot_summary.obstacles": _obstacles,
    "plot_summary.frame": lambda w, rng: None,
    "plot_summary.targets": _targets,
    "plot_summary.page": lambda w, rng: "summary",
    "quadruped_jump.flight": _one_of("ballistic", "crocoddyl"),
    "reached.motion": _motion,
    "reached.solution": _any_solution,
    "reached_words.rows": lambda w, rng: analysis.reached(w.legged_solution),
    "unknown_robot.known": lambda w, rng: ("panda", "kinova"),
    "quadruped_com_shift.shifts": lambda w, rng: [0.01, -0.01],
    # by argument
    "activation": lambda w, rng: None,
    "active": _one_of(True, False),
    "actuation": lambda w, rng: w.actuation(rng),
    "box": lambda w, rng: np.array([0.2, 0.1]),
    "callback": lambda w, rng: lambda record: None,
    "callbacks": lambda w, rng: (),
    "com": _numbers(3),
    "com_start": _numbers(3),
    "configuration": lambda w, rng: "standing",
    "constraints": lambda w, rng: w.constraints(rng),
    "contact": _one_of("touch"),
    "contacts": lambda w, rng: w.contacts(rng),
    "control_names": lambda w, rng: [f"u{i}" for i in range(w.nu)],
    "convert": lambda w, rng: None,
    "costs": lambda w, rng: w.costs(rng),
    "count": _one_of(1, 2),
    "cycles": _one_of(1, 2),
    "differential": lambda w, rng: w.differential(rng),
    "dimension": _one_of(3, 6),
    "dt": _up_to(0.1),
    "dx": lambda w, rng: _numbers(w.state.ndx)(w, rng),
    "every": _one_of(1, 5),
    "facets": _one_of(4, 6, 8),
    "factor": _up_to(3.0),
    "figure": lambda w, rng: None,
    "first": lambda w, rng: w.stance.names[0],
    "first_step": _one_of("half", "full"),
    "foot": lambda w, rng: rng.choice(w.stance.names),
    "frame": lambda w, rng: rng.choice(w.frames),
    "frame_a": lambda w, rng: w.frames[0],
    "frame_b": lambda w, rng: w.frames[-1],
    "frames": _one_of(2, 5),
    "friction": _one_of(None, "smooth"),
    "function": lambda w, rng: speed,
    "gains": lambda w, rng: (0.0, 10.0),
    "heading": _up_to(1.0),
    "history": lambda w, rng: w.solution.history,
    "c": _up_to(1.0),
    "impulses": lambda w, rng: w.impulses(rng),
    "tableau": _one_of(trajopt.Tableau.HEUN, trajopt.Tableau.KUTTA),
    "Tableau.A": _one_of(((), (0.5,)), ((), (1.0,))),
    "Tableau.b": _one_of((0.0, 1.0), (0.5, 0.5)),
    "integrator": _one_of("euler", "rk4"),
    "kind": _one_of("standing", "references", "pendulum"),
    "knots": lambda w, rng: rng.choice([None, 0, [0, 1], "running", "all"]),
    "Phase.knots": _one_of(1, 4),
    "quadruped_com_shift.knots": _one_of(1, 4),
    "lower": _lower,
    "matrix": lambda w, rng: np.ones((w.robot.nv, 1)),
    "max_force": lambda w, rng: rng.uniform(10, 100),
    "max_iterations": _one_of(1, 3),
    "max_regularization": lambda w, rng: 1e9,
    "min_force": _up_to(5.0),
    "model": lambda w, rng: w.action(rng),
    "motion": _placement,
    "mu": _up_to(2.0),
    "name": _one_of("one", "two", "three"),
    "names": lambda w, rng: ["one", "two"],
    "nu": lambda w, rng: w.nu,
    "nv": lambda w, rng: w.walker.robot.nv,
    "nx": _one_of(2, 3),
    "other": lambda w, rng: w.schedule,
    "p": _numbers(2),
    "package_dirs": lambda w, rng: (),
    "parameters": lambda w, rng: {"limit": 1.0},
    "path": lambda w, rng: folder() / "file.png",
    "Solution.save.path": lambda w, rng: folder() / "file.npz",
    "SolutionBatch.save.path": lambda w, rng: folder() / "batch.npz",
    "position": _numbers(3),
    "posture": lambda w, rng: None,
    "problem": lambda w, rng: w.problem(rng),
    "GaitModels.set_schedule.problem": lambda w, rng: w.gait_models.problem(w.schedule),
    "profile": _one_of("triangle", "smooth"),
    "qp": lambda w, rng: w.qp,
    "quaternion": lambda w, rng: (0.0, 0.0, 0.0, 1.0),
    "reference": _numbers(3),
    "reference_frame": _one_of("local", "world", "local_world_aligned"),
    "residual": lambda w, rng: w.residual(rng),
    "rng": lambda w, rng: rng.randrange(1000),
    "robot": lambda w, rng: w.robot,
    "GaitModels.robot": lambda w, rng: w.walker.robot,
    "rotation": _rotation,
    "schedule": lambda w, rng: w.schedule,
    "sole": lambda w, rng: (0.2, 0.1),
    "solution": lambda w, rng: w.legged_solution if w.legged else w.solution,
    "solution_or_history": lambda w, rng: w.solution,
    "stance": lambda w, rng: w.stance,
    "start": lambda w, rng: w.stance,
    "state_weights": lambda w, rng: _weights(),
    "touchdown_state_weights": lambda w, rng: _weights(),
    "step": _numbers(3),
    "step_lengths": lambda w, rng: (1.0, 0.5),
    "times": _one_of(1, 2),
    "time_limit": _up_to(10.0),
    "title": _one_of("a title"),
    "to": lambda w, rng: w.foothold(rng),
    "t": _up_to(1.0),
    "u": lambda w, rng: np.zeros(w.nu),
    "unit": _one_of("m", "rad"),
    "units": lambda w, rng: ["m", "m/s"],
    "upper": lambda w, rng: np.ones(w.state.ndx),
    "us": _controls,
    "v": _numbers(2),
    "value": _numbers(3),
    "weight": _up_to(10.0),
    "weights": lambda w, rng: np.ones(3),
    "which": _one_of("both", "first", "second"),
    "x": lambda w, rng: w.x(rng),
    "LinearInvertedPendulum.motion.x": _numbers(2),
    "LinearInvertedPendulum.capture_point.x": _numbers(2),
    "x0": lambda w, rng: w.x(rng),
    "x1": lambda w, rng: w.x(rng),
    "xi": _numbers(2),
    "xi_end": _numbers(2),
    "xs": _trajectory,
    "ShootingProblem.quasi_static.xs": lambda w, rng: _trajectory(w, rng)[:-1],
    "ground": lambda w, rng: 0.0,
    "jump_length": _numbers(3),
    "options": lambda w, rng: None,
    "SolverFatrop.problem": lambda w, rng: w.problem(rng, expressions=True),
    "SolverIpopt.problem": lambda w, rng: w.problem(rng, expressions=True),
    "SolverFatrop.options": lambda w, rng: solvers.NLPOptions(max_iterations=3),
    "SolverIpopt.options": lambda w, rng: solvers.NLPOptions(max_iterations=3),
    "SolverSQP.options": lambda w, rng: solvers.SQPOptions(max_iterations=3),
    "NLPOptions.settings": lambda w, rng: {"max_iter": 2},
    "SolverDDP.options": lambda w, rng: solvers.DDPOptions(max_iterations=3),
    "SolverFDDP.options": lambda w, rng: solvers.FDDPOptions(max_iterations=3),
    "SolverBoxDDP.options": lambda w, rng: solvers.BoxDDPOptions(max_iterations=3),
    "SolverBoxFDDP.options": lambda w, rng: solvers.BoxFDDPOptions(max_iterations=3),
    "configurations": lambda w, rng: {},
    "multipliers": lambda w, rng: None,
    "argument": _one_of("x"),
    "without": lambda w, rng: (),
    # by type
    "bool": _one_of(True, False),
    "int": _one_of(1, 2, 4),
    "float": _up_to(1.0),
    "str": _one_of("one", "two"),
}

VALID |= SIMULATED | IDENTIFIED | KINEMATIC | ARTICULATED | DRIVING | LEARNED | REDUCED | RETIMED | PLANNED | SENSED
VALID |= CONTROLLED | DISPLAYED | SWEPT | BATCHED | COLLIDED | MEASURED | STEPPED

for _name, _state in PARTS.items():
    for _door in ("at_rest.x", "check.x", "normalize.x", "integrate.x", "jintegrate.x"):
        VALID[f"{_name}.{_door}"] = _rand(_state)
    for _door in ("difference.x0", "difference.x1", "jdifference.x0", "jdifference.x1"):
        VALID[f"{_name}.{_door}"] = _rand(_state)
    for _door in ("integrate.dx", "jintegrate.dx"):
        VALID[f"{_name}.{_door}"] = _numbers(_state.ndx)


def _weights() -> gaits.StateWeights:
    return gaits.StateWeights(base_position=1.0, base_rotation=1.0, joints=1.0, base_velocity=1.0, joint_velocities=1.0)
