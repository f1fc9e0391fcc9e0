"""Requests and answers of HTTP."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.calls import Call, WebError, error_answer, read_target


def call(body: bytes = b"", **query: str) -> Call:
    """Make a request with a body of JSON."""
    headers = {"content-type": "application/vnd.schemaregistry.v1+json; charset=utf-8"}
    return Call("POST", "/", (), {name: [value] for name, value in query.items()}, headers, body)


class TargetTests(SynchronousTestCase):
    def test_segments(self) -> None:
        """Segments are decoded one by one: an escaped slash or colon is a part of one."""
        path, query = read_target(b"/subjects/a%2Fb%3Ac%20%C3%BC/versions/?x=1&y&x=2")
        self.assertEqual(path, ("subjects", "a/b:c ü", "versions"))
        self.assertEqual(query, {"x": ["1", "2"], "y": [""]})
        self.assertEqual([read_target(root)[0] for root in (b"/", b"", b"/?a")], [()] * 3)

    def test_unreadable(self) -> None:
        """A target that is not UTF-8, or has too many parameters, is refused."""
        for target in (b"/%ff", b"/\xff", b"/?" + b"&".join([b"a=1"] * 200)):
            self.assertEqual(self.assertRaises(WebError, read_target, target).status, 400)


class CallTests(SynchronousTestCase):
    def test_parameters(self) -> None:
        """Flags are true by their text; numbers may be negative, and nothing else is one."""
        asked = call(a="true", b="TRUE", c="1", n="-5")
        self.assertEqual([asked.flag(name) for name in "abcd"], [True, True, False, False])
        self.assertEqual([asked.number("n", 0), asked.number("none", 7)], [-5, 7])
        for text in ("x", "", "--1", "1.5", "9" * 30, "٣"):
            self.assertEqual(self.assertRaises(WebError, call(n=text).number, "n", 0).status, 404)

    def test_json(self) -> None:
        """A body is JSON, however deep it pretends to be."""
        self.assertEqual(call(b'{"a":1}').json(), {"a": 1})
        for body in (b"", b"{", b"\xff", b"[" * 100_000):
            self.assertEqual(self.assertRaises(WebError, call(body).json).status, 400)

    def test_type(self) -> None:
        """A body must say that it is JSON: pages of other sites can send other types without asking."""
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            asked = Call("POST", "/", (), {}, {"content-type": kind}, b"{}")
            self.assertEqual(self.assertRaises(WebError, asked.json).status, 415)
        self.assertEqual(Call("POST", "/", (), {}, {"content-type": "application/json"}, b"{}").json(), {})

    def test_error(self) -> None:
        """An error has a code and a message in its body."""
        body = error_answer(WebError(404, "no", 40401)).body
        assert isinstance(body, bytes)
        self.assertEqual(json.loads(body), {"error_code": 40401, "message": "no"})
