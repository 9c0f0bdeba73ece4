"""Measures this library on this machine.

    python -m tests.benchmarks                       speed, a second thread, quadratic programs, models of one's own,
                                                     convergence, memory, gaits, simulator, inverse kinematics
    tests/benchmarks/peers/make_env.sh DIR           once: an environment for Crocoddyl, mim-solvers
    python -m tests.benchmarks --peers DIR           ... beside them, on the same problems in the same run
    python -m tests.benchmarks --startup             ... and start-up, cold and warm
    python -m tests.benchmarks --edits               ... and from an edit of a script to its first iteration; C
    python -m tests.benchmarks -o limits             limits of every legged problem that has some, by Pinocchio
    python -m tests.benchmarks -o simulator          steps of the simulator alone; beside MuJoCo with --mujoco DIR,
                                                     an environment of tests/benchmarks/peers/make_mujoco_env.sh
    python -m tests.benchmarks -o ik --pink DIR      ... inverse kinematics beside pin-pink (peers/make_ik_env.sh DIR)
    python -m tests.benchmarks -o inverse-dynamics   forces and torques of a humanoid's motion, by number of frames
    python -m tests.benchmarks -o free-times         rhythms of gaits, quadrotor, jumps, backward pass, in free times
    python -m tests.benchmarks -o retiming           minimum time along paths; beside TOPP-RA if it is installed
    python -m tests.benchmarks -o plan               plans of arms among obstacles, 200 pairs in each scene; --count N
    python -m tests.benchmarks -o identification     a Panda from 100 logs: coverage, deviations, time
    python -m tests.benchmarks -o mpc                steps of model-predictive control, and memory after 100,000 of them
    python -m tests.benchmarks -o reduced            the same with reduced models of a quadruped
    python -m tests.benchmarks -o server             answers of a server, damaged requests beside good ones
    python -m tests.benchmarks -o sweep              10,000 arm reaches, processes killed; quick with --count 600
    python -m tests.benchmarks -o batch              many problems in one call beside a loop, with the bound; --count N
    python -m tests.benchmarks -o articulations      states to poses of bodies and back
    python -m tests.benchmarks -o convergence        solved, iterations, cost and time on sets of problems; --draw DIR
    python -m tests.benchmarks -o exact              iterations of arms with exact Hessians, by parts
    python -m tests.benchmarks -o display            first picture of a view in a browser, pictures a second, file size
    python -m tests.benchmarks -o robustness         random guesses and samples of constrained and of large problems

Times drift on a machine that does other things too: trust ratios, and what two runs agree on. The exit status is 1 if
the two sides did not solve the same problem, or a limit is not kept; other bars that are not reached are printed only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trajopt
from tests.benchmarks import (
    articulations,
    batch,
    code_generation,
    convergence,
    display,
    edits,
    exact,
    extensibility,
    free_times,
    gaits,
    identification,
    inside,
    inverse_dynamics,
    inverse_kinematics,
    limits,
    linear_steps,
    memory,
    mpc_steps,
    planning,
    profiles,
    quadratic,
    reduced,
    retiming,
    robustness,
    robustness_pictures,
    server,
    simulator,
    speed,
    startup,
    sweep,
    threads,
    track,
)
from tests.benchmarks.cases import CASES, Case
from tests.benchmarks.machine import machine
from tests.benchmarks.peer_process import PeerProcess

SECTIONS = (
    "speed",
    "inside",
    "threads",
    "quadratic",
    "linear",
    "extensibility",
    "convergence",
    "exact",
    "memory",
    "gaits",
    "limits",
    "simulator",
    "ik",
    "identification",
    "free-times",
    "retiming",
    "plan",
    "inverse-dynamics",
    "articulations",
    "mpc",
    "reduced",
    "server",
    "display",
    "robustness",
    "sweep",
    "batch",
    "startup",
    "edits",
)
SLOW = {
    "batch",
    "display",
    "edits",
    "free-times",
    "identification",
    "limits",
    "mpc",
    "plan",
    "retiming",
    "robustness",
    "server",
    "startup",
    "sweep",
}  # which take minutes, and are left out unless asked for


def parse() -> argparse.Namespace:
    """The command line."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__, formatter_class=style)
    parser.add_argument("--peers", type=Path, metavar="DIR", help="environment of make_env.sh: also run Crocoddyl")
    parser.add_argument("--mujoco", type=Path, metavar="DIR", help="environment of make_mujoco_env.sh: also run MuJoCo")
    parser.add_argument("--pink", type=Path, metavar="DIR", help="environment of make_ik_env.sh: also run pin-pink")
    parser.add_argument("--startup", action="store_true", help="also measure start-up (minutes)")
    parser.add_argument("--edits", action="store_true", help="also measure edits of scripts (minutes)")
    parser.add_argument(
        *("--only", "-o"),
        action="append",
        choices=[*SECTIONS, *CASES],
        metavar="NAME",
        help=f"a section ({', '.join(SECTIONS)}) or a problem ({', '.join(CASES)}); may be given again",
    )
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="turns of each comparison (default 7)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="time for one median (default 0.2)")
    parser.add_argument("--draw", type=Path, metavar="DIR", help="folder for pictures of the profiles")
    parser.add_argument("--count", type=int, metavar="N", help="problems of a set (default about 100), runs of edits")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    return parser.parse_args()


def main() -> int:
    """Measure and print; returns the exit status."""
    options = parse()
    sections = _sections(options)
    cases = {name: case for name, case in CASES.items() if name in (options.only or [])} or CASES
    print("\n".join(machine().values()) + "\n")
    trajopt.set_num_threads(1)
    figures: dict[str, Any] = {"machine": machine()}
    how = {"rounds": options.rounds, "seconds": options.seconds}
    status = 0
    if "speed" in sections:
        status = _speed(cases, options, figures)
    if "inside" in sections:
        _show(figures, "inside", inside.measure(cases, rounds=options.rounds), inside.report)
    chosen = {name: case for name, case in cases.items() if case.bars}
    if "threads" in sections and chosen:
        _show(figures, "threads", threads.measure(chosen, **how), threads.report)
    if "quadratic" in sections:
        _show(figures, "quadratic", quadratic.measure(options.peers, rounds=options.rounds), quadratic.report)
    if "linear" in sections:
        _show(figures, "linear", linear_steps.measure(rounds=10 * options.rounds), linear_steps.report)
    if "extensibility" in sections:
        _show(figures, "extensibility", extensibility.measure(**how), extensibility.report)
    if "convergence" in sections:
        _show(figures, "convergence", convergence.measure(options.peers), convergence.report)
        _show(figures, "profiles", profiles.measure(options.peers, count=options.count), profiles.report)
        if options.draw:
            print(profiles.draw(figures["profiles"], options.draw))
    for name, (measure, module) in _plain(options).items():
        if name in sections:
            _show(figures, name, measure(), module.report)
            if hasattr(module, "failures"):
                status |= int(module.failures(figures[name]))
    if "ik" in sections:
        _show(figures, "track", track.measure(options.pink), track.report)
    if "robustness" in sections:
        _robustness(options, figures)
    _starts(sections, chosen, options.count, figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return status


def _plain(options: argparse.Namespace) -> dict[str, tuple[Callable[[], Any], Any]]:
    """Sections of one table each: what measures them, and the module that reports them and knows failures."""
    rounds, count = options.rounds, options.count
    return {
        "exact": (lambda: exact.measure(rounds=rounds), exact),
        **{
            name: (module.measure, module)
            for name, module in (("memory", memory), ("gaits", gaits), ("display", display), ("limits", limits))
        },
        "simulator": (lambda: simulator.measure(options.mujoco, rounds=rounds), simulator),
        "ik": (lambda: inverse_kinematics.measure(options.pink), inverse_kinematics),
        "articulations": (articulations.measure, articulations),
        "identification": (identification.measure, identification),
        "free-times": (free_times.measure, free_times),
        "retiming": (retiming.measure, retiming),
        "plan": (lambda: planning.measure(count), planning),
        "inverse-dynamics": (inverse_dynamics.measure, inverse_dynamics),
        "mpc": (mpc_steps.measure, mpc_steps),
        "reduced": (reduced.measure, reduced),
        "server": (server.measure, server),
        "sweep": (lambda: sweep.measure(count=count), sweep),
        "batch": (lambda: batch.measure(options.peers, count=count), batch),
    }


def _sections(options: argparse.Namespace) -> set[str]:
    only = options.only or []
    usual = set(SECTIONS) - SLOW | {name for name in ("startup", "edits") if vars(options)[name]}
    return {name for name in SECTIONS if name in only} or ({"speed", "inside", "threads"} if only else usual)


def _show(figures: dict[str, Any], section: str, measured: Any, report: Any) -> None:
    figures[section] = measured
    print(report(measured), flush=True)


def _starts(sections: set[str], cases: dict[str, Case], count: int | None, figures: dict[str, Any]) -> None:
    if "startup" in sections:
        _show(figures, "startup", startup.measure(cases), startup.report)
    if "edits" in sections:
        _show(figures, "edits", edits.measure(count), edits.report)
        _show(figures, "code-generation", code_generation.measure(count), code_generation.report)


def _robustness(options: argparse.Namespace, figures: dict[str, Any]) -> None:
    counts = {} if options.count is None else {"count": options.count, "samples": options.count}
    _show(figures, "robustness", robustness.measure(options.peers, **counts), robustness.report)
    if options.draw:
        print(*robustness_pictures.draw(figures["robustness"], options.draw), sep="\n")


def _speed(cases: dict[str, Case], options: argparse.Namespace, figures: dict[str, Any]) -> int:
    """The comparison; 1 if a problem was not solved in the same way on both sides."""
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(PeerProcess(options.peers, options.seconds)) if options.peers else None
        comparisons = {
            name: speed.compare(case, peer, rounds=options.rounds, seconds=options.seconds)
            for name, case in cases.items()
        }
        figures["crocoddyl"] = peer.version if peer else None
    figures["speed"] = {name: comparison.figures() for name, comparison in comparisons.items()}
    print(speed.report(comparisons), flush=True)
    return int(any(comparison.disagreement() for comparison in comparisons.values()))


if __name__ == "__main__":
    raise SystemExit(main())
