"""Command line of the fuzzer: makes calls in processes that may crash, and prints a table of what came of them."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.runs import Tally, run


def main() -> int:
    """Runs the fuzzer; the exit code is 1 if there were faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="number of calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--room", default="trajopt", help="packages whose exports are called: trajopt.mpc,trajopt.sweeps"
    )
    parser.add_argument("--call", type=int, help="make this call alone in this process, and show its error as it is")
    chosen = parser.parse_args()
    if chosen.call is not None:
        from tests.fuzz.call import make

        print(make(chosen.seed, chosen.call, chosen.room, raises=True))
        return 0
    started, tally = time.perf_counter(), Tally()
    share = -(-chosen.calls // chosen.jobs)
    ends = [min(chosen.first + (i + 1) * share, chosen.first + chosen.calls) for i in range(chosen.jobs)]

    def part(end: int) -> Tally:
        return run(chosen.seed, max(chosen.first, end - share), end, room=chosen.room)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        for each in pool.map(part, ends):
            tally.merge(each)
    print(tally.table(chosen.seed, chosen.room))
    print(f"{sum(tally.verdicts.values())} calls, {time.perf_counter() - started:.0f} s")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
