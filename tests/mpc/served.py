"""Requests to a server, good ones and damaged ones, as bytes, and lines that lose and change what goes through."""

from __future__ import annotations

import struct
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.mpc import slider
from trajopt.mpc import MPCStep
from trajopt.mpc.server.desk import Desk
from trajopt.mpc.server.ledger import Ledger
from trajopt.mpc.server.messages import MAGIC, VERSION, pack, unpack
from trajopt.mpc.server.service import service_of
from trajopt.types import Reals


def request(seq: Any, x: Any, t: float | None = None, **changed: Any) -> bytes:
    """A request, of which fields are changed, or left out where they are `...`."""
    fields = {"kind": "step", "client": "tests", "seq": seq, "x": x, "t": t} | changed
    return pack({name: value for name, value in fields.items() if value is not ...})


def framed(body: bytes, version: int = VERSION) -> bytes:
    """Bytes behind a header that fits them."""
    return struct.pack(">3sBI", MAGIC, version, zlib.crc32(body)) + body


def _flipped(message: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(message)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed) if bytes(changed) != message else b""


def _huge(message: bytes, rng: np.random.Generator) -> bytes:
    """Claims 4 GiB of an array, a map, a text or bytes."""
    del message
    return framed(bytes([rng.choice([0xDD, 0xDF, 0xDB, 0xC6, 0xC9])]) + b"\xff\xff\xff\xff" + rng.bytes(20))


def _with(array: Reals, value: float, rng: np.random.Generator) -> Reals:
    changed = array.copy()
    changed[rng.integers(len(array))] = value
    return changed


def damages(seq: int, x: Reals, rng: np.random.Generator) -> dict[str, Callable[[], bytes]]:
    """Ways to damage a request, by name."""
    good = request(seq, x)
    data = {"dtype": "<f8", "shape": [len(x)], "data": x.tobytes()}
    return {
        "cut": lambda: good[: rng.integers(len(good))],
        "flipped": lambda: _flipped(good, rng),
        "longer": lambda: good + rng.bytes(int(rng.integers(1, 50))),
        "noise": lambda: rng.bytes(int(rng.integers(0, 500))),
        "noise with a header": lambda: framed(rng.bytes(int(rng.integers(0, 500)))),
        "huge lengths": lambda: _huge(good, rng),
        "deep": lambda: framed(b"\x91" * 5000 + b"\xc0"),
        "a large message": lambda: request(seq, x, client="a" * 70_000),
        "another version": lambda: framed(good[8:], version=int(rng.choice([0, 2, 255]))),
        "NaN": lambda: request(seq, _with(x, np.nan, rng)),
        "infinite": lambda: request(seq, _with(x, -np.inf, rng)),
        "shape": lambda: request(seq, x[: rng.integers(len(x))]),
        "dimensions": lambda: request(seq, x[None]),
        "a shape that lies": lambda: request(seq, data | {"data": x.tobytes()[:-1]}),
        "a negative shape": lambda: request(seq, data | {"shape": [-1]}),
        "a shape of truth values": lambda: request(seq, data | {"shape": [True] * 14}),
        "dtype": lambda: request(seq, data | {"dtype": "<f4"}),
        "object": lambda: request(seq, data | {"dtype": "|O"}),
        "list": lambda: request(seq, x.tolist()),
        "no state": lambda: request(seq, ...),
        "another field": lambda: request(seq, x, shell="ls"),
        "kind": lambda: request(seq, x, kind="stop"),
        "time": lambda: request(seq, x, t=float("nan")),
        "text as time": lambda: request(seq, x, t="now"),
        "number": lambda: request(-seq, x),
        "no number": lambda: request(..., x),
        "used number": lambda: request(max(1, seq - 1), 1.5 * x + 0.01),
    }


def equal(one: MPCStep, other: MPCStep) -> bool:
    """Whether all but times of computing is the same, bit for bit."""
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("u", "K", "xs", "us", "times"))
    plain = ("t", "status", "reason", "cost", "violation", "violated", "iterations")
    return same and all(getattr(one, name) == getattr(other, name) for name in plain)


def answered(connection):
    assert connection.poll(20_000), "no answer"
    return unpack(connection.recv_multipart()[-1], 2**20)


def wait_for(condition):
    until = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


class Between(threading.Thread):
    """A faulty line between a client and a desk: of each request `spoil` gives the answers that arrive."""

    def __init__(self, spoil):
        import zmq

        super().__init__(daemon=True)
        service = service_of(slider.controller(dt=0.05))
        service.begin()
        self.ledger, self.spoil, self.stop, self.connections = Ledger(), spoil, threading.Event(), set()
        self.desk, self.context = Desk(service, self.ledger, 65_536), zmq.Context()
        self.line = self.context.socket(zmq.ROUTER)
        self.address = f"tcp://127.0.0.1:{self.line.bind_to_random_port('tcp://127.0.0.1')}"

    def run(self):
        number = 0
        while not self.stop.is_set():
            if self.line.poll(20):
                who, message = self.line.recv_multipart()
                self.connections.add(who)
                for answer in self.spoil(number, message, self.desk):
                    self.line.send_multipart([who, answer])
                number += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.join()
        self.context.destroy(linger=0)
