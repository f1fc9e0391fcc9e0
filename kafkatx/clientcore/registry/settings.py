"""The settings of a registry's client as a value: addresses, the login, and those of TLS."""

from __future__ import annotations

import base64
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

import attrs

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import registry as table
from kafkatx.config.table.row import Setting
from kafkatx.config.table.security import tls
from kafkatx.errors import SettingError

T = TypeVar("T")


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
class RegistryTls:
    """The settings of TLS to a registry: ``schema.registry.ssl.*``, or ``ssl.*`` if none of those is set.

    They are read as :class:`kafkatx.tls.settings.Values`, by the rows of ``ssl.*``.
    """

    _settings: ClientSettings

    def _has_own(self) -> bool:
        return any(self._settings.is_set(row) for row in table.OWN_TLS.values())

    @property
    def given(self) -> bool:
        """True if any of them is set."""
        return self._has_own() or any(self._settings.is_set(row) for row in tls.SHARED.settings)

    def __getitem__(self, setting: Setting[T], /) -> T:
        row: Setting[Any] = table.OWN_TLS[setting.name] if self._has_own() else setting
        value: T = self._settings[row]
        return value


def _default_tls() -> RegistryTls:
    return RegistryTls(ClientSettings.load("producer"))


@attrs.frozen
class RegistrySettings:
    """The addresses of a registry, and how long to wait for it."""

    addresses: tuple[Address, ...]
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 60.0
    capacity: int = 1000
    tls: RegistryTls = attrs.Factory(_default_tls)

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
            RegistryTls(settings),
        )

    @property
    def uses_tls(self) -> bool:
        """True if an address is one of https."""
        return any(address.tls for address in self.addresses)


@attrs.frozen
class Login:
    """The login that settings give.

    :ivar authorization: the value of ``Authorization``.
    :ivar user: the user; None with a token.
    """

    authorization: str = attrs.field(repr=False)
    user: str | None = None


def parse_address(url: str, login: Login | None = None) -> Address:
    """Return the address in a URL, which may have a user and a password.

    :param login: it counts before a password in the URL; None: there is none.
    :raises SettingError: it is no URL of HTTP, its user has no password, or is another one than the login's.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingError(f"{table.URL.name}={without_login(url)}: the value must be http://HOST:PORT")
    encrypted = parts.scheme == "https"
    authorization = _authorization(parts, login)
    path = parts.path.rstrip("/")
    return Address(parts.hostname, port or (443 if encrypted else 80), encrypted, path, authorization)


def _authorization(parts: SplitResult, login: Login | None) -> str:
    """Return the value of ``Authorization`` for an address."""
    user = None if parts.username is None else unquote(parts.username)
    if login is not None:
        if user is not None and parts.password is None and login.user not in (None, user):
            raise SettingError(
                f"{table.URL.name}: the user {user} of an address is not that of {table.USER_INFO.name}"
            )
        return login.authorization
    if user is None:
        return ""
    if parts.password is None:
        raise SettingError(
            f"{table.URL.name}: the user {user} has no password: set {table.USER_INFO.name}={user}:PASSWORD"
        )
    return basic(f"{user}:{unquote(parts.password)}")


def without_login(url: str) -> str:
    """Return a URL without user and password, for messages."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def basic(user_info: str) -> str:
    """Return the value of ``Authorization`` for ``user:password``."""
    return f"Basic {base64.b64encode(user_info.encode()).decode()}"


def _login(settings: ClientSettings) -> Login | None:
    token, user_info = settings[table.BEARER_TOKEN], settings[table.USER_INFO]
    if token and user_info:
        raise SettingError(f"{table.USER_INFO.name} and {table.BEARER_TOKEN.name} exclude each other")
    if token:
        return Login(f"Bearer {token}")
    if user_info is None:
        return None
    user, colon, _ = user_info.partition(":")
    if not colon:
        raise SettingError(f"{table.USER_INFO.name}: the value must be user:password")
    return Login(basic(user_info), user)
