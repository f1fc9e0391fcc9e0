"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): the messages, and both ends of the exchange.

::

    client first    n,,n=user,r=nonce
    server first    r=nonce and the server's,s=salt,i=iterations
    client final    c=biws,r=both nonces,p=proof
    server final    v=signature, or e=error

Channel binding is not supported. A name has ``=2C`` for a comma and ``=3D`` for an equals sign; as in Apache
Kafka, names and passwords are UTF-8 without SASLprep.
"""

from __future__ import annotations

import hmac
import re

from kafkatx.security.sasl.credential import ScramCredential, ScramMechanism, decode64, encode64
from kafkatx.security.sasl.errors import SaslError

MOST_ITERATIONS = 1 << 17
"""Iterations above which a client refuses: a server could keep it busy for minutes."""

_NONCE = r"[!-+\--~]+"
_BASE64 = r"[A-Za-z0-9+/=]+"
_FIRST = re.compile(
    r"(?P<header>[ny],(?:a=(?P<authzid>[^,]+))?,)"
    rf"(?P<bare>n=(?P<user>[^,]+),r=(?P<nonce>{_NONCE})(?P<more>,.+)?)"
)
_CHALLENGE = re.compile(rf"r=({_NONCE}),s=({_BASE64}),i=([0-9]{{1,9}})(?:,.*)?")
_FINAL = re.compile(rf"(?P<bare>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE})),p=(?P<proof>{_BASE64})")
_ESCAPE = re.compile(r"=(?!2C|3D)")


class ScramServer:
    """A server's end of one exchange: :meth:`first`, :meth:`challenge`, :meth:`final`, in this order.

    :param nonce: random printable text without commas.
    """

    def __init__(self, mechanism: ScramMechanism, nonce: str) -> None:
        self.mechanism = mechanism
        self._nonce = nonce
        self._header = self._first_bare = self._challenge = ""
        self._credential: ScramCredential | None = None

    def first(self, token: bytes) -> str:
        """Read the client's first message; return the name of the user.

        :raises SaslError: it is malformed, asks for something that is not supported, or asks to act for
            another user.
        """
        match = _FIRST.fullmatch(_text(token))
        if match is None:
            raise SaslError("the client's first message is malformed, or asks for channel binding")
        user = _name(match["user"])
        if match["authzid"] is not None and _name(match["authzid"]) != user:
            raise SaslError("the client asks to act for another user than the one it logs in as")
        if match["more"]:
            raise SaslError("delegation tokens and other extensions are not supported")
        self._header, self._first_bare = match["header"], match["bare"]
        self._nonce = match["nonce"] + self._nonce
        return user

    def challenge(self, credential: ScramCredential) -> bytes:
        """Return the server's first message."""
        self._credential = credential
        self._challenge = f"r={self._nonce},s={encode64(credential.salt)},i={credential.iterations}"
        return self._challenge.encode()

    def final(self, token: bytes) -> bytes:
        """Check the client's proof; return the server's last message.

        :raises SaslError: the proof is wrong, or the message malformed.
        """
        match, credential = _FINAL.fullmatch(_text(token)), self._credential
        if match is None or credential is None:
            raise SaslError("the client's final message is malformed")
        try:
            binding, proof = decode64(match["binding"]), decode64(match["proof"])
        except ValueError:
            raise SaslError("the client's final message is malformed") from None
        if not match["nonce"].endswith(self._nonce):  # librdkafka before 2.6 puts its own in front, again
            raise SaslError("the nonce is not that of this exchange")
        if binding != self._header.encode():
            raise SaslError("the channel binding is not that of the first message")
        self._credential = None
        message = f"{self._first_bare},{self._challenge},{match['bare']}".encode()
        mechanism = self.mechanism
        signature = mechanism.hmac(credential.stored_key, message)
        if len(proof) != len(signature) or not hmac.compare_digest(
            mechanism.digest(_xor(proof, signature)), credential.stored_key
        ):
            raise SaslError("the password is wrong")
        return f"v={encode64(mechanism.hmac(credential.server_key, message))}".encode()


class ScramClient:
    """A client's end of one exchange: :meth:`first`, then :meth:`step` with each message of the server.

    :param nonce: random printable text without commas.
    :param salted: salted passwords by (salt, iterations), which exchanges of one user may share: finding one
        takes milliseconds.
    """

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        nonce: str,
        salted: dict[tuple[bytes, int], bytes] | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._salted = {} if salted is None else salted
        self._bare = f"n={_escaped(user)},r={nonce}"
        self._signature: bytes | None = None

    def first(self) -> bytes:
        """Return the client's first message."""
        return f"n,,{self._bare}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Take a message of the server; return the answer, or None if the server has proved itself.

        :raises SaslError: the server refuses, does not know the password, or its message is malformed.
        """
        text = _text(challenge)
        if self._signature is None:
            return self._answer(text)
        if text.startswith("e="):
            raise SaslError(f"the server refuses: {text[2:][:200]}")
        try:
            given = decode64(text.removeprefix("v=").partition(",")[0])
        except ValueError:
            given = b""
        if not text.startswith("v=") or not hmac.compare_digest(given, self._signature):
            raise SaslError("the server does not know the password: it is not the one that it pretends to be")
        return None

    def _answer(self, text: str) -> bytes:
        if text.startswith("e="):
            raise SaslError(f"the server refuses: {text[2:][:200]}")
        match = _CHALLENGE.fullmatch(text)
        if match is None:
            raise SaslError("the server's first message is malformed")
        nonce, iterations = match[1], int(match[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError("the server's nonce is not an answer to ours")
        if not 4096 <= iterations <= MOST_ITERATIONS:
            raise SaslError(
                f"the server asks for {iterations} iterations; at least 4096 and at most {MOST_ITERATIONS}"
                " are accepted"
            )
        try:
            salt = decode64(match[2])
        except ValueError:
            raise SaslError("the server's first message is malformed") from None
        return self._proof(nonce, text, self._salted_password(salt, iterations))

    def _salted_password(self, salt: bytes, iterations: int) -> bytes:
        known = self._salted.get((salt, iterations))
        if known is None:
            known = self._mechanism.salted_password(self._password, salt, iterations)
            self._salted.clear()
            self._salted[salt, iterations] = known
        return known

    def _proof(self, nonce: str, challenge: str, salted: bytes) -> bytes:
        mechanism = self._mechanism
        client_key = mechanism.hmac(salted, b"Client Key")
        bare = f"c=biws,r={nonce}"
        message = f"{self._bare},{challenge},{bare}".encode()
        proof = _xor(client_key, mechanism.hmac(mechanism.digest(client_key), message))
        self._signature = mechanism.hmac(mechanism.hmac(salted, b"Server Key"), message)
        return f"{bare},p={encode64(proof)}".encode()


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise SaslError("a message is not UTF-8") from None


def _name(escaped: str) -> str:
    if _ESCAPE.search(escaped):
        raise SaslError("the name of the user has a wrong escape")
    return escaped.replace("=2C", ",").replace("=3D", "=")


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
