"""The differentiable simulator.

Longer than other files, because every setting of a simulation has its method and its words.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import (
    as_numbers,
    check_array,
    check_count,
    check_flag,
    check_items,
    check_non_negative,
    check_positive,
)
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot
from trajopt.simulator.arguments import Arguments
from trajopt.simulator.batch import BatchAbstract, PreciseBatch, StateBatch, check_status
from trajopt.simulator.black_box import BlackBoxes
from trajopt.simulator.contact import MDPContact, SimulatorContactAbstract
from trajopt.simulator.distance_limit import DistanceLimit
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.modes import SimulatorMode, Variant
from trajopt.simulator.pd_controller import PDController, torque_at
from trajopt.simulator.programs import ROOTS, derivatives_program, step_of, values_program
from trajopt.simulator.rollout import Controller, Rollout, roll_out
from trajopt.simulator.surfaces import Plane
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

Result = tuple[Reals, Reals | None, Reals | None]
DOUBLES = 64
"""Accuracy that selects doubles [bits]."""
_KEPT = 6  # number of batch sizes whose memory is kept


class Simulator(Immutable):
    """Differentiable simulator of an articulated body with contact forces of maximal dissipation.

    The default mode FORWARD_RK1F computes v₊ = v + dt H⁻¹ (τ - C(q, v) + Jᵀ f) and q₊ = q ⊕ dt v₊. Of all admissible
    contact forces, f minimises the kinetic energy of v₊. Contacts need no schedule. The step is a C² function of (q,
    v, τ) if exponents are above 2. Linear velocities of free joints are added in world axes, as in MuJoCo's Euler step,
    so a spinning body keeps its momentum. `SimulatorMode` lists the other modes.

    The input qdq is (q, v), in inverse modes (q, v, v̇), in backward modes (q₊, v₊, v). Derivatives are in tangent
    spaces: of a step, Dqdq is (2 nv, 2 nv) and Dtau is (2 nv, nv). Threads may share a simulator.

    Args:
        robot: A Robot, or a Pinocchio model.
        contacts: Contacts of the robot; none by default. Limits of distance joints act as further contacts, see
            `trajopt.simulator.distance_limit`.
        mode: A SimulatorMode, or its name.
        variant: "projected", "readme" or "source", for FORWARD_RK1I, FORWARD_RK2I and FORWARD_RK4I.
        barrier_weight: β > 0 [W]; a step of dt has a barrier of weight μ = β dt [J]. The default follows from `v_tol`.
            Run-time parameter `barrier_weight`.
        v_tol: Creep speed of resting contacts [m/s]. It only sets the default barrier weight, β = m g v_tol
            min(friction cos(π/n) / n) / contacts with n rays each, the least of all bodies in contact, such as a robot
            of the mass m and an object beside it, and m g v_tol in impulse modes. If all contacts of a body carry the
            same weight, a tangential load of a fraction ρ of the friction cone creeps at 2 v_tol ρ / (1 - ρ²) at any
            dt: v_tol at ρ = 0.41, 1.5 v_tol at 0.54, 33 v_tol at 0.97. With few rays the speed depends on the
            direction. A body that has landed deep in a surface and sticks rises at v_tol friction cos(π/n), without
            rebound; one that slides rebounds, see `MDPContact`.
        joint_friction: "smooth" for the damping and dry friction of the joints, a SmoothFriction, or None for no
            friction.
        joint_stops: True for stops at all position limits of the joints, names of joints, or limits by name such as
            {"knee": (-2.0, 0.0)} [rad, m]. A stop keeps its joint within its limits at the end of each step, without
            rebound, up to 100 rad/s. Modes FORWARD_RK1F, BACKWARD_RK1F and INVERSE_BACKWARD_RK1F only. None by
            default.
        torque_limits: True for the effort limits of the robot's joints, or the largest torque of each velocity (nv,),
            inf for no limit [N m, N]. Larger torques are clipped, and have no derivative. The limits are then the
            run-time parameter `torque_limits`. None, the default, for no limits.
        accuracy: Number of bits: 64 for compiled doubles, or more, which is slow [-]. Results are doubles.

    Raises:
        InvalidArgumentError: An argument has the wrong type or value.

    Source: DiffNE; Zhu, Pan and Hauser (ICRA 2021).
    """

    def __init__(
        self,
        robot: Robot | pin.Model,
        contacts: Sequence[SimulatorContactAbstract] = (),
        mode: SimulatorMode | str = SimulatorMode.FORWARD_RK1F,
        *,
        variant: Variant | str = Variant.PROJECTED,
        barrier_weight: float | None = None,
        v_tol: float = 1e-4,
        joint_friction: SmoothFriction | str | None = None,
        joint_stops: bool | Sequence[str] | Mapping[str, Sequence[float]] = False,
        torque_limits: bool | npt.ArrayLike | None = None,
        accuracy: int = DOUBLES,
    ) -> None:
        robot = Robot(robot) if isinstance(robot, pin.Model) else robot
        if not isinstance(robot, Robot):
            raise InvalidArgumentError(f"robot: expected a Robot or a pinocchio.Model, got {robot!r}; use load_robot")
        items = check_items("contacts", contacts, "contacts", cure="pass a list of MDPContact(...)")
        for contact in items:
            if not isinstance(contact, SimulatorContactAbstract):
                raise InvalidArgumentError(f"contacts: expected MDPContact or ExternalWrench, got {contact!r}")
        self._options: dict[str, Any] = {
            "variant": Variant.of(variant),
            "barrier_weight": barrier_weight,
            "v_tol": v_tol,
            "joint_friction": joint_friction,
            "joint_stops": joint_stops,
            "torque_limits": torque_limits,
        }
        self._parameters: dict[str, Any] = {}
        self._accuracy = check_count("accuracy", accuracy, least=DOUBLES, most=100_000)
        self._threads: int | None = None
        self._settings: Reals | None = None
        self._through = True
        self._set_model(SimulatorModel(robot, items, SimulatorMode.of(mode), **self._options))

    def _set_model(self, model: SimulatorModel) -> None:
        self._model = model
        self._batches: list[tuple[tuple[Any, ...], BatchAbstract]] = []
        step = step_of(model)
        self._arguments, self._black_boxes = Arguments(model, step), BlackBoxes(model)
        self._with_torque, self._steps_state = step.with_torque, step.steps_state

    @property
    def model(self) -> SimulatorModel:
        """Robot, contacts, mode and run-time parameters; `set_floor` replaces it."""
        return self._model

    @property
    def state(self) -> StateMultibody:
        """State (q, v) of the robot."""
        return self.model.state

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.state.robot

    @property
    def mode(self) -> SimulatorMode:
        """Mode: the equation of a step."""
        return self.model.mode

    def __repr__(self) -> str:
        names = ", ".join(self.model.names) or "no contacts"
        return f"Simulator({self.robot.name!r}, {self.mode.name}, contacts: {names})"

    def copy(self) -> Simulator:
        """Independent simulator with the same settings."""
        return _restored(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {
            name: getattr(self, name) for name in ("_options", "_accuracy", "_threads", "_settings", "_through")
        }
        return _restored, (self.model, settings | {"_parameters": dict(self._parameters)})

    def parameter_values(self) -> dict[str, Any]:
        """Values of the run-time parameters that `set_parameter` has changed, by name."""
        return dict(self._parameters)

    # Settings

    def set_threads(self, n: int) -> None:
        """Sets the number of threads for batches [-]; `trajopt.set_num_threads` is the default and maximum."""
        self._threads = check_count("n", n, least=1, most=1024)

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets a run-time parameter: `barrier_weight`, "contacts.LF_FOOT.friction", or "robot.base_link.mass".

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: The value is out of range.
        """
        parameters = self.model.parameters()
        if not isinstance(name, str) or name not in parameters or name == "dt":
            suggest = [n for n in parameters if n.endswith(f".{name}")][:3] if isinstance(name, str) else []
            raise unknown_name("parameter", name, [n for n in parameters if n != "dt"], suggest=suggest)
        parameters[name].check(name, value)
        self._parameters[name] = value

    def set_PD_controller(
        self, kp: npt.ArrayLike, kd: npt.ArrayLike, target: npt.ArrayLike | None = None, *, derivative: bool = True
    ) -> None:
        """Sets the torque of steps without `tau`: τ = kp (q* ⊖ q) + kd (v* - v), evaluated at (q, v); zero at a base.

        The torque is constant during a step. It is stable only while kp dt² and kd dt are well below the inertia that
        a joint moves, 1 / (M⁻¹)ᵢᵢ.

        Args:
            kp: Stiffness, >= 0, of all joints or of each velocity (nv,) [N m/rad, N/m].
            kd: Damping, >= 0, of all joints or of each velocity (nv,) [N m s/rad, N s/m].
            target: (q*, v*), or q* (nq,) with v* = 0; the neutral configuration by default.
            derivative: Whether Dqdq includes the derivative of this torque.
        """
        state, controller = self.state, PDController(self.model)
        gains = [self._gain(name, gain) for name, gain in (("kp", kp), ("kd", kd))]
        if target is None:
            goal = state.zero()
        elif np.shape(target) == (state.nq,):
            goal = state.at_rest(target)
        else:
            goal = state.check(target, "target")
        self._settings = controller.settings(goal, *gains)
        self._through = check_flag("derivative", derivative)

    def _gain(self, name: str, gain: npt.ArrayLike) -> Reals:
        values = as_numbers(name, gain)
        if values.ndim == 0:
            return np.full(self.model.nv, check_non_negative(name, gain))
        values = check_array(name, values, (self.model.nv,), cure="pass one gain for each velocity")
        if np.any(values < 0):
            raise InvalidArgumentError(f"{name}: expected gains >= 0, got {values.min()}")
        return values

    def set_floor(self, plane: npt.ArrayLike, end_effectors: Sequence[Any], **options: Any) -> None:
        """Replaces contacts by spheres against the plane a x + b y + c z + d >= 0; limits of distance joints stay.

        Args:
            plane: Coefficients (a, b, c, d).
            end_effectors: Names of frames, MDPContact, or objects with `frame`, `offset` and `radius`.
            options: Options of MDPContact for all of them, such as friction, strength or rays.
        """
        surface, contacts = Plane(plane), []
        for item in check_items("end_effectors", end_effectors, "end effectors"):
            if isinstance(item, str):
                contacts.append(MDPContact(item, surface=surface, **options))
            elif all(hasattr(item, name) for name in ("frame", "offset", "radius")):
                arguments = {"name": getattr(item, "name", None), **options}
                contacts.append(MDPContact(item.frame, item.offset, item.radius, surface, **arguments))
            else:
                raise InvalidArgumentError(
                    f"end_effectors: expected names of frames, or objects with frame, offset and radius, got {item!r}"
                )
        kept = tuple(f"contacts.{c.name}." for c in self.model.contacts if isinstance(c, DistanceLimit))
        values = self._parameters.items()
        self._parameters = {n: v for n, v in values if n.startswith(kept) or not n.startswith("contacts.")}
        self._set_model(SimulatorModel(self.robot, contacts, self.mode, **self._options))

    # Steps

    def simulate(
        self,
        dt: float,
        qdq: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        Dqdq: bool = False,
        Dtau: bool = False,
    ) -> Result:
        """Computes one step.

        Args:
            dt: Time step, > 0 [s].
            qdq: Input of the mode, (q, v) by default.
            tau: Torques (nv,) [N m, N]; by default those of the PD controller if there is one, else zero.
            Dqdq: Whether to compute the derivative by qdq.
            Dtau: Whether to compute the derivative by tau.

        Returns:
            Result of the mode, by default (q₊, v₊), its derivative by qdq and its derivative by tau; None for
            derivatives that were not requested.

        Raises:
            InvalidArgumentError: An argument has the wrong size or value.
            ModelEvaluationError: The iteration for the contact forces did not converge.
        """
        torques = None if tau is None else self._arguments.one_torque(tau)[None]
        result, by_qdq, by_tau = self._steps(dt, self._arguments.one_input(qdq), torques, Dqdq, Dtau)
        return result[0].copy(), _only(by_qdq), _only(by_tau)

    def simulate_batched(
        self,
        dt: float,
        qdqs: Sequence[npt.ArrayLike] | Reals,
        taus: Sequence[npt.ArrayLike] | Reals | None = None,
        Dqdqs: bool = False,
        Dtaus: bool = False,
        *,
        Dqdq: bool = False,
        Dtau: bool = False,
    ) -> Result:
        """Computes independent steps in parallel, with the same results as `simulate`, to the last bit.

        Args:
            dt: Time step of all steps, > 0 [s].
            qdqs: Inputs (n, size).
            taus: Torques (n, nv) [N m, N].
            Dqdqs: Whether to compute derivatives by qdq; `Dqdq` means the same.
            Dtaus: Whether to compute derivatives by tau; `Dtau` means the same.
            Dqdq: See Dqdqs.
            Dtau: See Dtaus.
        """
        inputs = self._arguments.inputs(qdqs)
        torques = None if taus is None else self._arguments.torques(taus, len(inputs))
        one, other = check_flag("Dqdqs", Dqdqs), check_flag("Dtaus", Dtaus)
        flags = one or check_flag("Dqdq", Dqdq), other or check_flag("Dtau", Dtau)
        return self._steps(dt, inputs, torques, *flags)

    def step(self, dt: float, x: npt.ArrayLike, tau: npt.ArrayLike | None = None) -> tuple[Reals, dict[str, Reals]]:
        """Computes the next state (nx,), and the force of each contact as `contact_forces` does.

        The state is the result of `simulate`. In a backward mode, it solves the mode's equation with q₊ = q ⊕ dt v₊.

        Raises:
            InvalidArgumentError: The mode does not step a state, or an argument is wrong.
            ModelEvaluationError: An iteration did not converge.
        """
        torques = None if tau is None else self._arguments.one_torque(tau)[None]
        xs, forces = self._motion(dt, self.state.check(x, "x"), torques, 1)
        return xs[0], {name: rows[0] for name, rows in forces.items()}

    def rollout(
        self, x0: npt.ArrayLike, taus: npt.ArrayLike | Controller | None = None, steps: int = 1000, dt: float = 1e-3
    ) -> Rollout:
        """Computes successive steps.

        Args:
            x0: Initial state (q, v), (nx,).
            taus: Torques (steps, nv), or a function (time, x) -> τ (nv,) [N m, N]. None for those of the PD
                controller, or zero without one.
            steps: Number of steps, >= 1.
            dt: Time step, > 0 [s].

        Raises: As in `step`.
        """
        return roll_out(self, self._motion, x0, taus, steps, check_positive("dt", dt, unit="s"))

    def controller_torque(self, x: npt.ArrayLike) -> Reals:
        """Torque of the PD controller in a state x (nx,): (nv,) [N m, N]; zero without a controller."""
        checked = self.state.check(x, "x")
        return np.zeros(self.model.nv) if self._settings is None else torque_at(self.state, self._settings, checked)

    def motor_torque(self, tau: npt.ArrayLike) -> Reals:
        """Torque (nv,) of the motors for a requested one: clipped to the simulator's limits, if any [N m, N]."""
        requested = check_array("tau", tau, (self.model.nv,))
        first = self.model.layout.parameters.get("torque_limits")
        limits = None if first is None else np.asarray(self._parameters.get("torque_limits", first.default))
        return requested if limits is None else np.clip(requested, -limits, limits)

    def contact_forces(self, dt: float, qdq: npt.ArrayLike, tau: npt.ArrayLike | None = None) -> dict[str, Reals]:
        """Force of each contact in a step by name, in the world's axes [N; N s in impulse modes]."""
        return {name: forces[0] for name, forces in self._felt(dt, *self._checked([qdq], tau))[1].items()}

    def velocity_after(self, dt: float, qdq: npt.ArrayLike, tau: npt.ArrayLike | None = None) -> Reals:
        """Velocity v̂ after dissipation (nv,) that a step uses, in the axes of its input's q [rad/s, m/s]."""
        velocity: Reals = self._felt(dt, *self._checked([qdq], tau))[2][0]
        return velocity

    def _checked(self, qdqs: Any, tau: Any) -> tuple[Reals, Reals | None]:
        return self._arguments.inputs(qdqs), None if tau is None else self._arguments.one_torque(tau)[None]

    def _motion(self, dt: float, x: Reals, taus: Reals | None, most: int) -> tuple[Reals, dict[str, Reals]]:
        """States (n, nx) after 1 to `most` steps from a checked state, and the forces of each step by name, (n, k)."""
        if not self._steps_state and self.mode not in ROOTS:
            raise InvalidArgumentError(
                f"mode: expected one that steps a state, got {self.mode.name}, which computes "
                f"{'torques' if self.mode.name.startswith('INVERSE') else 'accelerations'}; use FORWARD_RK1F"
            )
        self._black_boxes.check_step(self.mode, self._steps_state)
        n = most if self._accuracy == DOUBLES and not self._black_boxes else 1
        given = None if taus is None else taus[:n]
        return self._felt(dt, np.repeat(x[None], n, axis=0), given, stepping=True)[:2]

    def _felt(
        self, dt: float, inputs: Reals, taus: Reals | None, *, stepping: bool = False
    ) -> tuple[Reals, dict[str, Reals], Reals]:
        """Results, forces by name, and velocities after dissipation; of successive steps if `stepping`."""
        batch = self._run(dt, inputs, taus, derivatives=False, stepping=stepping)
        forces = batch.results[1].reshape(len(inputs), -1)
        ends = np.cumsum([0, *self.model.force_sizes.values()])
        named = {name: forces[:, i:j].copy() for name, i, j in zip(self.model.force_sizes, ends, ends[1:])}
        result, _, velocity = (array.reshape(len(inputs), -1).copy() for array in batch.results[:3])
        return result, named, velocity

    # Inside

    def _steps(self, dt: float, qdqs: Reals, taus: Reals | None, Dqdq: bool, Dtau: bool) -> Result:
        Dqdq, Dtau = check_flag("Dqdq", Dqdq), check_flag("Dtau", Dtau)
        batch = self._run(dt, qdqs, taus, derivatives=Dqdq or Dtau)
        result = batch.results[0].reshape(len(qdqs), -1)
        return result, batch.results[1] if Dqdq else None, batch.results[2] if Dtau else None

    def _run(
        self, dt: float, qdqs: Reals, taus: Reals | None, *, derivatives: bool, stepping: bool = False
    ) -> BatchAbstract:
        controlled = taus is None and self._settings is not None and self._with_torque
        batch = self._batch(len(qdqs), derivatives, controlled, stepping)
        batch.qdqs[:] = qdqs
        if controlled:
            batch.commands[:] = self._settings
        else:
            batch.commands[:] = 0.0 if taus is None else taus
        values = {**self._parameters, "dt": dt}
        if self._accuracy > DOUBLES:  # the square of the last step is the error
            values.setdefault("tolerance", 2.0 ** (4 - self._accuracy // 2))
        batch.parameters[:] = self.model.layout.column(values)
        if self._black_boxes:
            self._black_boxes.fill(batch.qdqs, batch.parameters, derivative=derivatives)
        batch.run(self._threads)
        status, implicit = batch.results[-1].ravel(), stepping and self.mode in ROOTS
        check_status(status, batch.qdqs, self.model.nq, stepping=stepping, implicit=implicit)
        return batch

    def _batch(self, size: int, derivatives: bool, controlled: bool, stepping: bool) -> BatchAbstract:
        """Memory for `size` steps whose previous results are no longer in use."""
        key = (threading.get_ident(), size, derivatives, controlled, stepping, self._through)
        for other, batch in self._batches:
            if other == key and batch.idle:
                return batch
        if derivatives:
            program = derivatives_program(self.model, controlled=controlled, through=self._through)
        else:
            program = values_program(self.model, controlled=controlled, stepping=stepping)
        kinds = {"shared": controlled, "told": bool(self._black_boxes)}
        double = self._accuracy == DOUBLES
        new = (
            StateBatch(program, size, **kinds, motion=stepping)
            if double
            else PreciseBatch(program, size, **kinds, bits=self._accuracy)
        )
        self._batches = [*self._batches, (key, new)][-_KEPT:]
        return new


def _only(array: Reals | None) -> Reals | None:
    """Copy of the row of a batch of one, so that a caller who keeps it leaves the batch to the next step."""
    return None if array is None else array[0].copy()


def _restored(model: SimulatorModel, settings: dict[str, Any]) -> Simulator:
    """Simulator of a model with these private attributes."""
    simulator = Simulator.__new__(Simulator)
    vars(simulator).update(settings)
    simulator._set_model(model)
    return simulator
