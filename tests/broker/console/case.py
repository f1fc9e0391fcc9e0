"""A broker in memory with a console, whose API tests ask as a page would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from kafkatx.broker.console.factory import Console
from kafkatx.broker.registry.holder import RegistryHolder
from kafkatx.net.requests import NOBODY, Session
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.web.calls import Answer, Call, read_target
from tests.broker.running import BrokerTestCase

OWN_HEADER = {"x-kafkatx-console": "1", "content-type": "application/json"}


class ConsoleCase(BrokerTestCase):
    """A broker with a console; ``get`` and ``change`` return the values of its answers."""

    settings: ClassVar[Mapping[str, str]] = {"kafkatx.console.enable": "true"}
    session: Session = NOBODY

    def setUp(self) -> None:
        """Make a console."""
        super().setUp()
        self.server = KafkaServerFactory(self.dispatch, Limits(1 << 20, -1, -1), self.clock)
        self.registry = RegistryHolder(self.broker)
        self.console = Console(self.broker, self.server, self.registry)
        self.addCleanup(self.console.stop)
        self.application = self.console.application(self.make_logins(), False)

    def make_logins(self) -> Any:
        """Return the logins of the listener; None: there are none."""
        return None

    def begin(
        self,
        method: str,
        target: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        session: Session | None = None,
    ) -> Deferred[Answer]:
        """Begin a request."""
        path, query = read_target(target.encode())
        given = {**({} if method == "GET" else OWN_HEADER), **(headers or {})}
        content = b"" if body is None else json.dumps(body).encode()
        who = session or self.session
        call = Call(method, target, path, query, given, content, who, "192.0.2.1")
        return Deferred.fromCoroutine(self.application(call))

    def request(self, method: str, target: str, *arguments: Any, **more: Any) -> Answer:
        """Make a request; move the clock until it is answered."""
        asked = self.begin(method, target, *arguments, **more)
        for _ in range(2000):
            if asked.called:
                break
            self.clock.advance(0.01)
        return self.successResultOf(asked)

    def value(self, answer: Answer, status: int = 200) -> Any:
        """Return the value of an answer of JSON."""
        assert isinstance(answer.body, bytes)
        self.assertEqual(answer.status, status, answer.body)
        return json.loads(answer.body)

    def get(self, path: str, status: int = 200, **more: Any) -> Any:
        """Return the value at a path of the API."""
        return self.value(self.request("GET", f"/console/api/v1{path}", **more), status)

    def change(self, method: str, path: str, body: object = None, status: int = 200, **more: Any) -> Any:
        """Make a change; return the value of the answer."""
        return self.value(self.request(method, f"/console/api/v1{path}", body, **more), status)

    def refused(self, found: Any) -> str:
        """Return the code of an error."""
        self.assertEqual(list(found), ["error"])
        self.assertTrue(found["error"]["message"])
        code: str = found["error"]["code"]
        return code
