"""The digest of a model's content: equal for equal expressions, different whenever an expression may differ.

Longer than a file should be, because the ways in which content can change are listed in one place.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support import model_list
from tests.support.model_list import Pendulum, small_costs, state_of, sx_function
from trajopt import problems, source
from trajopt.actions.expression import ActionModelExpression
from trajopt.dynamics.friction import SmoothFriction
from trajopt.model import Parameter, content
from trajopt.problems import walk_freely
from trajopt.robots import Robot

ROOT = Path(__file__).parents[2]


def costs(state: Any, *, weight: float = 1.0, frame: str = "tip", target: float = 0.0) -> trajopt.CostStack:
    stack = trajopt.CostStack(state)
    stack.add("goal", trajopt.ResidualModelFrameTranslation(state, frame, np.full(3, target)), weight)
    return stack.add("u_reg", trajopt.ResidualModelControl(state), 0.1 * weight)


def node(
    *,
    dt: float = 0.01,
    friction: Any = None,
    robot: Robot | None = None,
    matrix: Any = ((1.0,), (0.0,)),
    integrator: Any = trajopt.IntegratedActionModelEuler,
    **more: Any,
) -> Any:
    state = state_of("cart-pole") if robot is None else trajopt.StateMultibody(robot)
    actuation = trajopt.ActuationModelMatrix(state, matrix)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs(state, **more), friction=friction)
    return integrator(model, dt)


def in_contact(*, gains: tuple[float, float] = (3.0, 20.0), active: bool = True, damping: float = 0.1) -> Any:
    state = state_of("drone")
    contacts = trajopt.ContactStack(state)
    contacts.add("tip", trajopt.ContactModel3D(state, "tip", reference=np.zeros(3), gains=gains), active=active)
    actuation = trajopt.ActuationModelFloatingBase(state)
    model = trajopt.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs(state), damping=damping)
    return trajopt.IntegratedActionModelEuler(model, 0.01)


def barrier(lower: float, upper: float) -> trajopt.ActivationModelQuadraticBarrier:
    return trajopt.ActivationModelQuadraticBarrier([lower, -np.inf], [upper, 1.0])


def digest(model: Any) -> str:
    return content.model_hash(model)


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "friction": (node, lambda: node(friction="smooth")),
    "width": (lambda: node(friction=SmoothFriction(0.1)), lambda: node(friction=SmoothFriction(0.2))),
    "frame": (node, lambda: node(frame="cart")),
    "integrator": (node, lambda: node(integrator=trajopt.IntegratedActionModelRK4)),
    "actuation": (node, lambda: node(matrix=((0.0,), (1.0,)))),
    "transport": (
        lambda: trajopt.IntegratedActionModelRK4(free_ball()),
        lambda: trajopt.IntegratedActionModelRK4(free_ball(), transport=False),
    ),
    "tableau": (
        lambda: trajopt.IntegratedActionModelRK(free_ball(), tableau=trajopt.Tableau.HEUN),
        lambda: trajopt.IntegratedActionModelRK(free_ball(), tableau=trajopt.Tableau.MIDPOINT),
    ),
    "gain left out": (in_contact, lambda: in_contact(gains=(0.0, 20.0))),
    "bound left out": (lambda: barrier(-1.0, 1.0), lambda: barrier(-np.inf, 1.0)),
    "function": (
        lambda: trajopt.ResidualModelSymbolic(state_of("vector"), of_vector(lambda x: ca.sin(x))),
        lambda: trajopt.ResidualModelSymbolic(state_of("vector"), of_vector(lambda x: ca.cos(x))),
    ),
    "size of a control": (
        lambda: trajopt.ResidualModelControl(state_of("ball"), [0.1, 0.2]),
        lambda: trajopt.ResidualModelControl(state_of("ball"), [0.1, 0.2, 0.3]),
    ),
}


def of_vector(f: Callable[[SX], SX]) -> ca.Function:
    x = SX.sym("x", 3)
    return ca.Function("f", [x], [f(x)])


def free_ball() -> trajopt.DifferentialActionModelFreeFwdDynamics:
    state = state_of("ball")
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs(state))


@pytest.mark.parametrize("name", PAIRS)
def test_different_expressions_have_different_digests(name: str) -> None:
    one, other = PAIRS[name]
    assert digest(one()) == digest(one())
    assert digest(one()) != digest(other())


VALUES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "weight": (node, lambda: node(weight=7.0)),
    "zero weight": (node, lambda: node(weight=0.0)),
    "target": (node, lambda: node(target=0.3)),
    "time step": (node, lambda: node(dt=0.02)),
    "gains": (in_contact, lambda: in_contact(gains=(1.0, 2.0))),
    "activity": (in_contact, lambda: in_contact(active=False)),
    "damping": (in_contact, lambda: in_contact(damping=0.0)),
    "masses": (cart := lambda: trajopt.problems.load("cart-pole").problem.running[0], lambda: heavier_cart()),
}


def heavier_cart() -> Any:
    running = cart().differential
    return trajopt.IntegratedActionModelEuler(type(running)(running.costs, cart_mass=3.0, length=2.0), 0.1)


@pytest.mark.parametrize("name", VALUES)
def test_values_of_parameters_change_neither_digest_nor_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")  # which has parts of the first for the other one
    one, other = (make() for make in VALUES[name])
    assert digest(one) == digest(other)
    for part in ("calc", "calc_diff"):
        assert one._build_program(part).digest() == other._build_program(part).digest()


SMALL = [k for k in model_list.ACTIONS if not any(big in k for big in ("talos", "solo12", "black-box", "num-diff"))]
STEPS = (
    *("rk4-contact-constrained-forces", "rk4-inverse-hopper", "rk4-linear-contact-hopper", "rk4-parabola-ball"),
    *("rk-kutta-drone", "implicit-midpoint-constrained-pendulum", "implicit-euler-ball", "motors-contact-hopper"),
)
"""Other integrators than Euler: a parameter is read by the dynamics, all of which are in the list by Euler, or here."""

READ = [k for k in SMALL if not k.startswith(("rk", "implicit", "motors")) or "stages" in k or k in STEPS]


@pytest.mark.parametrize("name", READ)
def test_no_expression_depends_on_the_value_of_a_parameter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of other values share programs: what is read from a value must be read in `__init__`.

    Each parameter is 0 and 1 in turn, its neighbour the other one. Each time the model is new, and no cache has parts.
    """
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    digests = []
    for first in (0, 1):
        model = model_list.ACTIONS[name]()
        assert isinstance(model, ActionModelExpression)
        values = [(parameter, parameter.default) for parameter in model.parameters().values()]
        try:
            for i, (parameter, _) in enumerate(values):
                object.__setattr__(parameter, "default", np.full(parameter.shape, float((i + first) % 2)))
            parts = ("calc", "calc_diff", *(() if _needs_control(model) else ("terminal",)))
            digests.append([model._build_program(part).digest() for part in parts])
        finally:  # robots share their parameters
            for parameter, value in values:
                object.__setattr__(parameter, "default", value)
    assert digests[0] == digests[1]


def _needs_control(model: Any) -> bool:
    model = getattr(model, "model", model)
    costs = getattr(getattr(model, "differential", model), "costs", None)
    return bool(model.constraints.controlled()) or (costs is not None and bool(costs.controlled()))


def change_inertia(model: pin.Model) -> None:
    inertia = model.inertias[1]
    model.inertias[1] = pin.Inertia(inertia.mass + 0.1, inertia.lever, inertia.inertia)


def change_placement(model: pin.Model) -> None:
    model.jointPlacements[2] = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2])) * model.jointPlacements[2]


def change_frame(model: pin.Model) -> None:
    frame = model.frames[model.getFrameId("tip")]
    frame.placement = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.2])) * frame.placement


def change_gravity(model: pin.Model) -> None:
    model.gravity.linear = np.array([0.0, 0.0, -1.6])


def change_array(name: str) -> Callable[[pin.Model], None]:
    def change(model: pin.Model) -> None:
        setattr(model, name, np.asarray(getattr(model, name)) + 0.01)

    return change


ROBOTS = {
    "inertia": change_inertia,
    "placement": change_placement,
    "frame": change_frame,
    "gravity": change_gravity,
    **{name: change_array(name) for name in ("armature", "damping", "friction")},
}


@pytest.mark.parametrize("name", ROBOTS)
def test_every_number_of_a_robot_counts(name: str) -> None:
    """Also if it is changed in the model that a state holds already."""
    first = node(robot=Robot(state_of("cart-pole").model))
    before = digest(first)
    assert before == digest(node(robot=Robot(state_of("cart-pole").model)))
    changed = state_of("cart-pole").model.copy()
    ROBOTS[name](changed)
    assert digest(node(robot=Robot(changed))) != before
    ROBOTS[name](first.state.robot.model)
    assert digest(first) != before


def set_attribute(model: Any) -> None:
    object.__setattr__(model.differential, "friction", SmoothFriction())


def set_element(model: Any) -> None:
    model.differential.actuation.matrix[0, 0] = 2.0


def set_number_for_symbol(model: Any) -> None:
    object.__setattr__(model, "dt", 0.3)


def set_element_of_symbol(model: Any) -> None:
    model.differential.costs["goal"].residual.reference[1] = 2.0


def give_a_method(model: Any) -> None:
    object.__setattr__(model.differential.costs["goal"].residual, "evaluate", lambda instant: instant.x[:3])


@pytest.mark.parametrize("change", [set_attribute, set_element, set_number_for_symbol, set_element_of_symbol])
def test_a_model_that_was_changed_has_another_digest(change: Callable[[Any], None]) -> None:
    model = node()
    before = digest(model)
    change(model)
    assert digest(model) != before


def test_values_derived_later_do_not_change_the_digest() -> None:
    model = trajopt.IntegratedActionModelRK4(free_ball(), 0.1)
    before = digest(model)
    for part in ("calc", "calc_diff"):
        model.program(part)
    model.quasi_static(model.state.zero())
    model.term_values(model.state.zero()[None], np.zeros((1, 3)), model.layout.column()[None])
    assert model.built
    assert digest(model) == before


def test_a_stack_that_another_model_takes_too_is_the_same() -> None:
    model = node()
    before, stack = digest(model), model.differential.costs
    trajopt.DifferentialActionModelContactFwdDynamics(
        stack.state, model.differential.actuation, trajopt.ContactStack(stack.state), stack
    )
    assert digest(model) == before


class MyActivation(trajopt.ActivationModelAbstract):
    def value(self, r: SX) -> SX:
        return ca.sum1(r**4)


class MyState(trajopt.StateVector):
    pass


class MyFriction(SmoothFriction):
    pass


def with_activation() -> Any:
    stack = trajopt.CostStack(state_of("vector"))
    return trajopt.actions.ActionModelTerminal(
        stack.add("x", trajopt.ResidualModelState(stack.state), 1.0, MyActivation())
    )


USERS: dict[str, Callable[[], Any]] = {
    "class": lambda: Pendulum(small_costs(trajopt.StateVector(2))),
    "activation": with_activation,
    "state": lambda: trajopt.ResidualModelState(MyState(2)),
    "friction": lambda: node(friction=MyFriction()),
    "black box": model_list.BlackBox,
}


@pytest.mark.parametrize("name", USERS)
def test_a_user_s_class_counts_by_its_code(name: str) -> None:
    assert digest(USERS[name]()) == digest(USERS[name]())


FACTOR = 2.0


class Scaled(trajopt.ResidualModelAbstract):
    """The class that others differ from in one thing."""

    def __init__(self, power: int = 2) -> None:
        super().__init__(state_of("vector"), 3)
        self.power = power

    def evaluate(self, instant: Any) -> SX:
        return FACTOR * instant.x**self.power


def like_scaled(body: str, **names: Any) -> Any:
    """A residual of a class with this body, written in the same module."""
    text = f"class Scaled(trajopt.ResidualModelAbstract):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    space = {**globals(), **names}
    exec(text, space)
    return space["Scaled"]()


START = """
def __init__(self):
    super().__init__(state_of("vector"), 3)
    self.power = 2
"""
SAME = START + "def evaluate(self, instant):\n    return FACTOR * instant.x**self.power\n"
DECORATED = SAME.replace("def evaluate", "@times\ndef evaluate")


def times(factor: float) -> Callable[[Any], Any]:
    """A decorator that multiplies what a method gives."""

    def decorated(method: Any) -> Any:
        return functools.wraps(method)(lambda *args: factor * method(*args))

    return decorated


OTHERS: dict[str, Callable[[], Any]] = {
    "attribute": lambda: Scaled(3),
    "constant": lambda: like_scaled(SAME.replace("FACTOR *", "2.5 *")),
    "operation": lambda: like_scaled(SAME.replace("FACTOR *", "FACTOR +")),
    "global": lambda: like_scaled(SAME, FACTOR=3.0),
    "array": lambda: like_scaled(SAME, FACTOR=np.array([1.0, 2.0, 3.0])),
    "default": lambda: like_scaled(SAME.replace("instant)", "instant, more=1)")),
    "class attribute": lambda: like_scaled(SAME + "more = 2.0\n"),
    "helper": lambda: like_scaled(SAME.replace("FACTOR *", "help(2.0) *"), help=lambda x: x),
    "helper's code": lambda: like_scaled(SAME.replace("FACTOR *", "help(2.0) *"), help=lambda x: 2 * x),
    "method": lambda: like_scaled(SAME + "def size(self, nu):\n    return 3\n"),
    "decorator": lambda: like_scaled(DECORATED, times=times(3.0)),
    "decorator's number": lambda: like_scaled(DECORATED, times=times(4.0)),
}


def test_the_digest_depends_on_all_code_of_a_class() -> None:
    same = digest(like_scaled(SAME))
    assert same == digest(like_scaled("# a comment\n" + SAME))
    others = {name: digest(make()) for name, make in OTHERS.items()}
    assert len({same, *others.values()}) == 1 + len(OTHERS)
    assert digest(OTHERS["helper"]()) == others["helper"]


@pytest.mark.parametrize(
    "code",
    ["np.random.rand()", "np.load('f')", "open('f')", "getattr(self, 'po' + 'wer')", "eval('1')", "__import__('os')"],
)
def test_code_with_dynamic_lookups_has_no_digest(code: str) -> None:
    with pytest.raises(content.UnknownContentError):
        digest(like_scaled(SAME.replace("FACTOR", code)))


def test_a_module_of_a_user_has_no_digest() -> None:
    with pytest.raises(content.UnknownContentError, match="textwrap"):
        digest(like_scaled(SAME.replace("FACTOR", "len(textwrap.dedent('a'))")))


def test_a_module_that_a_method_imports_has_no_digest() -> None:
    body = "def evaluate(self, instant):\n    from {} import sin\n    return sin(instant.x)\n"
    assert digest(like_scaled(START + body.format("casadi")))
    with pytest.raises(content.UnknownContentError, match="imports textwrap"):
        digest(like_scaled(START + body.format("textwrap")))


def test_a_variable_without_a_value_has_no_digest() -> None:
    def late() -> Any:
        if False:
            factor = 1.0
        return lambda x: factor * x

    with pytest.raises(content.UnknownContentError, match="without a value"):
        content.content_hash((late(),))


def test_a_model_without_its_costs_has_the_digest_of_one_with_others() -> None:
    def rest(**more: Any) -> str:
        return content.content_hash((content.Without(node(**more).differential, ("costs",)),))

    assert rest() == rest(frame="cart")
    assert rest() != rest(friction="smooth")


def test_a_user_s_model_that_reads_its_costs_is_no_part_of_its_own() -> None:
    class Greedy(Pendulum):
        def acceleration(self, x: SX, u: SX) -> SX:
            return len(self.costs.terms) * u

    model = Greedy(small_costs(trajopt.StateVector(2)))
    assert digest(model) == digest(model)
    with pytest.raises(content.UnknownContentError, match="costs"):
        content.content_hash((content.Without(model, ("costs", "constraints")),))


def residual(function: Callable[..., SX], **more: Any) -> trajopt.ResidualModelSymbolic:
    return trajopt.ResidualModelSymbolic(state_of("planar-2r"), function, **more)


def in_costs(function: Callable[..., SX], **more: Any) -> Any:
    """A model with a user's residual."""
    stack = costs(state_of("planar-2r"), frame="tool").add("mine", residual(function, **more), 1.0)
    actuation = trajopt.ActuationModelFull(stack.state)
    return trajopt.DifferentialActionModelFreeFwdDynamics(stack.state, actuation, stack)


def height(x: SX, robot: Any) -> SX:
    return robot.frame_placement("tool")[1][2]


MEANINGS: list[list[Callable[[], Any]]] = [
    [lambda: in_costs(lambda x: ca.sin(x)), lambda: in_costs(lambda x: ca.sin(1.0 * x))],
    [lambda: in_costs(lambda x, u: x[:2] * u), lambda: in_costs(lambda x, u: ca.vertcat(x[0] * u[0], x[1] * u[1]))],
    [lambda: in_costs(height), lambda: in_costs(lambda x, robot: height(x, robot))],
    [lambda: in_costs(lambda x: ca.cos(x))],
    [lambda: in_costs(lambda x, u: x[:2] * u + 1e-16)],
    [lambda: in_costs(lambda x, robot: 2 * height(x, robot))],
    [lambda: in_costs(lambda x, a: a * x, parameters={"a": 1.0})],
    [lambda: in_costs(lambda x, a: a * x, parameters={"a": [1.0] * 4})],
]


def test_a_user_s_function_counts_by_its_expression() -> None:
    digests = [[digest(make()) for make in same] for same in MEANINGS]
    assert all(len(set(same)) == 1 for same in digests)
    assert len({same[0] for same in digests}) == len(MEANINGS)


def test_a_function_of_controls_has_no_digest_before_it_was_called() -> None:
    """How many controls there are is not known before."""
    one = residual(lambda x, u: x[:2] * u)
    with pytest.raises(content.UnknownContentError, match="lambda"):
        digest(one)
    one.size(2)
    assert digest(one) == digest(one)


def test_a_function_that_gives_another_thing_each_time_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    factors = iter([1.0, 1.0, 2.0, 1.0, 1.0])
    model = in_costs(lambda x: next(factors) * x)
    before = digest(model)
    for _ in range(2):
        build_anew(model)
    with pytest.raises(content.UnknownContentError, match="lambda"):
        digest(model)
    build_anew(model)
    assert before
    with pytest.raises(content.UnknownContentError, match="lambda"):
        digest(model)


def build_anew(model: Any) -> None:
    """Builds a program of parts that are built for it, not kept."""
    model.built.clear()
    vars(model).pop("_term_parts", None)
    model._build_program("calc")


def test_a_function_that_is_first_called_for_derivatives_has_a_meaning() -> None:
    one = residual(lambda x, u: x[:2] * u)
    one.evaluate(one_instant := trajopt.instant.Instant(one.state, 2, derivatives=True))
    assert one_instant.nu == 2
    assert digest(one) != digest_after(lambda x, u: x[:2] - u)


def digest_after(function: Callable[..., SX]) -> str:
    other = residual(function)
    other.evaluate(trajopt.instant.Instant(other.state, 2, derivatives=True))
    return digest(other)


def test_a_method_of_one_object_counts() -> None:
    model = node()
    before = digest(model)
    give_a_method(model)
    assert digest(model) != before


def test_a_class_that_only_claims_to_be_ours_has_no_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = type("Claimed", (trajopt.ResidualModelState,), {"__module__": "trajopt.residuals.state"})
    with pytest.raises(content.UnknownContentError, match="Claimed"):
        digest(claimed(state_of("vector")))
    (tmp_path / "elsewhere.py").write_text(
        "from trajopt import ResidualModelState\nclass Mine(ResidualModelState): pass"
    )
    monkeypatch.setattr(trajopt, "__path__", [*trajopt.__path__, str(tmp_path)])
    elsewhere = __import__("trajopt.elsewhere", fromlist=["Mine"])
    try:
        with pytest.raises(content.UnknownContentError, match="Mine"):
            digest(elsewhere.Mine(state_of("vector")))
    finally:
        del sys.modules["trajopt.elsewhere"]


MODELS = {
    f"{group}-{key}": make
    for group in ("RESIDUALS", "ACTIVATIONS", "ACTUATIONS", "DIFFERENTIALS", "ACTIONS", "TERMINALS")
    for key, make in getattr(model_list, group).items()
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_digest(name: str) -> None:
    make = MODELS[name]
    if name.startswith("RESIDUALS-symbolic") and make().nr is None:  # of controls, and not called before
        with pytest.raises(content.UnknownContentError):
            digest(make())
    else:
        assert digest(make()) == digest(make())


@pytest.mark.parametrize("name", problems.names())
def test_models_of_ready_problems_have_a_digest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_freely, "STAGE", 1)  # its guess, of 300 iterations otherwise, is in no model
    problem = problems.load(name).problem
    for model in (problem.running[0], problem.terminal):
        assert digest(model) == digest(model)


@pytest.mark.parametrize(("base", "slots"), [(dict, ()), (list, ()), (SX, ()), (object, ("value",))])
def test_an_object_that_is_more_than_its_attributes_has_no_digest(
    base: type, slots: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["trajopt.residuals.state"]
    ours = type("Ours", (base,), {"__module__": module.__name__, "__slots__": slots})
    monkeypatch.setattr(module, "Ours", ours, raising=False)
    with pytest.raises(content.UnknownContentError, match="Ours"):
        read(ours())


def test_code_of_the_rooms_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each room that a class comes from or that those import, and no other."""
    ours, ready = node(), cart()
    before = digest(ours), digest(ready)
    real = source.digest_of_rooms

    def edited(room: str) -> Callable[..., bytes]:
        return lambda names: b"edited" if room in source.rooms_below(names) else real(names)

    for room in ("problems", "mpc", "gaits"):
        monkeypatch.setattr(source, "digest_of_rooms", edited(room))
        assert digest(ours) == before[0]
        assert digest(ready) != before[1]
    for room in ("cli", "display", "sweeps"):
        monkeypatch.setattr(source, "digest_of_rooms", edited(room))
        assert (digest(ours), digest(ready)) == before
    for room in ("kernels", "shooting", "states", "model"):
        monkeypatch.setattr(source, "digest_of_rooms", edited(room))
        assert digest(ours) != before[0]
        assert digest(ready) != before[1]


@pytest.mark.slow
def test_digests_are_the_same_in_every_process() -> None:
    script = """
        from tests.model.test_content import MODELS, cart, digest, in_contact, node
        for make in (node, in_contact, cart, MODELS["TERMINALS-stack-solo12"], MODELS["ACTIONS-lqr"]):
            print(digest(make()))
    """
    outputs = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert run.returncode == 0, run.stderr
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == 5


def read(*values: Any) -> str:
    reader = content._Reader()
    for value in values:
        reader.read(value)
    return reader.result()


x, y = SX.sym("x", 2), SX.sym("y", 2)
DIFFERENT: list[list[Any]] = [
    [0, 0.0, -0.0, False, None, "0", b"0", 0j, np.float64(0), np.int64(0), np.zeros(()), np.zeros(1), SX(0), ca.DM(0)],
    [[], (), {}, [[]], [()], "", [None], np.zeros(0), np.zeros((0, 1))],
    [[1, [2]], [[1], 2], [1, 2], [[1, 2]], (1, 2), {1: 2}, slice(1, 2), range(1, 2)],
    [np.zeros(2), np.zeros((2, 1)), np.zeros((1, 2)), np.zeros(2, dtype=np.float32), np.zeros(2, dtype=np.int64)],
    [np.array([np.nan, 1.0]), np.array([1.0, np.nan]), np.array([np.inf, 1.0])],
    [[x, x], [x, y], [x, SX(x)[::-1]], [x, x + y], [x, y + y], [x], [SX(2, 1), x], [SX.zeros(2), x]],
    [[SX(1, 2)], [SX(2, 1)], [SX.zeros(2, 1)]],
    [pin.SE3.Identity(), pin.SE3(np.eye(3), np.ones(3)), pin.Motion.Zero(), pin.Force.Zero()],
    [pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, int(pin.ReferenceFrame.LOCAL)],
    [sx_function(), of_vector(ca.sin), of_vector(ca.cos)],
    [Parameter("a", x, np.zeros(2)), Parameter("b", x, np.zeros(2)), Parameter("a", SX.sym("x", 3), np.zeros(3))],
]


@pytest.mark.parametrize("values", DIFFERENT)
def test_different_values_have_different_digests(values: list[Any]) -> None:
    digests = [read(value) for value in values]
    assert len(set(digests)) == len(values), [v for v, d in zip(values, digests) if digests.count(d) > 1]
    assert [read(value) for value in values] == digests


def test_equal_values_have_equal_digests() -> None:
    assert read(np.zeros((2, 3))) == read(np.zeros((3, 2)).T)
    assert read(SX.sym("a", 2)) == read(SX.sym("a", 2))
    assert read(Parameter("a", SX.sym("a"), np.zeros(()), "m")) == read(
        Parameter("a", SX.sym("a"), np.ones(()), "s", lambda n, v: v)
    )


def test_the_same_object_is_not_the_same_as_an_equal_one() -> None:
    """Two terms of one residual share its parameters, two terms of equal residuals do not."""
    one, other = (SmoothFriction(0.1) for _ in range(2))
    assert read(one, one) != read(one, other)


@pytest.mark.parametrize("value", [object(), print, len, int, {1}, ca, np.array([None]), ca.MX.sym("x"), x.nz])
def test_values_of_unknown_types_have_no_digest(value: Any) -> None:
    with pytest.raises(content.UnknownContentError):
        read(value)
