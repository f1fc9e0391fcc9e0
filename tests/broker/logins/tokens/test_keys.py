"""The keys of an issuer: fetched, kept, fetched again."""

from __future__ import annotations

import json
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.tokens import keys as module
from kafkatx.broker.logins.tokens.keys import Keys, Pauses, fetch, parse
from kafkatx.broker.logins.tokens.validator import TokenRefused, TokenRules, TokenValidator
from tests.broker.logins.tokens.issuer import NOW_S, claims, key_set, public, rsa_key, token


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

    def test_unsupported(self) -> None:
        """A key of a curve that the library does not have is skipped."""

        def refuse(item: object) -> object:
            raise UnsupportedAlgorithm("curve")

        self.patch(jwt, "PyJWK", refuse)
        self.assertRaises(ValueError, parse, key_set("a"))

    def test_no_algorithm(self) -> None:
        """A key that names no algorithm checks tokens of each that it fits, and no others."""
        numbers = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))
        (key,) = parse(json.dumps({"keys": [{**numbers, "kid": "r"}]}).encode()).values()
        validator = TokenValidator(TokenRules(), lambda: NOW_S * 1000)
        for algorithm in ("RS256", "RS512", "PS384"):
            signed = jwt.encode(claims(), rsa_key(), algorithm, {"kid": "r"})
            self.assertEqual(validator.validate(signed, key).name, "alice")
        self.assertRaises(TokenRefused, validator.validate, token(), key)
        (named,) = parse(json.dumps({"keys": [{**numbers, "alg": "RS256"}]}).encode()).values()
        signed = jwt.encode(claims(), rsa_key(), "RS512")
        self.assertRaises(TokenRefused, validator.validate, signed, named)

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

    def find(self, name: str | None) -> Deferred[object]:
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
