"""Health checks: ``/health/live`` says that the broker runs, ``/health/ready`` that clients can use it."""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.web.calls import Answer, Call, as_json
from kafkatx.web.routes import Routes


class Health:
    """The checks.

    :ivar ready: True from the end of the start until the stop begins.
    """

    def __init__(self, broker: Broker) -> None:
        self.ready = False
        self._broker = broker
        self._routes = Routes()
        self._routes.add("GET", "/health/live", self._live)
        self._routes.add("GET", "/health/ready", self._ready)
        self.application = self._routes.answer

    def _live(self, call: Call) -> Answer:
        return Answer(200, as_json({"status": "live"}))

    def _ready(self, call: Call) -> Answer:
        reason = self._reason()
        if reason:
            return Answer(503, as_json({"status": "not ready", "reason": reason}))
        return Answer(200, as_json({"status": "ready", "broker": self._broker.node_id}))

    def _reason(self) -> str:
        """Return why clients cannot use the broker; nothing if they can."""
        if not self.ready:
            return "the broker starts, or stops"
        if self._broker.metadata.state.fenced:
            return "the broker is fenced: it has no connection to the state of the cluster"
        if self._broker.replicas.halted.called:
            return "every log dir is offline"
        return ""
