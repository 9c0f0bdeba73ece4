"""Draws the pictures of the site's first screen: `python docs/cards.py` writes card-*.png to docs/."""

from __future__ import annotations

from pathlib import Path

from trajopt import problems

HERE = Path(__file__).parent
SIZE = (480, 300)


def main() -> None:
    """A gait, an arm among spheres, a controller and the simulator."""
    problems.load("biped-walk").solve().film(HERE / "card-gait.png", time=0.3, size=SIZE)
    arm = problems.load("arm-spheres")
    arm.solve().film(HERE / "card-arm.png", time=0.6, size=SIZE, obstacles=arm.obstacles)
    problems.mpc.load("arm-tracking").simulate(2.0).film(HERE / "card-mpc.png", time=1.0, size=SIZE)
    problems.load("stand-up").solve().film(HERE / "card-simulator.png", time=0.4, size=SIZE)


if __name__ == "__main__":
    main()
