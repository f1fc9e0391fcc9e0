"""Tokens: the good one, and what is wrong with others."""

from __future__ import annotations

import base64
import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.tokens.validator import (
    MOST_BYTES,
    TokenRefused,
    TokenRules,
    TokenValidator,
    key_id,
)
from kafkatx.security.identity import Identity
from tests.broker.logins.tokens.issuer import ISSUER, NOW_S, claims, ec_key, public, rsa_key, token


def encoded(part: object) -> str:
    """Return a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def changed(more: dict[str, Any]) -> str:
    """Return a token with changed claims."""
    return token(**more)


class ValidatorTestCase(SynchronousTestCase):
    rules = TokenRules(ISSUER, ("other", "kafka"))

    def validate(self, text: str, key: jwt.PyJWK | None = None) -> Identity:
        """Validate a token with the key ``a``, or another one."""
        return TokenValidator(self.rules, lambda: NOW_S * 1000).validate(text, key or jwt.PyJWK(public("a")))

    def refused(self, text: str, told: str, key: jwt.PyJWK | None = None) -> None:
        """Check that a token is refused, for a reason."""
        self.assertIn(told, str(self.assertRaises(TokenRefused, self.validate, text, key)))


class ClaimTests(ValidatorTestCase):
    def test_good(self) -> None:
        """A good token gives the user, until it expires."""
        expected = Identity("alice", (NOW_S + 300) * 1000)
        for more in ({}, {"aud": ["x", "kafka"]}, {"scope": "a b"}, {"scope": ["a"]}, {"iat": None}):
            self.assertEqual(self.validate(token(**more)), expected)
        self.assertEqual(self.validate(token(exp=NOW_S + 0.5)).expires_at_ms, NOW_S * 1000 + 500)

    def test_times(self) -> None:
        """Times may differ by the tolerance, and have to be times."""
        for name, time in (("exp", NOW_S - 29), ("nbf", NOW_S + 29), ("iat", NOW_S + 29)):
            self.validate(changed({name: time}))
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({"exp": NOW_S - 30}, "it has expired 30 s ago"),
            ({"exp": None}, "no claim exp"),
            ({"exp": True}, "exp is no time"),
            ({"exp": 1e300}, "exp is no time"),
            ({"exp": -1}, "exp is no time"),
            ({"nbf": NOW_S + 31}, "nbf is 31 s in the future"),
            ({"iat": NOW_S + 31}, "iat is 31 s in the future"),
        )
        for more, told in wrong:
            self.refused(token(**more), told)
        for text in ("x", "NaN", "1" * 500):
            forged = jwt.api_jws.PyJWS().encode(
                json.dumps(claims()).replace(str(NOW_S + 300), text if text != "x" else '"x"').encode(),
                ec_key("a"),
                "ES256",
            )
            self.assertRaises(TokenRefused, self.validate, forged)

    def test_origin(self) -> None:
        """Issuer and audience have to be those of the settings, if these have any."""
        for more, told in (
            ({"iss": "https://evil.example"}, "another issuer"),
            ({"iss": None}, "another issuer"),
            ({"aud": "kafka2"}, "another audience"),
            ({"aud": None}, "another audience"),
            ({"aud": {"kafka": 1}}, "another audience"),
        ):
            self.refused(token(**more), told)
        self.rules = TokenRules()
        self.validate(token(iss=None, aud=None))

    def test_user(self) -> None:
        """The user is text, in the claim that the settings name."""
        for user in (None, "", " "):
            self.refused(token(sub=user), "no claim sub")
        forged = jwt.api_jws.PyJWS().encode(json.dumps(claims(sub=["alice"])).encode(), ec_key("a"), "ES256")
        self.assertRaises(TokenRefused, self.validate, forged)
        self.rules = TokenRules(user_claim="name")
        self.assertEqual(self.validate(token(name="bob")).name, "bob")
        self.refused(token(name="bob", scope=5), "scope is neither text nor a list")


class SignatureTests(ValidatorTestCase):
    def test_other_key(self) -> None:
        """A token that another key has signed is refused, and so is a changed one."""
        self.refused(token("b"), "its signature does not count")
        head, _, end = token().split(".")
        self.refused(f"{head}.{encoded(claims(sub='admin'))}.{end}", "its signature does not count")
        self.refused(f"{head}.{encoded(claims())}.", "its signature does not count")

    def test_rsa(self) -> None:
        """RSA counts as well; a token cannot choose the kind of a key."""
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key().public_key()))
        self.assertEqual(
            self.validate(jwt.encode(claims(), rsa_key(), "PS256"), jwt.PyJWK(key, "PS256")).name, "alice"
        )
        self.refused(token(), "its signature does not count", jwt.PyJWK(key, "RS256"))

    def test_no_signature(self) -> None:
        """``none`` in any writing, and secrets that all know, do not count."""
        pem = ec_key("a").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        secret = base64.urlsafe_b64encode(pem)
        for algorithm in ("none", "None", "NONE", "HS256", "", None, ["ES256"], "ES256 "):
            text = f"{encoded({'alg': algorithm, 'kid': 'a'})}.{encoded(claims())}."
            for end in ("", secret.decode()):
                self.assertRaises(TokenRefused, key_id, text + end)
                self.assertRaises(TokenRefused, self.validate, text + end)
        forged = jwt.encode(claims(), b"x" * 32, "HS256")
        self.assertRaises(TokenRefused, key_id, forged)
        self.refused(forged, "its signature does not count")

    def test_key_id(self) -> None:
        """A token names its key, or none."""
        self.assertEqual(key_id(token()), "a")
        self.assertIsNone(key_id(jwt.encode(claims(), ec_key("a"), "ES256")))

    def test_garbage(self) -> None:
        """Texts that are no token, or too long for one, are refused."""
        for text in (
            "",
            ".",
            "..",
            "a.b.c",
            token()[:20],
            token() + "." + token(),
            "x" * (MOST_BYTES + 1),
            "é.b.c",
        ):
            self.assertRaises(TokenRefused, key_id, text)
        deep = (
            encoded({"alg": "ES256"})
            + "."
            + base64.urlsafe_b64encode(b"[" * 40_000).decode().rstrip("=")
            + ".x"
        )
        self.assertRaises(TokenRefused, self.validate, deep)

    def test_damage(self) -> None:
        """No changed letter of a token makes another user of it."""
        text = token()
        for at in range(0, len(text), 3):
            other = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
            try:
                key_id(other)
                found: Any = self.validate(other)
            except TokenRefused:
                continue
            self.assertEqual(found.name, "alice")  # the last letter of a part has bits without a meaning
