"""An issuer of tokens, with keys for tests."""

from __future__ import annotations

import functools
import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

NOW_S = 1_700_000_000
ISSUER = "https://issuer.example"


@functools.cache
def ec_key(name: str) -> EllipticCurvePrivateKey:
    """Return a private key; the same name gives the same key."""
    return ec.generate_private_key(ec.SECP256R1())


@functools.cache
def rsa_key() -> RSAPrivateKey:
    """Return a private key of RSA, which takes long to make."""
    return rsa.generate_private_key(65537, 2048)


def claims(**more: Any) -> dict[str, Any]:
    """Return the claims of a good token, changed; None removes one."""
    given = {"sub": "alice", "iss": ISSUER, "aud": "kafka", "iat": NOW_S, "exp": NOW_S + 300, **more}
    return {name: value for name, value in given.items() if value is not None}


def token(key: str = "a", algorithm: str = "ES256", **more: Any) -> str:
    """Return a token that one of the keys has signed."""
    return jwt.encode(claims(**more), ec_key(key), algorithm, {"kid": key})


def public(key: str) -> dict[str, Any]:
    """Return a public key as a set of keys has it."""
    numbers: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec_key(key).public_key()))
    return {**numbers, "kid": key, "use": "sig", "alg": "ES256"}


def key_set(*keys: str) -> bytes:
    """Return a set of public keys."""
    return json.dumps({"keys": [public(key) for key in keys]}).encode()
