"""Films Go2's trot in MuJoCo: `python docs/trot_film.py` writes trot-in-mujoco.gif to docs/."""

from __future__ import annotations

from pathlib import Path

import trajopt
from trajopt.analysis import replay


def main() -> None:
    """Plans a trot, tracks it in MuJoCo with a spring at each joint, and films what happens there."""
    plan = trajopt.problems.load("quadruped-trot", "go2", limits=True, cycles=5).solve()
    motion = replay(plan, plant="mujoco", feedback="springs", clip=True)
    file = Path(__file__).parent / "trot-in-mujoco.gif"
    motion.film(file, fps=20.0, speed=0.5, size=(480, 300))
    print(f"{file.stat().st_size / 1e6:.2f} MB; the trunk ends {motion.xs[-1, :3] - plan.xs[-1, :3]} m off the plan")


if __name__ == "__main__":
    main()
