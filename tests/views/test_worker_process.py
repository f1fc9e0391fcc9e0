"""The process that decodes and encodes messages, and attacks on it."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import SchemaType
from kafkatx.views.requests import (
    FRAME,
    StepRequest,
    StepResult,
    Typed,
    ViewRequest,
    encode_frame,
    encode_request,
)
from kafkatx.views.worker_process import MOST_VIEWS, Performer, serve
from tests.views.formats.test_registered import described, message
from tests.views.test_rows import batch


def request(view: ViewRequest, data: bytes, schemas: Any = None, is_last: bool = False) -> bytes:
    """Return the frame of a request for a step."""
    step = StepRequest(view, 0, 0, 100, 100)
    return b"".join(map(bytes, encode_frame(encode_request(step, schemas or {}, is_last), data)))


def encoding(key: Typed, value: Typed, schemas: Any = None) -> bytes:
    """Return the frame of a request for an encoding."""
    head = {"encode": [attrs.asdict(key), attrs.asdict(value)], "schemas": schemas or {}}
    return b"".join(map(bytes, encode_frame(head)))


def answers(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """Return head and body of each answer."""
    found, source = [], BytesIO(data)
    while start := source.read(FRAME.size):
        head_size, body_size = FRAME.unpack(start)
        found.append((json.loads(source.read(head_size)), source.read(body_size)))
    return found


class PerformerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a performer."""
        self.performer = Performer()

    def ask(self, *requests: bytes) -> list[tuple[dict[str, Any], bytes]]:
        """Send requests, and return the answers."""
        target = BytesIO()
        serve(BytesIO(b"".join(requests)), target, self.performer)
        return answers(target.getvalue())

    def test_step(self) -> None:
        """A step is performed, and schemas are kept for the next."""
        data = batch(0, [message(SchemaType.AVRO, {"id": 5, "who": "a"})])
        view = ViewRequest("t", "value.id == 5")
        schemas = {"id:7": described(SchemaType.AVRO)}
        first, second, third = (
            StepResult.read(head["step"], body)
            for head, body in self.ask(request(view, data), request(view, data, schemas), request(view, data))
        )
        self.assertEqual(first.missing, ("id:7",))
        self.assertEqual((second.matched, third.matched), (1, 1))
        self.assertIn(b'"id":7', third.found[0].data)

    def test_last_attempt(self) -> None:
        """In the last attempt a missing schema is a fault of its message."""
        data = batch(0, [message(SchemaType.AVRO, {"id": 5, "who": "a"})])
        ((head, body),) = self.ask(request(ViewRequest("t"), data, is_last=True))
        self.assertIn(b"was not looked up", StepResult.read(head["step"], body).found[0].data)

    def test_wrong(self) -> None:
        """A wrong request is answered with an error, and the next one is served."""
        wrong = request(ViewRequest("t", "1 +"), b"")
        other = request(ViewRequest("t", value_format="xml"), b"")
        broken = b"".join(map(bytes, encode_frame({"step": {}, "schemas": {}, "isLast": True})))
        errors = [head["error"] for head, _ in self.ask(wrong, other, broken)]
        self.assertIn("filter, line 1", errors[0])
        self.assertIn("no format 'xml'", errors[1])
        self.assertIn("KeyError", errors[2])

    def test_encoding(self) -> None:
        """A key and a value are encoded; null is told apart from nothing."""
        ((head, body),) = self.ask(encoding(Typed("text", None), Typed("hex", "00ff")))
        self.assertEqual((head["sizes"], body), ([None, 2], b"\0\xff"))
        ((head, body),) = self.ask(encoding(Typed("text", ""), Typed("text", "a")))
        self.assertEqual((head["sizes"], body), ([0, 1], b"a"))
        ((head, body),) = self.ask(encoding(Typed("text", "a"), Typed("int", "a")))
        self.assertIn("the value is no int", head["error"])

    def test_views(self) -> None:
        """Compiled views are bounded in number."""
        self.ask(*(request(ViewRequest("t", f"offset == {n}"), b"") for n in range(MOST_VIEWS + 5)))
        self.assertLessEqual(len(self.performer._views), MOST_VIEWS)

    def test_cut(self) -> None:
        """A request that is cut off ends the process's work."""
        self.assertEqual(self.ask(request(ViewRequest("t"), b"abc")[:-1]), [])


class ProcessTests(SynchronousTestCase):
    def test_process(self) -> None:
        """The process answers over its pipes, without Twisted, and ends when its input does."""
        done = subprocess.run(
            [sys.executable, "-m", "kafkatx.views.worker_process"],
            input=request(ViewRequest("t", "value.n > 5"), batch(0, [b'{"n":%d}' % n for n in range(10)])),
            capture_output=True,
            check=True,
        )
        ((head, _),) = answers(done.stdout)
        self.assertEqual((head["step"]["matched"], head["step"]["position"], done.stderr), (4, 10, b""))
        code = "import sys, kafkatx.views.worker_process; sys.exit('twisted' in sys.modules)"
        self.assertEqual(subprocess.call([sys.executable, "-c", code]), 0)
