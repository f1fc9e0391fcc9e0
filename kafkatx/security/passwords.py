"""Hashes of passwords (scrypt, RFC 7914), and the file of users that has them.

A line of the file is ``NAME:HASH``; a hash is ``$scrypt$ln=14,r=8,p=1$SALT$KEY`` with salt and key in base64
without padding (the PHC string format). Names have no colon.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping

COST, BLOCK, PARALLEL = 14, 8, 1
"""Parameters of new hashes: 16 MiB of memory, and about 50 ms."""

MOST_BYTES = 256 << 20
"""Memory that checking one password may take."""

_HASH = re.compile(
    r"\$scrypt\$ln=(?P<ln>[0-9]{1,2}),r=(?P<r>[0-9]{1,3}),p=(?P<p>[0-9]{1,2})"
    r"\$(?P<salt>[A-Za-z0-9+/]{8,200})\$(?P<key>[A-Za-z0-9+/]{16,200})"
)


class HashError(Exception):
    """A hash, or a line of a file of users, cannot be read; the message has no part of it."""


def hash_password(password: str, salt: bytes | None = None) -> str:
    """Return the hash of a password; it takes long, on purpose."""
    salt = secrets.token_bytes(16) if salt is None else salt
    key = _scrypt(password, salt, COST, BLOCK, PARALLEL, 32)
    return f"$scrypt$ln={COST},r={BLOCK},p={PARALLEL}${_encode(salt)}${_encode(key)}"


def check_password(password: str, hashed: str) -> bool:
    """Return True if the password has this hash; it takes as long as making the hash did.

    :raises HashError: the hash is malformed, or needs more memory than ``MOST_BYTES``.
    """
    match = _parsed(hashed)
    key = _decode(match["key"])
    found = _scrypt(
        password, _decode(match["salt"]), int(match["ln"]), int(match["r"]), int(match["p"]), len(key)
    )
    return hmac.compare_digest(found, key)


def read_users(text: str) -> dict[str, str]:
    """Return the hash of each user of a file; empty lines and those that begin with ``#`` are skipped.

    :raises HashError: a line is malformed, or names a user again; the message has its number.
    """
    users: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _colon, hashed = line.strip().partition(":")
        if not name or name in users:
            raise HashError(f"line {number}: {'the user is there twice' if name else 'no name of a user'}")
        try:
            _parsed(hashed)
        except HashError as error:
            raise HashError(f"line {number}: {error}") from None
        users[name] = hashed
    return users


def format_users(users: Mapping[str, str]) -> str:
    """Return the text of a file of users."""
    return "".join(f"{line}\n" for line in _lines(users))


def _lines(users: Mapping[str, str]) -> Iterable[str]:
    yield "# Users of kafkatx and scrypt hashes of their passwords: see kafkatx users add --file"
    for name, hashed in sorted(users.items()):
        yield f"{name}:{hashed}"


def _parsed(hashed: str) -> re.Match[str]:
    match = _HASH.fullmatch(hashed)
    if match is None:
        raise HashError("the hash must have the form $scrypt$ln=14,r=8,p=1$SALT$KEY")
    if not 1 <= int(match["ln"]) <= 24 or 128 * int(match["r"]) << int(match["ln"]) > MOST_BYTES:
        raise HashError(f"the hash needs more than {MOST_BYTES >> 20} MiB of memory")
    if not int(match["r"]) or not 1 <= int(match["p"]) <= 16:
        raise HashError("the hash has wrong parameters")
    return match


def _scrypt(password: str, salt: bytes, ln: int, r: int, p: int, size: int) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=1 << ln, r=r, p=p, dklen=size, maxmem=2 * MOST_BYTES
    )


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4))
