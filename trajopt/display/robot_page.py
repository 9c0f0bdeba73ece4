"""A page in the browser with a robot and a slider for each of its joints."""

from __future__ import annotations

import atexit
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt import notebook
from trajopt.checks import check_instance
from trajopt.costs.cost_stack import CostStack
from trajopt.display.extra import DISPLAY
from trajopt.display.page import Page
from trajopt.display.robot import RobotBody
from trajopt.display.stage import set_stage
from trajopt.objects.closing import Closing
from trajopt.plotting.notebook import html_of_robot
from trajopt.robots import Robot
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import motion_solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

AWAY = 1.0  # range of a sliding coordinate without limits, to both sides [m]
STEPS = 400  # of a slider
_HEIGHT = 500  # height of the frame in a notebook [pixel]


class RobotPage(Closing):
    """A page that shows a robot and moves its joints with sliders; its server runs until `close`.

    A joint with one coordinate has a slider of that coordinate. Continuous, spherical and free joints have one for each
    velocity: a rotation vector [rad] and a displacement [m] from the first configuration.

    Args:
        robot: The robot.
        q: First configuration (nq,), or the name of a reference configuration; by default "standing", "half_sitting" or
            the neutral one.
        host: Address to listen at.
        port: Port; 0 selects a free port.

    Attributes:
        robot: The robot.
        page: The page.
        sliders: viser's sliders by the name of the coordinate.

    Raises:
        MissingDependencyError: The extra `display` is not installed.
        InvalidArgumentError: `q` does not fit, or the port is in use.
    """

    def __init__(
        self, robot: Robot, q: str | npt.ArrayLike | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        DISPLAY.load("trimesh")
        self.robot = check_instance("robot", robot, Robot, "use load_robot")
        state, model = StateMultibody(robot), robot.model
        self._first = _configuration(robot, q)
        self.page = Page(host, port)
        atexit.register(self.close)
        self.page.start()
        self.page.name(self.robot.name)
        motion = motion_solution(
            ShootingProblem(state.at_rest(self._first), [], CostStack(state)),
            state.at_rest(self._first)[None],
            np.zeros((0, 0)),
            solver="sliders",
        )
        scene, gui = self.page.server.scene, self.page.server.gui
        self._body = RobotBody(scene, motion, f"/{robot.name}")
        set_stage(self.page.server, self._body.points())
        self.sliders: dict[str, Any] = {}
        names = [name.removeprefix("q:") for name in state.tangent_names[: model.nv]]
        with gui.add_folder("Joints"):
            for i, name in enumerate(names):
                low, high, value = self._range(i, state.tangent_units[i])
                step = (high - low) / STEPS
                self.sliders[name] = gui.add_slider(name, min=low, max=high, step=step, initial_value=value)
                self.sliders[name].on_update(lambda _: self._moved())
        gui.add_button("Reset").on_click(lambda _: self.show(self._first))
        self._origins = np.array([self._range(i, state.tangent_units[i])[2] for i in range(model.nv)])

    @property
    def url(self) -> str:
        """URL of the page."""
        return self.page.url

    @property
    def q(self) -> Reals:
        """Configuration of the sliders (nq,)."""
        values = np.array([slider.value for slider in self.sliders.values()])
        return np.asarray(pin.integrate(self.robot.model, self._first, values - self._origins))

    def show(self, q: npt.ArrayLike) -> None:
        """Moves robot and sliders to a configuration (nq,)."""
        to = _configuration(self.robot, q)
        values = self._origins + pin.difference(self.robot.model, self._first, to)
        for slider, value in zip(self.sliders.values(), values):
            slider.value = float(np.clip(value, slider.min, slider.max))
        self._moved()

    def open(self) -> bool:
        """Opens the page in the browser of this machine; returns whether there is a graphical browser."""
        return self.page.open()

    def wait(self) -> None:
        """Waits until the page is closed; Ctrl-C closes it."""
        self.page.wait()
        self.close()

    def close(self) -> None:
        """Ends the server."""
        atexit.unregister(self.close)
        self.page.close()

    def _moved(self) -> None:
        with self.page.server.atomic():
            self._body.follow(np.concatenate([self.q, np.zeros(self.robot.nv)])[None])
            self._body.at(0.0)

    def _range(self, velocity: int, unit: str) -> tuple[float, float, float]:
        """Least, largest and first value of the slider of a velocity's coordinate."""
        model = self.robot.model
        joint = next(i for i in range(1, model.njoints) if model.idx_vs[i] <= velocity < model.idx_vs[i] + model.nvs[i])
        away = AWAY if unit == "m" else np.pi
        if model.nqs[joint] != model.nvs[joint]:
            return -away, away, 0.0
        place = model.idx_qs[joint] + velocity - model.idx_vs[joint]
        low, high, value = (
            float(each[place]) for each in (model.lowerPositionLimit, model.upperPositionLimit, self._first)
        )
        low, high = (low if abs(low) < 100.0 else value - away), (high if abs(high) < 100.0 else value + away)
        return min(low, value), max(high, value, low + 1e-6), value

    def _repr_html_(self) -> str:
        still = html_of_robot(self.robot)
        return still if self.page.closed else notebook.page(self.url, _HEIGHT, still)

    def __repr__(self) -> str:
        return f"RobotPage({self.robot.name!r}; {'closed' if self.page.closed else self.url})"


def _configuration(robot: Robot, q: str | npt.ArrayLike | None) -> Reals:
    if q is None:
        usual = [name for name in ("standing", "half_sitting") if name in robot.configurations]
        return robot.configuration(usual[0]) if usual else np.asarray(pin.neutral(robot.model))
    if isinstance(q, str):
        return robot.configuration(q)
    return StateMultibody(robot).at_rest(q)[: robot.nq]
