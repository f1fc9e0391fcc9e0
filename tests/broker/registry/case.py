"""A broker in memory with its registry, whose engines run in this process."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

from twisted.internet.defer import Deferred

from kafkatx.broker.registry.factory import make_registry
from kafkatx.broker.registry.inspector import Inspector
from kafkatx.broker.replica.partition import Partition
from kafkatx.net.requests import NOBODY
from kafkatx.records.keyed import build_keyed
from kafkatx.registry.errors import invalid_schema
from kafkatx.registry.inspection import Inspected, Inspection, inspect
from kafkatx.registry.records import KeyValue
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import InvalidSchema
from kafkatx.web.calls import Answer, Call, read_target
from tests.broker.running import BrokerTestCase

RECORD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
A = json.dumps(RECORD)
B = json.dumps(
    {**RECORD, "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 0}]}
)
C = json.dumps({**RECORD, "fields": [{"name": "c", "type": "int"}]})


class LocalInspector(Inspector):
    """An inspector without a process.

    :ivar held: None: inspections are made at once; otherwise they wait in this list.
    :ivar count: the number of inspections.
    """

    held: list[Deferred[None]] | None = None
    count = 0

    async def inspect(self, share: str, job: Inspection) -> Inspected:
        """Make an inspection."""
        self.count += 1
        if self.held is not None:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        try:
            return inspect(job, engine)
        except InvalidSchema as error:
            raise invalid_schema(f"Invalid schema: {error}") from None


class RegistryCase(BrokerTestCase):
    """A test case with a registry.

    :ivar session: the client of later requests.
    """

    session = NOBODY
    client = "192.0.2.7"

    def setUp(self) -> None:
        """Start a broker, and make its registry."""
        super().setUp()
        with patch("kafkatx.broker.registry.factory.Inspector", LocalInspector):
            self.parts = make_registry(self.broker)
        self.addCleanup(self.broker.commit_timeouts.stop)
        self.registry = self.parts.registry
        inspector = self.registry._inspector
        assert isinstance(inspector, LocalInspector)
        self.inspector = inspector

    @property
    def partition(self) -> Partition:
        """The partition of the registry."""
        (partition,) = self.broker.topics.of("_schemas")
        return partition

    def begin(self, method: str, target: str, body: object = None, **headers: str) -> Deferred[Answer]:
        """Ask the application; return its answer when it comes."""
        path, query = read_target(target.encode())
        sent = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        data = b"" if body is None else json.dumps(body).encode()
        return Deferred.fromCoroutine(
            self.parts.application(Call(method, target, path, query, sent, data, self.session, self.client))
        )

    def answered(self, answer: Answer) -> tuple[int, Any]:
        """Return status and body of an answer."""
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        return answer.status, json.loads(body)

    def call(self, method: str, target: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Ask the application; return status and body."""
        return self.answered(self.successResultOf(self.begin(method, target, body, **headers)))

    def ok(self, method: str, target: str, body: object = None) -> Any:
        """Ask for what succeeds; return the body."""
        status, answer = self.call(method, target, body)
        self.assertEqual(status, 200, answer)
        return answer

    def refused(self, code: int, method: str, target: str, body: object = None, **headers: str) -> str:
        """Ask for what fails with a code; return the message."""
        status, answer = self.call(method, target, body, **headers)
        self.assertEqual((answer["error_code"], status), (code, code if code < 1000 else code // 100), answer)
        message: str = answer["message"]
        return message

    def register(self, subject: str, schema: str = A, **members: object) -> Any:
        """Register a schema; return the answer."""
        return self.ok("POST", f"/subjects/{subject}/versions", {"schema": schema, **members})

    def write(self, *records: KeyValue) -> None:
        """Write records into the topic as another program would."""
        self.append(build_keyed(records, self.now_ms))

    def append(self, batch: bytes) -> None:
        """Append a batch as a client's."""
        partition = self.partition
        done = partition.log.append(batch, partition.leader_epoch, self.now_ms, True)
        self.assertFalse(done.error)
        self.broker.replicas.write(partition)
        self.clock.advance(0)
