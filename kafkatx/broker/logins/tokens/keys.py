"""The public keys of an issuer (JWKS, RFC 7517), fetched in a worker and kept.

They are fetched with the first login, and again when they are old; then the old ones count until the new ones
are there. A token with an unknown key has them fetched, too, but not again and again: pauses double.
"""

from __future__ import annotations

import json
import urllib.parse
from functools import partial
from typing import TypeAlias

import attrs
import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.config.listeners import is_loopback
from kafkatx.errors import SettingError
from kafkatx.interfaces import Worker
from kafkatx.security.tokens import OPENER

Key: TypeAlias = object
"""A PyJWK with the one algorithm that it names, or, if it names none (RFC 7517, 4.4), the key itself."""

MOST_BYTES = 1 << 20
"""The largest set of keys."""

FETCH_S = 10.0
"""Seconds to wait for the server."""


@attrs.frozen
class Pauses:
    """Times between two fetches (settings ``sasl.oauthbearer.jwks.endpoint.*``)."""

    refresh_s: float = 3600.0  #: refresh.ms
    first_s: float = 0.1  #: retry.backoff.ms
    longest_s: float = 10.0  #: retry.backoff.max.ms


def check_url(url: str, name: str) -> None:
    """Check the URL of keys.

    :raises SettingError: it is neither https nor file, nor http at this machine.
    """
    parts = urllib.parse.urlsplit(url)
    plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not (plain or (parts.scheme == "https" and parts.hostname) or (parts.scheme == "file" and parts.path)):
        raise SettingError(f"{name}={url}: it must be https://, file://, or http:// at this machine")


def fetch(url: str) -> dict[str, Key]:
    """Return the keys that sign, by name ("" without one); this blocks.

    :raises OSError: the server does not answer, or the file cannot be read.
    :raises ValueError: what comes is no set of keys.
    """
    with OPENER.open(url, timeout=FETCH_S) as reply:
        data = reply.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return parse(data)


def parse(data: bytes) -> dict[str, Key]:
    """Return the public keys in a set, by name; those of other kinds are skipped.

    :raises ValueError: it is no set of keys, or has none that can be used.
    """
    try:
        listed = json.loads(data)["keys"]
        items = [item for item in listed if isinstance(item, dict)]
    except (KeyError, TypeError, RecursionError):
        raise ValueError("it is no set of keys") from None
    keys = {}
    for item in items:
        if item.get("use", "sig") != "sig" or item.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        try:
            key = jwt.PyJWK(item)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, UnsupportedAlgorithm):
            continue  # of a curve or an algorithm, for example, that the library does not have
        keys[str(item.get("kid", ""))] = key if "alg" in item else key.key
    if not keys:
        raise ValueError("it has no public key that can be used")
    return keys


class Keys:
    """The keys of one issuer."""

    _log = Logger()

    def __init__(self, url: str, pauses: Pauses, worker: Worker, clock: IReactorTime) -> None:
        self._url = url
        self._pauses = pauses
        self._worker = worker
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._fetched_s = float("-inf")
        self._not_before_s = float("-inf")
        self._pause_s = pauses.first_s
        self._waiting: list[Deferred[None]] | None = None

    async def find(self, name: str | None) -> Key | None:
        """Return the key of a name, or the only key if a token names none; None if it is not there."""
        key = self._known(name)
        if key is None:
            await self._refresh()
            return self._known(name)
        if self._clock.seconds() - self._fetched_s >= self._pauses.refresh_s:
            Deferred.fromCoroutine(self._refresh())
        return key

    def _known(self, name: str | None) -> Key | None:
        if name is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(name)

    async def _refresh(self) -> None:
        """Fetch the keys, or wait for those that are being fetched, unless that was tried a moment ago."""
        if self._waiting is not None:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting
            return
        now_s = self._clock.seconds()
        if now_s < self._not_before_s:
            return
        if now_s - self._not_before_s > self._pauses.longest_s:
            self._pause_s = self._pauses.first_s
        self._waiting = []
        try:
            self._keys = await self._worker(partial(fetch, self._url))
            self._fetched_s = self._clock.seconds()
        except Exception as error:
            self._log.error(
                "the keys of tokens at {url} cannot be fetched: {error}", url=self._url, error=error
            )
        self._not_before_s = self._clock.seconds() + self._pause_s
        self._pause_s = min(2 * self._pause_s, self._pauses.longest_s)
        waited, self._waiting = self._waiting, None
        for each in waited:
            each.callback(None)
