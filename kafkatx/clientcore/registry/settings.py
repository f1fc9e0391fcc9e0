"""The settings of a registry's client as a value: addresses and the login."""

from __future__ import annotations

import base64
from urllib.parse import unquote, urlsplit

import attrs

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import registry as table
from kafkatx.errors import SettingError


@attrs.frozen
class Address:
    """One registry.

    :ivar path: before the paths of requests; empty as a rule.
    :ivar authorization: the value of the header ``Authorization``; empty: none.
    """

    host: str
    port: int
    tls: bool = False
    path: str = ""
    authorization: str = attrs.field(default="", repr=False)

    @property
    def url(self) -> str:
        """The address without the login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.tls else ''}://{host}:{self.port}{self.path}"


@attrs.frozen
class RegistrySettings:
    """The addresses of a registry, and how long to wait for it."""

    addresses: tuple[Address, ...]
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 60.0
    capacity: int = 1000

    @classmethod
    def of(cls, settings: ClientSettings) -> RegistrySettings:
        """Read the settings of a client.

        :raises SettingError: there is no address, or one is wrong.
        """
        if not settings[table.URL]:
            raise SettingError(
                f"{table.URL.name} is not set: it is the address of a schema registry, http://HOST:PORT"
            )
        login = _login(settings)
        return cls(
            tuple(parse_address(url, login) for url in settings[table.URL]),
            settings[table.CONNECT_TIMEOUT_MS] / 1000,
            settings[table.READ_TIMEOUT_MS] / 1000,
            settings[table.CACHE_CAPACITY],
        )


def parse_address(url: str, login: str = "") -> Address:
    """Return the address in a URL, which may have a user and a password.

    :param login: the value of ``Authorization`` if the URL has none.
    :raises SettingError: it is no URL of HTTP.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingError(f"{table.URL.name}={url}: the value must be http://HOST:PORT")
    tls = parts.scheme == "https"
    if not login and parts.username is not None:
        login = basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return Address(parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"), login)


def basic(user_info: str) -> str:
    """Return the value of ``Authorization`` for ``user:password``."""
    return f"Basic {base64.b64encode(user_info.encode()).decode()}"


def _login(settings: ClientSettings) -> str:
    token, user_info = settings[table.BEARER_TOKEN], settings[table.USER_INFO]
    if token and user_info:
        raise SettingError(f"{table.USER_INFO.name} and {table.BEARER_TOKEN.name} exclude each other")
    if token:
        return f"Bearer {token}"
    if user_info is not None and ":" not in user_info:
        raise SettingError(f"{table.USER_INFO.name}: the value must be user:password")
    return "" if user_info is None else basic(user_info)
