"""Costs and trajectories of ready problems to the last bit, to compare two revisions on one machine.

    python -m tests.benchmarks.bits FILE               solves the problems and writes what came out
    python -m tests.benchmarks.bits FILE --compare     solves them and says where that differs from FILE; status 1 if so

Run the file itself, `python tests/benchmarks/bits.py FILE`, in the environment of a revision that does not have it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from trajopt import problems

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, {}) for name in ("arm-reach-crocoddyl", "arm-reach-seed", "biped-walk", "cart-pole", "double-pendulum")),
    *((name, {}) for name in ("humanoid-reach", "lqr", "pendulum", "quadruped-jump", "quadruped-walk", "unicycle")),
    ("arm-reach-crocoddyl", {"robot": "kinova"}),
    ("arm-reach-seed", {"integrator": "rk4"}),
    ("quadruped-trot", {"robot": "go2"}),
    ("quadruped-trot", {"robot": "hyq"}),
    ("biped-walk", {"robot": "small-biped"}),
    *((f"crocoddyl-{name}", {}) for name in ("biped-walk", "quadruped-jump", "quadruped-walk")),
    *(("crocoddyl-quadruped-trot", {"robot": robot}) for robot in ("go2", "hyq")),
)


def outcomes() -> dict[str, dict[str, Any]]:
    """Cost, iterations and a digest of the trajectory of each case, by name."""
    found = {}
    for name, options in CASES:
        case = problems.load(name, **options)
        solution = case.solve()
        digest = hashlib.sha256(solution.xs.tobytes() + solution.us.tobytes()).hexdigest()
        label = " ".join([name, *map(str, options.values())])
        found[label] = {"cost": solution.cost.hex(), "iterations": solution.iterations, "trajectory": digest}
        print(f"{label:28} {solution.cost:.17g} {solution.iterations}", flush=True)
    return found


def main() -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--compare", action="store_true", help="compare with the file in place of writing it")
    options = parser.parse_args()
    found = outcomes()
    if not options.compare:
        options.file.write_text(json.dumps(found, indent=1))
        return 0
    before = json.loads(options.file.read_text())
    different = [name for name in before if found.get(name) != before[name]]
    for name in different:
        print(f"{name}: {before[name]} before, {found.get(name)} now")
    print(f"{len(before) - len(different)} of {len(before)} are the same to the bit")
    return int(bool(different))


if __name__ == "__main__":
    raise SystemExit(main())
