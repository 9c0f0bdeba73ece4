"""Clients that send too much, leave at any moment or break the protocol, beside one whose requests must be answered.

    python -m tests.mpc.hammer --clients 100 --seconds 300 --requests 100000

The server is a process of its own. The program prints what happened, and ends with status 1 if the server has ended, if
an answer was wrong, or if memory grew by more than `GROWTH`.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.mpc import served, slider
from trajopt.mpc.server import MPCClient, MPCServer, PlanSubscriber
from trajopt.mpc.server.zmtp import GREETING, frame, message, ping, ready

ROOT = Path(__file__).parents[2]
FLOOD = 400  # messages that a client sends before it leaves
GROWTH = 64  # of the server's memory [MiB]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What happened to a server.

    Attributes:
        good: Right answers to the client beside the others.
        wrong: Wrong answers to it.
        rounds: Visits of the others.
        growth: Growth of the server's memory [MiB].
        status: Exit status of the server.
        report: What the server counted.
    """

    good: int
    wrong: int
    rounds: int
    growth: float
    status: int
    report: str

    @property
    def passed(self) -> bool:
        """Whether the server has lived, answered, and kept its limits."""
        return self.status == 0 and self.good > 0 and self.wrong == 0 and self.growth < GROWTH


def hammer(clients: int, seconds: float, requests: int = 0) -> Outcome:
    """Visits a server.

    Args:
        clients: Clients that misbehave at a time.
        seconds: Least time for which they do so [s].
        requests: Least number of good requests beside them.
    """
    command = [sys.executable, "-m", "tests.mpc.hammer", "--serve"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address, plans = process.stdout.readline().split()
    stop, rounds = threading.Event(), [0] * clients
    threads = [threading.Thread(target=_visit, args=(address, plans, i, stop, rounds)) for i in range(clients)]
    before = _memory(process.pid)
    try:
        for thread in threads:
            thread.start()
        good, wrong = _ask(address, seconds, requests)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        growth = _memory(process.pid) - before
        report, _ = process.communicate(timeout=60)
    return Outcome(
        good=good, wrong=wrong, rounds=sum(rounds), growth=growth, status=process.returncode, report=report.strip()
    )


def _memory(process: int) -> float:
    """Memory of a process [MiB]; 0 if it has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


def _ask(address: str, seconds: float, requests: int) -> tuple[int, int]:
    """Requests to the server and to a controller of this process; returns numbers of equal and of other answers."""
    own, good, wrong = slider.controller(dt=0.05), 0, 0
    until = time.monotonic() + seconds
    with MPCClient(address, timeout=5.0, retries=5) as client:
        x = np.array([0.0, 0.2])
        step, remote = own.reset(x), client.reset(x)
        while time.monotonic() < until or good + wrong < requests:
            equal = served.equal(step, remote)
            good, wrong = good + equal, wrong + (not equal)
            x = slider.moved(x, step.u, 0.05)
            step, remote = own.step(x), client.step(x)
    return good, wrong


# Clients that misbehave


def _visit(address: str, plans: str, seed: int, stop: threading.Event, rounds: list[int]) -> None:
    import zmq

    rng, context = random.Random(seed), zmq.Context()
    visits = (_flood, _flood, _greets, _pings, _leaves_a_half, _noise, _subscribes)
    while not stop.is_set():
        visit = visits[rounds[seed] % len(visits)]
        with contextlib.suppress(OSError, zmq.ZMQError):  # the server closes the connection
            visit(context, address, plans, rng)
        rounds[seed] += 1
        stop.wait(rng.uniform(0.0, len(rounds) / 200))  # together about 400 visits a second
    context.destroy(linger=0)


def _flood(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """Many requests with heartbeats, whose answers nobody reads; libzmq's own server aborts."""
    import zmq

    with context.socket(zmq.DEALER) as sender:
        for option, value in ((zmq.LINGER, 100), (zmq.SNDHWM, 0), (zmq.HEARTBEAT_IVL, rng.choice([0, 50]))):
            sender.setsockopt(option, value)
        sender.connect(address)
        describe = served.request(1, ..., client=f"{rng.random()}", kind="describe", t=...)
        for _ in range(FLOOD):
            sender.send(rng.choice([b"nonsense", describe]))
        time.sleep(rng.uniform(0.0, 0.2))


@contextlib.contextmanager
def _bytes_to(address: str) -> Iterator[socket.socket]:
    host, port = re.fullmatch(r"tcp://(.*):(\d+)", address).groups()  # type: ignore[union-attr]
    with socket.create_connection((host, int(port)), timeout=5.0) as line:
        yield line


def _greets(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """Part of a greeting, of a type that may not connect, or of one that may."""
    opening = GREETING + ready(rng.choice([b"PUB", b"DEALER", b""]))
    with _bytes_to(rng.choice([address, plans])) as line:
        line.sendall(opening[: rng.randrange(len(opening) + 1)])
        time.sleep(rng.uniform(0.0, 0.05))


def _pings(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """More requests than a queue takes, then a heartbeat, then no more; libzmq's own server aborts."""
    with _bytes_to(address) as line:
        line.sendall(GREETING + ready(b"DEALER") + frame(b"nonsense") * 150 + ping(0.0) * rng.choice([1, 500]))
        time.sleep(rng.uniform(0.0, 0.05))


def _leaves_a_half(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """A message that never ends, in one frame or in many."""
    endless = rng.choice([b"\2" + b"\xff" * 8, b"\2" + bytes(5) + b"\1\0\0" + bytes(9), b"\1\0" * 1000, b"\1\1a"])
    with _bytes_to(address) as line:
        line.sendall(GREETING + ready(b"DEALER") + message([b"", b"a"]) + endless)
        time.sleep(rng.uniform(0.0, 0.05))


def _noise(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """Bytes of no protocol."""
    with _bytes_to(rng.choice([address, plans])) as line:
        line.sendall(rng.choice([b"", GREETING, GREETING + ready(b"REQ")]) + rng.randbytes(rng.randrange(5000)))
        time.sleep(rng.uniform(0.0, 0.05))


def _subscribes(context: Any, address: str, plans: str, rng: random.Random) -> None:
    """A subscriber that reads one plan, or none."""
    with PlanSubscriber(plans, every=True) as subscriber:
        if rng.random() < 0.5:
            subscriber.receive(0.2)
        else:
            time.sleep(0.2)


# Server


def serve() -> None:
    """Serves a slider until the input ends, and prints what it counted."""
    logging.disable()  # of what is refused
    with MPCServer(slider.controller(dt=0.05), "tcp://127.0.0.1:*", publish="tcp://127.0.0.1:*") as server:
        print(server.address, server.publish, flush=True)
        sys.stdin.read()
    print("; ".join(f"{name}: {text}" for name, text in server.report().items()))


def main() -> None:
    """Hammers as long as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--serve", action="store_true")
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    outcome = hammer(arguments.clients, arguments.seconds, arguments.requests)
    print(outcome)
    sys.exit(not outcome.passed)


if __name__ == "__main__":
    os.environ.setdefault("TRAJOPT_OPTIMISE", "off")
    main()
