"""Requests to a server of another process: right answers beside damaged requests, and the time that a round trip adds.

`python -m tests.benchmarks.server` is that process: it prints its address and serves until its input ends; with `echo`
it has no controller, and answers each message with one of the size of a step.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import trajopt
from tests.benchmarks.machine import ROOT
from tests.benchmarks.table import bar, number, table
from tests.mpc import served
from trajopt.kernels import wait_until_optimised
from trajopt.mpc.server import MPCClient, MPCServer
from trajopt.mpc.server.messages import unpack
from trajopt.problems import mpc as closed_loops

NAME, REQUESTS, DAMAGED, CHASED = "arm-tracking", 10_000, 10, 2_000
NOISE, WARM, BAR = 1e-4, 200, 0.5  # [-], steps before the clock counts, [ms]
TITLE = f"""A server of {NAME} in a process of its own, {REQUESTS} requests, every tenth of them damaged; times [ms].
Added: round trip less the server's own feedback phase; back to back, where the next request comes at once, less its
preparation phase too. Sockets alone: a round trip of messages of these sizes to a process that does nothing with them,
in turn with the others; on a busy machine most of it is waiting for a processor. Wrong: answers that differ in a bit
from those of a controller in this process."""


def measure(*, count: int = REQUESTS, chased: int = CHASED) -> dict[str, Any]:
    """Times [s], and numbers of right, wrong and refused answers."""
    case = closed_loops.load(NAME)
    own = case.controller
    with (
        _server() as address,
        _server("echo") as echoing,
        MPCClient(address, timeout=30.0, name="tests") as client,
        _raw(address) as send,
        _raw(echoing) as echo,
    ):
        figures = _compare(own, case.x0, client, send, echo, count)
        return figures | {"back to back": _chase(client, case.x0, chased)}


def _compare(own: Any, x0: Any, client: MPCClient, send: Any, echo: Any, count: int) -> dict[str, Any]:
    rng, state, part = np.random.default_rng(0), own.problem.state, own.dt / own.offsets[1]
    step, remote = own.reset(x0), client.reset(x0)
    wait_until_optimised()
    trips, feedbacks, echoes, wrong, refused = [], [], [], int(not served.equal(step, remote)), 0
    for seq in range(1, count + 1):
        ahead = part * state.difference(step.xs[0], step.xs[1])
        x = state.integrate(step.xs[0], ahead + NOISE * rng.normal(size=state.ndx))
        if seq % DAMAGED == 0:
            ways = list(served.damages(client._number + 1, x, rng).values())
            answer = unpack(send(ways[(seq // DAMAGED) % len(ways)]()), 2**20)
            refused += answer["kind"] == "refused"
            continue
        client.describe()  # once it is answered, the step is prepared
        started = time.perf_counter()
        remote = client.step(x)
        trips.append(time.perf_counter() - started)
        feedbacks.append(remote.feedback_time)
        message = served.request(seq, x)
        started = time.perf_counter()
        echo(message)
        echoes.append(time.perf_counter() - started)
        step = own.step(x)
        wrong += not served.equal(step, remote)
    damaged = count // DAMAGED
    found = {"requests": count, "good": count - damaged, "wrong": wrong, "damaged": damaged, "refused": refused}
    return found | {"trips": trips[WARM:], "feedback": feedbacks[WARM:], "echoes": echoes[WARM:]}


def _chase(client: MPCClient, x0: Any, count: int) -> dict[str, list[float]]:
    """One request after the other, each from where the last plan is a period later."""
    step, found = client.reset(x0), []
    for _ in range(count):
        started = time.perf_counter()
        step = client.step(step.xs[0])
        found.append((time.perf_counter() - started, step.preparation_time + step.feedback_time))
    trips, solves = np.array(found[WARM:]).T
    return {"trips": trips.tolist(), "solve": solves.tolist()}


@contextmanager
def _server(*arguments: str) -> Iterator[str]:
    """A server in another process; its address."""
    command = [sys.executable, "-m", "tests.benchmarks.server", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()


@contextmanager
def _raw(address: str) -> Iterator[Any]:
    """A function that sends bytes, and gives those of the answer."""
    import zmq

    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.connect(address)

    def send(message: bytes) -> bytes:
        socket.send(message)
        if not socket.poll(30_000):
            raise TimeoutError("a damaged request was not answered")
        found: bytes = socket.recv()
        return found

    yield send
    context.destroy(linger=0)


def failures(figures: dict[str, Any]) -> bool:
    """Whether an answer was wrong, or a damaged request was not refused."""
    return bool(figures["wrong"] or figures["refused"] != figures["damaged"])


def report(figures: dict[str, Any]) -> str:
    """The tables."""
    ask, chase = figures, figures["back to back"]
    times = {
        "one a period": (np.array(ask["trips"]), np.array(ask["feedback"])),
        "back to back": (np.array(chase["trips"]), np.array(chase["solve"])),
    }
    rows = []
    for how, (trips, solves) in times.items():
        for name, values in (("round trip", trips), ("of the server", solves), ("added", trips - solves)):
            middle, late = (1e3 * float(each) for each in np.percentile(values, (50, 99)))
            asked = [bar(each, BAR, at_least=False) if name == "added" else "" for each in (middle, late)]
            rows.append([how, name, number(middle), asked[0], number(late), asked[1]])
    alone = [number(1e3 * float(each)) for each in np.percentile(ask["echoes"], (50, 99))]
    rows.append(["one a period", "sockets alone", alone[0], "", alone[1], ""])
    text = table(TITLE, ["requests", "time", "median", "required", "99 %", "required"], rows)
    counts = [str(figures[name]) for name in ("requests", "good", "wrong", "damaged", "refused")]
    return text + table("", ["requests", "good", "wrong", "damaged", "refused"], [counts])


def echo() -> None:
    """Answers each message with one of the size of a step, until the input ends."""
    import zmq

    socket = zmq.Context().socket(zmq.ROUTER)
    print(f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}", flush=True)
    threading.Thread(target=lambda: os._exit(len(sys.stdin.read())), daemon=True).start()
    answer = bytes(6_600)
    while True:
        who, _ = socket.recv_multipart()
        socket.send_multipart([who, answer])


def main() -> None:
    """Serves until the input ends."""
    logging.disable()  # of what is refused
    trajopt.set_num_threads(1)
    case = closed_loops.load(NAME)
    case.controller.reset(case.x0)
    wait_until_optimised()
    with MPCServer(case.controller, "tcp://127.0.0.1:*") as server:
        print(server.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    echo() if "echo" in sys.argv else main()
