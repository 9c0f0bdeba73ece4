"""Trajectory with a description: names, units and the paths of a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from trajopt.checks import check_flag
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.robots import Robot
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.description import Description


class DescribedMotion(ExplainsAttributes):
    """States of a problem, or of a file that describes one."""

    xs: Reals

    @property
    def description(self) -> Description:
        """Names, units and numbers of the problem, computed from it when they are read, or from a file."""
        from trajopt.solution.description import Description

        return Description(cast(Any, self))

    @property
    def robot(self) -> Robot | None:
        """The robot; None if the state has none, or if it is not known."""
        return self.description.robot

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each coordinate of a state (nx,)."""
        return self.description.coordinate_names

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate of a state (nx,); "-" for a pure number such as those of a quaternion."""
        return self.description.coordinate_units

    @property
    def control_names(self) -> tuple[str, ...]:
        """Name of each control (nu,)."""
        return self.description.control_names

    @property
    def control_units(self) -> tuple[str, ...]:
        """Unit of each control (nu,); "-" where it is not known."""
        return self.description.control_units

    def frame_path(self, frame: str, *, placements: bool = False) -> Reals:
        """Path of a frame of the robot: its positions in the world, shape (T + 1, 3) [m].

        Args:
            frame: Name of the frame, one of `robot.frame_names`.
            placements: Whether to return placements T_world_frame instead, homogeneous matrices (T + 1, 4, 4) [-, m].

        Raises:
            UnknownNameError: The robot has no such frame.
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
