"""Lines and clients that misbehave: lost, late and damaged answers, floods, strangers, clients that vanish."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from tests.mpc import served, slider
from tests.mpc.hammer import hammer
from tests.mpc.served import Between, answered, wait_for
from trajopt.errors import InvalidArgumentError
from trajopt.mpc import server as room
from trajopt.mpc.server import (
    MPCClient,
    MPCServer,
    NoAnswerError,
    RequestRefusedError,
    connection,
    listeners,
    zmtp,
)
from trajopt.mpc.server.desk import CLIENTS, Desk
from trajopt.mpc.server.fields import REFUSAL, SENDER, fields_of, part, read
from trajopt.mpc.server.ledger import Ledger
from trajopt.mpc.server.messages import pack, unpack
from trajopt.mpc.server.service import service_of

zmq = pytest.importorskip("zmq", reason="needs pip install pyzmq")
pytest.importorskip("msgpack", reason="needs pip install msgpack")

FREE, X = "tcp://127.0.0.1:*", np.array([0.0, 0.1])


# Lost and late answers


def test_a_request_that_comes_again_is_no_second_step():
    controller, ledger = slider.controller(dt=0.05), Ledger()
    service = service_of(controller)
    service.begin()
    desk = Desk(service, ledger, 65_536)
    first = desk.answer(served.request(1, X))
    again = desk.answer(served.request(1, X))
    assert again.message == first.message
    assert again.step is None
    assert (ledger.counts["answered"], ledger.counts["repeated"]) == (1, 1)
    other = read(unpack(desk.answer(served.request(1, 2 * X)).message, 9999), REFUSAL)
    assert "seq: expected more than 1, the last number of client 'tests', got 1; number requests" in other["reason"]
    assert (other["client"], other["seq"], other["error"]) == ("tests", 1, "sequence")


def test_a_refused_request_uses_up_no_number():
    service = service_of(slider.controller(dt=0.05))
    service.begin()
    desk = Desk(service, Ledger(), 65_536)
    assert unpack(desk.answer(served.request(1, [0.0])).message, 9999)["kind"] == "refused"
    assert desk.answer(served.request(1, X)).step is not None


def test_a_client_started_again_under_its_name_is_served():
    """A robot's program that was killed comes back; its first process never said goodbye."""
    with MPCServer(slider.controller(dt=0.05), FREE) as server, MPCClient(server.address, name="robot") as killed:
        for _ in range(3):
            killed.step(X)
        with MPCClient(server.address, name="robot") as again:
            assert again.reset(X).t == 0.0
            again.step(X, 0.05)
        assert server.counts["answered"] == 5


def test_answers_are_kept_for_the_last_clients_alone():
    """One that asks all the time is among them, as its repeated requests show."""
    service, ledger = service_of(slider.controller(dt=0.05)), Ledger()
    service.begin()
    desk = Desk(service, ledger, 65_536)
    for i in range(CLIENTS + 10):
        for client, seq in ((f"client {i}", 1), ("client 0", 1 + i), ("client 0", 2 + i)):
            desk.answer(served.request(seq, ..., client=client, kind="describe", t=...))
    assert set(desk._last) == {"client 0", *(f"client {i}" for i in range(11, CLIENTS + 10))}
    assert ledger.counts["repeated"] == CLIENTS + 10


def test_a_plan_that_is_not_finite_is_refused():
    service = service_of(slider.controller(dt=0.05))
    service.begin()
    step = service.step(X, None)
    for name in ("u", "K", "xs", "us"):
        with pytest.raises(room.BadMessageError, match=f"{name}: the controller's plan is not finite; reset it"):
            fields_of(dataclasses.replace(step, **{name: np.full_like(getattr(step, name), np.nan)}))


def test_the_client_repeats_a_request_whose_answer_is_lost():
    def spoil(number, message, desk):
        answer = desk.answer(message).message
        return [] if number == 1 else [answer]

    with Between(spoil) as line, MPCClient(line.address, timeout=0.3) as client:
        steps = [client.step(X, 0.05 * k) for k in range(3)]
    assert [step.t for step in steps] == pytest.approx([0.0, 0.05, 0.1])
    assert client.counts == {"asked again": 1, "late": 0, "damaged": 0}
    assert (line.ledger.counts["answered"], line.ledger.counts["repeated"]) == (3, 1)
    assert len(line.connections) == 2


def test_answers_to_other_requests_are_thrown_away():
    """Those of earlier requests, of other clients, and damaged ones."""
    kept = []

    def spoil(number, message, desk):
        answer = desk.answer(message).message
        kept.append(answer)
        other = desk.answer(served.request(number + 1, X, client="another")).message
        return [*kept[:-1], other, answer[:-1], answer[:50], b"", answer]

    with Between(spoil) as line, MPCClient(line.address, timeout=5.0) as client:
        steps = [client.step(X, 0.1 * k) for k in range(3)]
    assert [step.t for step in steps] == pytest.approx([0.0, 0.1, 0.2])
    assert client.counts == {"asked again": 0, "late": 6, "damaged": 9}


def test_a_request_that_is_damaged_on_its_way_is_sent_again():
    def spoil(number, message, desk):
        return [desk.answer(message[:-1] if number == 0 else message).message]

    with Between(spoil) as line, MPCClient(line.address, timeout=5.0) as client:
        assert client.step(X).t == 0.0
    assert client.counts["asked again"] == 1
    with (
        Between(lambda _, message, desk: [desk.answer(message[:-1]).message]) as line,
        MPCClient(line.address) as client,
        pytest.raises(RequestRefusedError, match="truncated or changed on the way"),
    ):
        client.step(X)


def test_a_step_of_wrong_sizes_is_none():
    def spoil(number, message, desk):
        answer = desk.answer(message)
        sender, rest = part(unpack(answer.message, 2**20), SENDER)
        return [pack(sender | rest | {"K": np.zeros((2, 2))})]

    wrong = pytest.raises(room.BadMessageError, match=r"K: expected shape \(1, 2\), got \(2, 2\)")
    with Between(spoil) as line, MPCClient(line.address) as client, wrong:
        client.step(X)


def test_a_client_without_a_server_fails_and_connects_to_a_later_one():
    with MPCServer(slider.controller(dt=0.05), FREE) as first:
        address = first.address
    with MPCClient(address, timeout=0.05, retries=1) as client:
        with pytest.raises(
            NoAnswerError, match="step: no answer within 0.05 s from .* in 2 attempts; check that the server runs"
        ):
            client.step(X)
        with MPCServer(slider.controller(dt=0.05), address), MPCClient(address) as patient:
            assert patient.step(X).t == 0.0
            wait_for(lambda: _try(client) is not None)


def _try(client):
    try:
        return client.step(X)
    except NoAnswerError:
        return None


# Clients that misbehave


def test_each_dropped_message_is_logged_once(caplog):
    ledger = Ledger()
    with caplog.at_level(logging.WARNING):
        for name in ("refused: header", "refused: size", "refused: size"):
            ledger.drop(name, f"reason of {name}")
        ledger.tell(now=True)
        ledger.tell(now=True)
    told = [record.message for record in caplog.records]
    assert told == [
        "refused: header: 1; the last: reason of refused: header",
        "refused: size: 2; the last: reason of refused: size",
    ]
    assert ledger.report()["refused"] == "3 (header 1, size 2)"


def test_clients_that_vanish_and_floods(raw, caplog):
    """A client that sends thousands of requests and reads nothing loses its answers; the others are served in turn."""
    with caplog.at_level(logging.WARNING), MPCServer(slider.controller(dt=0.05), FREE) as server:
        flood = raw(server.address)
        for i in range(3_000):
            flood.send(b"nonsense" if i % 2 else served.request(1, ..., kind="describe", client=f"{i}", t=...))
        with MPCClient(server.address, timeout=10.0) as client:
            for k in range(5):
                assert client.step(X, 0.05 * k).t == pytest.approx(0.05 * k)
        wait_for(lambda: server.counts.get("refused: header", 0) == 1_500)
        for _ in range(5):  # gone before its answers come
            gone = raw(server.address, SNDHWM=0)
            for _ in range(20):
                gone.send(b"nonsense")
            time.sleep(0.02)
            gone.close()
        wait_for(lambda: server.counts.get("disconnected", 0) >= 6)
        with MPCClient(server.address, timeout=10.0) as client:
            assert client.step(X).t == pytest.approx(0.25)
    assert "connections ended" in server.report()["dropped"]
    assert re.search(r"\d+ \(.*header \d{4}", server.report()["refused"])
    told = [record.message for record in caplog.records if record.name == "trajopt.mpc.server"]
    assert 1 <= len(told) < 30  # at most one a second
    assert any("refused: header" in text for text in told)


def test_answers_that_nobody_reads_are_dropped_and_counted(raw):
    with MPCServer(slider.controller(dt=0.05), FREE) as server:
        deaf = raw(server.address, RCVHWM=1, RCVBUF=2048, SNDHWM=0)
        big = b"x" * 2_000  # refused with a reason
        until = time.monotonic() + 20.0
        while not server.counts.get("undelivered") and time.monotonic() < until:
            for _ in range(500):
                deaf.send(big)
            time.sleep(0.01)
        assert server.counts["undelivered"] > 0
        with MPCClient(server.address, timeout=10.0) as client:
            assert client.step(X).t == 0.0
    assert re.match(r"\d+ answers to clients that were gone", server.report()["dropped"])


def test_half_messages_and_strangers(raw, shared):
    """Bytes of another protocol, half a greeting, empty messages, too many frames, and frames that are too large."""
    host, port = re.fullmatch(r"tcp://(.*):(\d+)", shared.address).groups()
    before, rng = dict(shared.counts), np.random.default_rng(0)
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff\0\0\0", rng.bytes(3_000), b"", bytes(64)):
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(garbage)
    connection = raw(shared.address)
    for frames in ([b""], [b"", b""], [b"a", b"b"], [b""] * 20, [served.request(1, X), b""]):
        connection.send_multipart(frames)
        assert answered(connection)["kind"] == "refused"
    connection.send(b"x" * 300_000)  # four times the limit: the connection ends
    wait_for(lambda: shared.counts.get("disconnected", 0) > before.get("disconnected", 0))
    wait_for(lambda: shared.counts.get("handshake failed", 0) > before.get("handshake failed", 0))
    assert shared.counts["refused: frames"] >= 3
    again = raw(shared.address, zmq.REQ)  # a plain REQ socket works as well
    again.send(served.request(1, ..., client="plain", kind="describe", t=...))
    assert answered(again)["nx"] == 2
    assert shared.counts.get("refused: size", 0) == before.get("refused: size", 0)  # what was too large was not read


def test_a_flood_of_connections_ends_nothing(shared):
    host, port = re.fullmatch(r"tcp://(.*):(\d+)", shared.address).groups()
    for _ in range(300):
        socket.create_connection((host, int(port))).close()
    with MPCClient(shared.address, timeout=10.0) as client:
        assert client.describe().nx == 2


@pytest.mark.slow
def test_no_client_ends_the_process():
    """Clients flood it with heartbeats and leave, send unending messages, or noise: libzmq aborts in a second."""
    outcome = hammer(clients=8, seconds=4.0)
    assert outcome.passed, outcome
    assert outcome.rounds > 40


# Bytes


def test_messages_arrive_whole_in_any_pieces():
    sent = [[b"one"], [b"", b"a" * 300], [b"x" * 70_000, b"", b"end"]]
    data = b"".join(map(zmtp.message, sent)) + zmtp.ping(5.0)
    for size in (1, 7, 4096, len(data)):
        decoder, found = zmtp.Decoder(100_000), []
        for at in range(0, len(data), size):
            decoder.feed(data[at : at + size])
            found += decoder.messages()
        assert found == [*((False, frames) for frames in sent), (True, [b"\x04PING\x00\x32"])]


@pytest.mark.parametrize(
    "data", [b"\2" + (1001).to_bytes(8, "big"), b"\1\xff" + bytes(255) + b"\2" + (800).to_bytes(8, "big"), b"\x08\0"]
)
def test_messages_that_are_too_long_are_refused_before_they_come(data):
    decoder = zmtp.Decoder(1000)
    decoder.feed(data)
    with pytest.raises(zmtp.ProtocolError):
        list(decoder.messages())


@pytest.mark.parametrize("content", [b"", b"\x0bSocket-Type", b"\x0bSocket-Type\0\0\0", b"\xff", b"\x01a\0\0\0\1b"])
def test_readies_without_a_type_are_refused(content):
    with pytest.raises(zmtp.ProtocolError):
        zmtp.socket_type(content)


def test_a_file_that_a_dead_server_left_is_replaced(tmp_path):
    address = f"ipc://{tmp_path}/server"
    left = socket.socket(socket.AF_UNIX)
    left.bind(f"{tmp_path}/server")
    left.close()
    with MPCServer(slider.controller(dt=0.05), address):
        with pytest.raises(InvalidArgumentError, match="address: expected a free address, got 'ipc:.* in use"):
            MPCServer(slider.controller(dt=0.05), address).start()
        with MPCClient(address) as client:
            assert client.step(X).t == 0.0
    assert not (tmp_path / "server").exists()


@pytest.mark.slow
def test_a_client_that_answers_no_heartbeat_is_disconnected(monkeypatch):
    monkeypatch.setattr(connection, "BEAT", 0.1)
    monkeypatch.setattr(connection, "DEAD", 0.3)
    with MPCServer(slider.controller(dt=0.05), FREE) as server, MPCClient(server.address) as client:
        assert client.step(X).t == 0.0
        host, port = re.fullmatch(r"tcp://(.*):(\d+)", server.address).groups()
        with socket.create_connection((host, int(port))) as silent:
            silent.sendall(zmtp.GREETING[:11] + b"\1" + zmtp.GREETING[12:] + zmtp.ready(b"DEALER"))
            wait_for(lambda: server.counts.get("disconnected", 0) == 1)
            assert b"PING" in silent.recv(1000)
        assert client.step(X).t == 0.05  # libzmq answers them
        assert client.counts["asked again"] == 0


@pytest.mark.parametrize(("place", "name"), [("{}/data.npz", "data.npz"), ("@data", "@data")])
def test_files_at_an_address_stay(place: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a socket at which nobody listens is replaced; an abstract name is no file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("mine")
    with contextlib.suppress(InvalidArgumentError):
        listener, _ = listeners.listen("address", "ipc://" + place.format(tmp_path))
        listeners.close(listener)
    assert (tmp_path / name).read_text() == "mine"


def test_names_of_hosts_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="address: expected a free address"):
        listeners.listen("address", f"tcp://{'a' * 64}.org:*")
