"""The keys of an issuer: fetched, kept, fetched again."""

from __future__ import annotations

import json
from typing import Any

import jwt
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.tokens import keys as module
from kafkatx.broker.logins.tokens.keys import Keys, Pauses, fetch, parse
from tests.broker.logins.tokens.issuer import key_set, public


class ParseTests(SynchronousTestCase):
    def test_keys(self) -> None:
        """Public keys that sign are taken; secrets, keys of other uses and unknown kinds are not."""
        more = [
            {**public("b"), "use": "enc"},
            {"kty": "oct", "k": "c2VjcmV0", "kid": "secret"},
            {"kty": "EC", "kid": "damaged"},
            {"kty": "EC", "crv": "P-999", "x": "", "y": "", "kid": "unknown"},
            5,
        ]
        self.assertEqual(list(parse(json.dumps({"keys": [public("a"), *more]}).encode())), ["a"])

    def test_wrong(self) -> None:
        """Data that are no set of keys, or have none, are an error."""
        for data in (b"", b"[]", b"{}", b'{"keys": 5}', b'{"keys": []}', b"\xff", b"[" * 100_000):
            self.assertRaises(ValueError, parse, data)

    def test_fetch(self) -> None:
        """A file has keys, unless it is too long."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(key_set("a", "b"))
        self.assertEqual(set(fetch(f"file:{path}")), {"a", "b"})
        self.patch(module, "MOST_BYTES", 10)
        self.assertRaises(ValueError, fetch, f"file:{path}")
        self.assertRaises(OSError, fetch, "file:///no/such/file")


class KeysTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keys whose fetches the test answers."""
        self.clock = Clock()
        self.fetches: list[Deferred[Any]] = []
        self.keys = Keys("https://issuer", Pauses(100.0, 1.0, 4.0), self.work, self.clock)

    def work(self, function: Any) -> Deferred[Any]:
        """Begin a fetch."""
        self.fetches.append(Deferred())
        return self.fetches[-1]

    def find(self, name: str | None) -> Deferred[jwt.PyJWK | None]:
        """Look a key up."""
        return Deferred.fromCoroutine(self.keys.find(name))

    def answer(self, *names: str) -> None:
        """Answer the last fetch."""
        self.fetches[-1].callback(parse(key_set(*names)))

    def test_first(self) -> None:
        """The first logins share one fetch; later ones need none."""
        waiting = [self.find("a"), self.find("b"), self.find("c")]
        self.assertEqual(len(self.fetches), 1)
        self.answer("a", "b")
        self.assertEqual([self.successResultOf(one) is not None for one in waiting], [True, True, False])
        self.assertIsNotNone(self.successResultOf(self.find("a")))
        self.assertEqual(len(self.fetches), 1)

    def test_no_name(self) -> None:
        """A token without a key's name is for the only key."""
        waiting = self.find(None)
        self.answer("a")
        self.assertIsNotNone(self.successResultOf(waiting))
        self.clock.advance(50)
        self.find("b")
        self.answer("a", "b")
        self.clock.advance(50)
        waiting = self.find(None)
        self.answer("a", "b")
        self.assertIsNone(self.successResultOf(waiting))

    def test_old(self) -> None:
        """Old keys count until the new ones are there, also if these cannot be fetched."""
        self.find("a")
        self.answer("a")
        self.clock.advance(100)
        self.assertIsNotNone(self.successResultOf(self.find("a")))
        self.assertEqual(len(self.fetches), 2)
        with capturedLogs() as logged:
            self.fetches[-1].errback(OSError("away"))
        self.assertIn(
            "the keys of tokens at https://issuer cannot be fetched: away",
            str(logged[0]["log_format"].format(**logged[0])),
        )
        self.assertIsNotNone(self.successResultOf(self.find("a")))
        self.clock.advance(2)
        self.find("a")
        self.answer("b")
        self.assertIsNone(self.successResultOf(self.find("a")))

    def test_unknown(self) -> None:
        """Tokens with unknown keys have the keys fetched, with pauses that double; then nothing waits."""
        self.find("x")
        self.answer("a")
        times = []
        for _ in range(160):
            before = len(self.fetches)
            looking = self.find("x")
            if len(self.fetches) > before:
                times.append(self.clock.seconds())
                self.answer("a")
            self.assertIsNone(self.successResultOf(looking))
            self.clock.advance(0.1)
        self.assertEqual([round(time) for time in times], [1, 3, 7, 11, 15])
