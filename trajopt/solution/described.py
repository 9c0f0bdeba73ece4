"""Names, units and paths of a trajectory, from its problem or from a file."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, cast

from trajopt.checks import check_flag
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.read import Read
from trajopt.robots import Robot
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.description import Description

_COMPUTED: dict[int, dict[str, Any]] = {}  # attributes of descriptions, by the id of a living trajectory


class DescribedMotion(ExplainsAttributes):
    """Base class of trajectories that know their names and units: a solution with a problem, or one from a file.

    Attributes:
        robot: The robot; None if the state has no robot, or if a file does not say which.
        coordinate_names: Name of each coordinate of a state (nx,).
        coordinate_units: Unit of each coordinate of a state (nx,); "-" for a pure number, such as an element of
            a quaternion.
        control_names: Name of each control (nu,); "u:JOINT" for the torque or force of a robot's motor, "a:JOINT" for
            an acceleration.
        control_units: Unit of each control (nu,); "-" if the unit is unknown.
    """

    xs: Reals
    robot = Read[Robot | None](lambda motion: motion.description.robot)
    coordinate_names = Read[tuple[str, ...]](lambda motion: motion.description.coordinate_names)
    coordinate_units = Read[tuple[str, ...]](lambda motion: motion.description.coordinate_units)
    control_names = Read[tuple[str, ...]](lambda motion: motion.description.control_names)
    control_units = Read[tuple[str, ...]](lambda motion: motion.description.control_units)

    @property
    def description(self) -> Description:
        """Names, units and numbers, computed from the problem when they are read, or taken from the file."""
        from trajopt.solution.description import Description

        key = id(self)
        if key not in _COMPUTED:
            _COMPUTED[key] = {}
            weakref.finalize(self, _COMPUTED.pop, key, None).atexit = False
        return Description(cast(Any, self), _COMPUTED[key])

    def frame_path(self, frame: str, *, placements: bool = False) -> Reals:
        """Returns the positions of a frame of the robot in the world along the trajectory, shape (T + 1, 3) [m].

        Args:
            frame: Name of the frame, one of `robot.frame_names`.
            placements: True to return placements T_world_frame instead, homogeneous matrices (T + 1, 4, 4) [-, m].

        Raises:
            UnknownNameError: The robot has no frame of this name.
            InvalidArgumentError: The solution has no robot.
        """
        check_flag("placements", placements)
        robot = self._robot()
        path = robot.placement(self.xs[:, : robot.nq], frame)
        return path if placements else path[:, :3, 3].copy()

    def _robot(self) -> Robot:
        from trajopt.analysis.basics import robot_of

        robot_of(cast(Any, self))
        return cast(Robot, self.robot)
