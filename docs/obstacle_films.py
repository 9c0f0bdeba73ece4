"""Films motions among obstacles: `python docs/obstacle_films.py` writes them to docs/."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import trajopt

DOCS = Path(__file__).parent
LOOK = {"fps": 12.0, "size": (480, 300)}


def main() -> None:
    """Runs examples, and films a reach through a slot, into a shelf, beside moving balls, and through a frame."""
    sys.path.insert(0, str(DOCS.parent / "examples"))
    slot, balls, frame = (
        importlib.import_module(name).main() for name in ("43_scene", "46_moving_balls", "47_through_a_frame")
    )
    shelf = importlib.import_module("45_plan")
    panda = trajopt.load_robot("panda")
    panda = panda.lock_joints([name for name in panda.joint_names if "finger" in name])
    plan = trajopt.plan(panda, shelf.START, shelf.GOAL, shelf.shelf(), frame="panda_hand", jerk=shelf.JERK)
    for name, motion in (("slot", slot), ("shelf", plan.optimise()), ("balls", balls), ("frame", frame)):
        file = DOCS / f"{name}.gif"
        motion.film(file, **LOOK)
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
