"""Messages that a client and a server of revision 2720678 sent are understood today."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.mpc import slider
from tests.support.old_files import FACTS, FILES, assert_says
from trajopt.mpc.server import MPCClient, MPCServer, PlanSubscriber, RequestRefusedError


def messages(kind: str) -> list[bytes]:
    """Recorded messages of a kind, in order: request, answer or plan."""
    kept = json.loads((FILES / "messages.json").read_text())
    return [base64.b64decode(message) for each, message in kept if each == kind]


@pytest.fixture
def sockets() -> Iterator[Any]:
    zmq = pytest.importorskip("zmq", reason="needs pip install pyzmq")
    pytest.importorskip("msgpack", reason="needs pip install msgpack")
    context, kept = zmq.Context(), []

    def socket(kind: str) -> Any:
        kept.append(context.socket(getattr(zmq, kind)))
        return kept[-1]

    yield socket
    context.destroy(linger=0)


def test_a_server_answers_requests_of_then(sockets: Any) -> None:
    """Description, reset and step; a state of the wrong size is refused."""
    import msgpack

    asked = sockets("DEALER")
    found = []
    with MPCServer(slider.controller(dt=0.1), "tcp://127.0.0.1:*") as server:
        asked.connect(server.address)
        for request in messages("request"):
            asked.send(request)
            assert asked.poll(20_000)
            found.append(msgpack.unpackb(asked.recv()[8:]))
    assert [each["kind"] for each in found] == ["describe", "reset", "step", "refused"]
    assert [each["client"] for each in found] == ["recorded"] * 4
    assert np.frombuffer(found[2]["xs"]["data"])[:2].tolist() == [0.02, 0.1]
    assert found[3]["reason"] == FACTS["refusal"]


def test_a_client_takes_answers_of_then(sockets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    line, answers = sockets("ROUTER"), messages("answer")
    port = line.bind_to_random_port("tcp://127.0.0.1")

    def answer() -> None:
        for each in answers:
            if line.poll(20_000):
                who, _ = line.recv_multipart()
                line.send_multipart([who, each])

    thread = threading.Thread(target=answer)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: 0)  # clients count from it, and answers repeat the number
        client = MPCClient(f"tcp://127.0.0.1:{port}", timeout=5.0, retries=0, name="recorded")
    with client:
        thread.start()
        about = client.describe()
        steps = [client.reset([0.0, 0.0]), client.step([0.02, 0.1], 0.1)]
        with pytest.raises(RequestRefusedError) as refused:
            client.step([0.0, 0.0, 0.0])
    thread.join()
    assert str(refused.value) == FACTS["refusal"]
    assert_says(about, FACTS["description"], "x0")
    assert about.x0.tolist() == FACTS["description"]["x0"]
    for step, facts in zip(steps, FACTS["steps"], strict=True):
        assert_says(step, facts, "status")
        assert str(step.status) == facts["status"]


def test_plans_of_then_are_heard(sockets: Any) -> None:
    plans = sockets("PUB")
    port = plans.bind_to_random_port("tcp://127.0.0.1")
    with PlanSubscriber(f"tcp://127.0.0.1:{port}") as heard:
        for message, facts in zip(messages("plan"), FACTS["steps"], strict=True):
            for _ in range(400):  # the first ones come before the line stands
                plans.send(message)
                step = heard.receive(0.05)
                if step is not None and step.t == facts["t"]:
                    break
            assert step is not None
            assert_says(step, facts, "status")
        assert heard.damaged == 0
