"""The command `trajopt serve`: what it prints, what it refuses, and its end by Ctrl-C."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.mpc import slider
from tests.support.command_line import CliRunner
from trajopt import cli, mpc
from trajopt.errors import unknown_name
from trajopt.mpc.server import MPCClient, MPCServer
from trajopt.problems import mpc as cases
from trajopt.problems.mpc.case import MPCCase

pytest.importorskip("zmq", reason="needs pip install pyzmq")
pytest.importorskip("msgpack", reason="needs pip install msgpack")


@pytest.fixture
def received(monkeypatch):
    """One ready closed loop, "slider", and the address at which it is served."""
    kept, started = SimpleNamespace(options=None, address=None), MPCServer.start

    def load(name, **options):
        if name != "slider":
            raise unknown_name("closed loop", name, ["slider"])
        kept.options = options
        controller = slider.controller(dt=0.05)
        return MPCCase(
            name="slider", description="A mass on a rail.", controller=controller, x0=np.array([0.0, 0.2]), duration=1.0
        )

    def start(self):
        started(self)
        kept.address = self.address
        return self

    monkeypatch.setattr(cases, "load", load)
    monkeypatch.setattr(MPCServer, "start", start)
    return kept


def run(*arguments):
    return CliRunner().invoke(cli.app, ["serve", *map(str, arguments)])


def test_it_serves_until_ctrl_c(received):
    steps = []

    def ask_and_interrupt():
        until = time.monotonic() + 30.0
        while received.address is None and time.monotonic() < until:
            time.sleep(0.01)
        with MPCClient(received.address, timeout=10.0) as client:
            steps.append(client.step([0.0, 0.2]))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=ask_and_interrupt)
    thread.start()
    result = run("slider", "--address", "tcp://127.0.0.1:*", "--publish", "tcp://127.0.0.1:*", "--set", "mass=2")
    thread.join()
    assert result.exit_code == 0, result.output
    assert received.options == {"mass": 2}
    assert steps[0].status is mpc.MPCStatus.SOLVED
    lines = result.stdout.splitlines()
    assert lines[0] == "controller  slider: MPCController(15 knots over 1.5 s, dt=0.05, mode='real-time')"
    assert lines[1] == f"address     {received.address}"
    assert lines[2].startswith("publishes   tcp://127.0.0.1:")
    assert lines[3:5] == ["answered    1, and 0 of them again", "refused     0"]
    assert lines[6] == "published   1 plan"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("slidr",), "closed loop 'slidr' not found; did you mean 'slider'"),
        (("slider", "--address", "tcp://0.0.0.0:5555"), "--address: expected an address of this machine"),
        (("slider", "--address", "tcp://0.0.0.0:5555"), "to accept that, pass --remote"),
        (("slider", "--publish", "here"), "--publish: expected an address such as 'tcp://127.0.0.1:5555', got 'here'"),
    ],
)
def test_wrong_arguments_give_a_one_line_error(received, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert message in result.output
    assert len(result.output.splitlines()) == 1
