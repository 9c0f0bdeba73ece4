"""Fixtures of closed loops: a server of steps, and sockets with nothing between them and the bytes."""

from __future__ import annotations

import pytest

from tests.mpc import slider
from trajopt.mpc.server import MPCServer


@pytest.fixture(scope="module")
def shared():
    """A server of a slider that tests of messages may share; its controller's plan is nothing that they look at."""
    with MPCServer(slider.controller(dt=0.05), "tcp://127.0.0.1:*") as server:
        yield server


@pytest.fixture
def raw():
    """A function that connects a socket of a kind, with nothing between it and the bytes."""
    import zmq

    context, sockets = zmq.Context(), []

    def connect(address, kind=zmq.DEALER, **options):
        found = context.socket(kind)
        for option, value in ({"LINGER": 0} | options).items():
            found.setsockopt(getattr(zmq, option), value)
        found.connect(address)
        sockets.append(found)
        return found

    yield connect
    context.destroy(linger=0)
