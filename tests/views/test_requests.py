"""Requests and results as frames."""

from __future__ import annotations

import json

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.formats.masks import Masks
from kafkatx.views.requests import (
    FRAME,
    Found,
    StepRequest,
    StepResult,
    ViewRequest,
    encode_frame,
    encode_json,
)


class RequestTests(SynchronousTestCase):
    def test_step(self) -> None:
        """A request for a step survives its way through JSON, and its view can be a key of a dict."""
        view = ViewRequest(
            "t", "key == 'a'", "text", "avro", Masks((("a", "b"),), ((),)), (("access-log", "m:F"),), True
        )
        request = StepRequest(view, 1, 2, 3, 4, ((5, 6),), True, 7, True, 8, 9)
        found = StepRequest.read(json.loads(encode_json(attrs.asdict(request))))
        self.assertEqual(found, request)
        self.assertEqual(hash(found.view), hash(view))

    def test_result(self) -> None:
        """A result with its records is the same after its way."""
        result = StepResult(
            9, [Found(5, 7, b'{"a":1}'), Found(6, 8, b"{}")], True, 3, 2, 100, 4, 6, 1, "why", "d", ("id:1",)
        )
        start, body = result.encode()
        head_size, body_size = FRAME.unpack(start[: FRAME.size])
        self.assertEqual((head_size, body_size), (len(start) - FRAME.size, len(body)))
        head = json.loads(start[FRAME.size :])
        self.assertEqual(StepResult.read(head["step"], bytes(body)), result)

    def test_json(self) -> None:
        """Half a character is no error, and line breaks are escaped: an event has one line."""
        self.assertEqual(encode_json("\ud800\n"), b'"?\\n"')
        self.assertEqual(encode_frame({})[0], FRAME.pack(2, 0) + b"{}")
