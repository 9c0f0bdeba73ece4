"""Planar LIDAR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_count, check_instance, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.planar.grid import OccupancyGrid
from trajopt.planar.scan import Scan
from trajopt.states.sampling import random_generator
from trajopt.types import Reals

LIGHT = 299_792_458.0
"""Speed of light [m/s]."""


@dataclass(frozen=True, kw_only=True)
class Lidar:
    """Planar LIDAR: it measures the distance to the nearest obstacle along each beam, with noise.

    Attributes:
        beams: Number of beams, >= 1 [-].
        field_of_view: Angle covered by the beams, centred on the heading, 0 < angle <= 2π [rad].
        least: Smallest measurable distance, >= 0 [m].
        most: Largest measurable distance, > `least` [m].
        noise: Standard deviation of a reading, >= 0 [m]; readings stay within `least` and `most`.
    """

    beams: int = 360
    field_of_view: float = 2 * np.pi
    least: float = 0.0
    most: float = 10.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_count("beams", self.beams, least=1)
        if check_positive("field_of_view", self.field_of_view, unit="rad") > 2 * np.pi + 1e-9:
            raise InvalidArgumentError(f"field_of_view: expected at most 2π [rad], got {self.field_of_view:g}")
        check_non_negative("noise", self.noise, unit="m")
        if check_positive("most", self.most, unit="m") <= check_non_negative("least", self.least, unit="m"):
            raise InvalidArgumentError(f"most: expected more than least = {self.least:g} m, got {self.most:g} m")

    @property
    def angles(self) -> Reals:
        """Angles of the beams from the heading (beams,), counter-clockwise, ascending [rad]."""
        around, half = self.field_of_view > 2 * np.pi - 1e-9, self.field_of_view / 2
        return np.linspace(-half, half, self.beams, endpoint=not around) if self.beams > 1 else np.zeros(1)

    def scan(self, grid: OccupancyGrid, pose: npt.ArrayLike, *, seed: int | np.random.Generator = 0) -> Scan:
        """Simulates the readings at a pose.

        Args:
            grid: The surroundings.
            pose: Position and heading (x, y, θ) (3,) [m, m, rad].
            seed: Seed of the noise, or a numpy generator that continues from scan to scan.
        """
        check_instance("grid", grid, OccupancyGrid, "OccupancyGrid(cells, resolution=0.05)")
        at = check_array("pose", pose, (3,), cure="position and heading (x, y, theta)")
        true = grid.cast(at[:2], at[2] + self.angles, longest=self.most)
        ranges = true
        if self.noise:
            noise = self.noise * random_generator(seed).standard_normal(self.beams)
            ranges = np.clip(true + noise, self.least, self.most)
        ranges = np.where(true > self.most, np.inf, np.where(true < self.least, -np.inf, ranges))
        return Scan(pose=at, angles=self.angles, ranges=ranges, most=self.most)


def echo_distance(times: npt.ArrayLike, speed: float = LIGHT) -> Reals:
    """Distance R T / 2 [m] of an object whose echo arrives after times T [s] (any shape), with signal speed R [m/s].

    The factor is ½ because the signal travels there and back.

    Raises:
        InvalidArgumentError: A time is not finite or negative, or the speed is not positive.
    """
    after = as_numbers("times", times, "times [s]")
    if not np.all((after >= 0.0) & (after < np.inf)):
        raise InvalidArgumentError(f"times: expected finite times >= 0 [s], got {shown(after)}")
    return check_positive("speed", speed, unit="m/s") * after / 2.0
