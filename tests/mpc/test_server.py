"""A server of steps: answers as the controller gives them, whatever else is sent, and an end that is clean."""

from __future__ import annotations

import functools
import gc
import os
import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.mpc import served, slider, support
from tests.mpc.served import answered, wait_for
from trajopt import mpc
from trajopt.errors import InvalidArgumentError, MissingDependencyError
from trajopt.mpc import server as room
from trajopt.mpc.server import MPCClient, MPCServer, PlanSubscriber, RequestRefusedError
from trajopt.mpc.server.fields import REFUSAL, SENDER, part, read, step_of
from trajopt.solvers import SolverSQP

zmq = pytest.importorskip("zmq", reason="needs pip install pyzmq")
pytest.importorskip("msgpack", reason="needs pip install msgpack")

FREE, X = "tcp://127.0.0.1:*", np.array([0.0, 0.1])
KINDS = {"size", "header", "version", "checksum", "msgpack", "fields", "values", "sequence"}
REQUESTS = 1_000  # of which every tenth is damaged; 10,000 are a benchmark


# Answers


@pytest.mark.slow
def test_damaged_requests_change_no_answer(raw):
    """An arm, a thousand requests, every tenth damaged: each good one gets what the controller itself gives."""
    own, remote = (mpc.MPCController(support.arm(N=10), options=mpc.MPCOptions(dt=0.005)) for _ in range(2))
    for each in (own, remote):
        each.follow("hand.reference", support.target)
    rng, state, names = np.random.default_rng(0), own.problem.state, set()
    step = own.reset()
    with MPCServer(remote, FREE) as server:
        connection, good = raw(server.address), 0
        for seq in range(1, REQUESTS + 1):
            x = state.integrate(step.xs[0], 1e-3 * rng.normal(size=state.ndx))
            if seq % 10 == 0:
                ways = served.damages(seq, x, rng)
                name = "flipped" if seq % 20 else list(ways)[(seq // 20) % len(ways)]
                names.add(name)
                connection.send(ways[name]())
                refusal = read(answered(connection), REFUSAL)
                assert refusal["kind"] == "refused", name
                assert refusal["error"] in KINDS, name  # by a check, and by no exception on the way
                assert len(refusal["reason"]) > 10
                continue
            connection.send(served.request(seq, x))
            sender, rest = part(answered(connection), SENDER)
            assert sender == {"kind": "step", "client": "tests", "seq": seq}
            step, good = own.step(x), good + 1
            assert served.equal(step_of(rest), step), seq
    assert names == set(served.damages(1, X, rng))
    assert server.counts["answered"] == good == 900
    assert sum(n for name, n in server.counts.items() if name.startswith("refused")) == 100


def test_a_client_gets_steps(shared):
    own = slider.controller(dt=0.05)
    own.reset([0.0, 0.2])
    with MPCClient(shared.address) as client:
        client.reset([0.0, 0.2])
        x = np.array([0.0, 0.2])
        for k in range(5):
            found, expected = client.step(x, 0.05 * k), own.step(x, 0.05 * k)
            assert served.equal(found, expected)
            assert isinstance(found.status, mpc.MPCStatus)
            x = slider.moved(x, found.u, 0.05)
        about = client.describe()
    assert (about.nx, about.nu, about.knots, about.dt) == (2, 1, 15, 0.05)
    assert about.about == repr(own)


def test_a_solver_answers_each_state_on_its_own():
    problem = slider.problem()
    solver = SolverSQP(problem)
    with MPCServer(solver, FREE) as server, MPCClient(server.address) as client:
        first, other, again = client.step([0.0, 0.2]), client.step([0.5, 0.0], 3.0), client.step([0.0, 0.2])
        fast = client.step([0.0, 1.5])
    assert served.equal(first, again)
    assert not np.array_equal(first.u, other.u)
    mine = slider.problem()
    mine.x0 = [0.5, 0.0]
    expected = SolverSQP(mine).solve()
    assert other.status is mpc.MPCStatus.SOLVED
    assert np.allclose(other.u, expected.us[0], atol=1e-6)
    assert np.allclose(other.K, expected.K[0], atol=1e-4)
    assert other.times == pytest.approx(3.0 + problem.times)
    assert (fast.violated, other.violated) == ("speed", "")
    assert fast.violation == pytest.approx(fast.xs[:-1, 1].max() - slider.SPEED)


def test_refusals_of_the_controller_reach_the_client_with_the_reason(shared):
    with MPCClient(shared.address) as client:
        client.reset(X, 1.0)
        for x, t, message in [
            (np.zeros(3), None, r"x: expected shape \(2,\), got \(3,\)"),
            ([0.0, np.nan], None, r"x: expected finite numbers, got nan at index \(1,\)"),
            (X, 0.5, "t: expected a time >= "),
        ]:
            with pytest.raises(RequestRefusedError, match=message):
                client.step(x, t)
        with pytest.raises(InvalidArgumentError, match="t: expected a finite number, got nan"):
            client.step(X, np.nan)
        assert client.step(X).t == 1.0


def test_a_reference_that_raises_is_reported_and_the_server_continues():
    def broken(t):
        if t > 3.0:
            raise ZeroDivisionError("no goal")
        return [1.0, 0.0]

    controller = slider.controller()
    controller.follow("goal.reference", broken)
    with MPCServer(controller, FREE) as server, MPCClient(server.address) as client:
        assert client.step(X, 1.45).t == 1.45  # the window ends at 2.95 s, the next one later
        with pytest.raises(RequestRefusedError, match="no goal"):
            client.step(X, 1.6)
        assert client.reset(X, 0.0).t == 0.0
    assert server.counts["preparation failed"] == 1


# Plans


def test_plans_are_published():
    with (
        MPCServer(slider.controller(dt=0.05), FREE, publish=FREE) as server,
        PlanSubscriber(server.publish, every=True) as patient,
        PlanSubscriber(server.publish) as newest,
        MPCClient(server.address) as client,
    ):
        steps, first = [], {}
        while len(first) < 2:  # a subscription takes its time
            steps.append(client.step(X))
            for each in {patient, newest} - first.keys():
                if (found := each.receive(0.05)) is not None:
                    first[each] = found
        steps += [client.step(X) for _ in range(20)]
        received = list(iter(functools.partial(patient.receive, 0.3), None))
        assert served.equal(received[-1], steps[-1])
        assert served.equal(newest.receive(), steps[-1])
        assert patient.missed == 0
        assert newest.missed == len(steps) - round(first[newest].t / 0.05) - 2
        assert newest.receive(0.05) is None
    assert server.counts["published"] == len(steps)
    assert server.report()["published"] == f"{len(steps)} plans"


# Life


def test_ctrl_c_ends_a_server_in_the_foreground():
    server = MPCServer(slider.controller(dt=0.05), FREE)
    found = []

    def ask_and_interrupt():
        wait_for(lambda: not server.address.endswith("*"))
        with MPCClient(server.address, timeout=10.0) as client:
            found.append(client.step(X))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=ask_and_interrupt)
    thread.start()
    server.run()
    thread.join()
    assert found[0].t == 0.0
    server.close()
    with pytest.raises(InvalidArgumentError, match="start: this server was started before; create a new MPCServer"):
        server.start()


def test_closing_frees_address_threads_and_sockets():
    gc.collect()
    before = threading.active_count()
    server = MPCServer(slider.controller(dt=0.05), FREE)
    server.close()  # before it has begun
    server.start()
    server.close()
    server.close()
    assert threading.active_count() == before
    with MPCServer(slider.controller(dt=0.05), server.address) as again:
        assert again.address == server.address
        with pytest.raises(InvalidArgumentError, match="address: expected a free address, got 'tcp:.* in use"):
            MPCServer(slider.controller(dt=0.05), server.address).start()
    client = MPCClient(server.address)
    client.close()
    with pytest.raises(InvalidArgumentError, match="step: this client is closed"):
        client.step(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"address": "tcp://0.0.0.0:5555"}, "address: expected an address of this machine, .* pass allow_remote=True"),
        ({"address": "tcp://*:5555"}, "address: expected an address of this machine"),
        ({"address": "tcp://192.168.1.2:5555"}, "address: expected an address of this machine"),
        ({"address": "tcp://[::]:5555"}, "address: expected an address of this machine"),
        ({"address": "tcp://localhost.example.com:5555"}, "address: expected an address of this machine"),
        ({"publish": "tcp://0.0.0.0:*"}, "publish: expected an address of this machine"),
        ({"address": "tcp://127.0.0.1"}, "address: expected an address such as 'tcp://127.0.0.1:5555', got 'tcp://12"),
        ({"address": "tcp://127.0.0.1:99999"}, "address: expected an address such as"),
        ({"address": "udp://127.0.0.1:1"}, "address: expected an address such as"),
        ({"address": 5555}, "address: expected a string such as 'tcp://127.0.0.1:5555', got 5555"),
        ({"max_bytes": 10}, "max_bytes: expected an integer >= 1024, got 10"),
        ({"controller": "arm"}, "controller: expected an MPCController.*, got 'arm'"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        MPCServer(**{"controller": slider.controller()} | arguments)


def test_addresses_of_this_machine_and_those_on_request(tmp_path):
    controller = slider.controller(dt=0.05)
    controller.reset()
    for address in ("tcp://localhost:*", f"ipc://{tmp_path}/server"):
        with MPCServer(controller, address) as server, MPCClient(server.address) as client:
            assert client.step(X).status is mpc.MPCStatus.SOLVED
    with MPCServer(controller, "tcp://0.0.0.0:*", allow_remote=True) as server:
        assert server.address.startswith("tcp://0.0.0.0:")


@pytest.mark.parametrize(("module", "package"), [("zmq", "pyzmq"), ("msgpack", "msgpack")])
def test_without_the_extra_it_says_what_to_install(monkeypatch, module, package):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    server = [lambda: MPCServer(slider.controller())] if module == "msgpack" else []
    for make in (*server, MPCClient, lambda: PlanSubscriber("tcp://127.0.0.1:1")):
        with pytest.raises(MissingDependencyError, match=f"{package} is missing: pip install pyzmq msgpack"):
            make()


def test_nothing_unpickles():
    for file in Path(room.__file__).parent.glob("*.py"):
        assert not re.search(r"pickle|pyobj|\beval\(|\bexec\(", file.read_text()), file


def test_whoever_connects_needs_a_port():
    for listener, known in ((MPCClient, "server.address"), (PlanSubscriber, "server.publish")):
        with pytest.raises(InvalidArgumentError, match=rf"address: expected a port, got .*; {known} has the port"):
            listener("tcp://127.0.0.1:*")
