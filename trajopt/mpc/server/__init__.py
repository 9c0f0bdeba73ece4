"""Model-predictive control across processes: a server with a controller, and clients that send measurements.

    with MPCServer(controller, "tcp://127.0.0.1:5555") as server, MPCClient(server.address) as client:
        step = client.step(x)           # an MPCStep, as from controller.step(x)

It needs pyzmq and msgpack, the extra `server`. Messages are described in `messages` and `fields`.
"""

from trajopt.mpc.server.client import MPCClient, ServerDescription
from trajopt.mpc.server.errors import BadMessageError, NoAnswerError, RequestRefusedError
from trajopt.mpc.server.server import MPCServer
from trajopt.mpc.server.subscriber import PlanSubscriber
from trajopt.objects.calls import explain_calls

__all__ = [
    "BadMessageError",
    "MPCClient",
    "MPCServer",
    "NoAnswerError",
    "PlanSubscriber",
    "RequestRefusedError",
    "ServerDescription",
]

explain_calls(__name__)
