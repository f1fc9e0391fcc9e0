"""The settings of a connection to ZooKeeper. Reads the keystores and JAAS files that settings name."""

from __future__ import annotations

import importlib.util
import ssl
from typing import Protocol, TypeVar

from attrs import evolve, field, frozen

from kafkatx.config import BrokerConfig, Setting
from kafkatx.config.table import zookeeper as z
from kafkatx.errors import SettingError
from kafkatx.metadata.tree.zookeeper.jaas import read_credentials
from kafkatx.security.jaas import JaasError
from kafkatx.tls.extra import check_installed

T = TypeVar("T")

_STORES = (b"\x30", b"\xfe", b"\xce")
"""The first byte of PKCS12, JKS and JCEKS."""


class Values(Protocol):
    """The values of settings, of a broker or of a client."""

    def __getitem__(self, setting: Setting[T], /) -> T:
        """Return the value of a setting."""


@frozen
class ZooKeeperSettings:
    """Servers, chroot, time-outs and credentials of a connection to ZooKeeper.

    :ivar connect: ``HOST:PORT,HOST:PORT/chroot``; the chroot is optional, and made if it is missing.
    :ivar session_timeout_s: time-out of sessions to ask for; the server bounds it.
    :ivar connection_timeout_s: how long to try to start a session.
    :ivar tls: the context of connections with TLS; None: no TLS.
    :ivar credentials: user name and password for SASL with DIGEST-MD5; None: no SASL.
    :ivar set_acl: True to create nodes that only authenticated brokers of the cluster may change.
    :ivar make_chroot: False to leave a missing chroot missing.
    """

    connect: str
    session_timeout_s: float = 18.0
    connection_timeout_s: float = 18.0
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    credentials: tuple[str, str] | None = field(default=None, repr=False)
    set_acl: bool = False
    make_chroot: bool = True

    @classmethod
    def of(cls, config: BrokerConfig) -> ZooKeeperSettings:
        """Return the settings of a broker, in which ``zookeeper.connect`` is set.

        :raises SettingError: a file cannot be read, or SASL is not installed.
        """
        return evolve(cls.of_client(config), set_acl=config[z.ZOOKEEPER_SET_ACL], make_chroot=True)

    @classmethod
    def of_client(cls, values: Values) -> ZooKeeperSettings:
        """Return the settings of a client, which have the names of a broker's; it makes no chroot.

        :raises SettingError: as :meth:`of`.
        """
        session_timeout_ms = values[z.ZOOKEEPER_SESSION_TIMEOUT_MS]
        connection_timeout_ms = values[z.ZOOKEEPER_CONNECTION_TIMEOUT_MS] or session_timeout_ms
        return cls(
            values[z.ZOOKEEPER_CONNECT] or "",
            session_timeout_ms / 1000,
            connection_timeout_ms / 1000,
            _tls(values) if values[z.ZOOKEEPER_SSL_CLIENT_ENABLE] else None,
            _credentials(values),
            make_chroot=False,
        )

    @property
    def hosts(self) -> str:
        """The servers without the chroot."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """The path below which the tree is; empty for all of ZooKeeper."""
        return self.connect[len(self.hosts) :].rstrip("/")


def _tls(config: Values) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(config[z.ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM])
    trusted = config[z.ZOOKEEPER_SSL_TRUSTSTORE_LOCATION]
    if trusted is None:
        context.load_default_certs()
    elif _is_pem(z.ZOOKEEPER_SSL_TRUSTSTORE_LOCATION, trusted):
        try:
            context.load_verify_locations(trusted)
        except OSError as error:
            raise _unreadable(z.ZOOKEEPER_SSL_TRUSTSTORE_LOCATION, trusted, "certificates", error) from error
    else:
        _trust_store(context, trusted, config[z.ZOOKEEPER_SSL_TRUSTSTORE_PASSWORD])
    own = config[z.ZOOKEEPER_SSL_KEYSTORE_LOCATION]
    if own is not None and not _is_pem(z.ZOOKEEPER_SSL_KEYSTORE_LOCATION, own):
        _identify_by_store(context, own, config[z.ZOOKEEPER_SSL_KEYSTORE_PASSWORD])
    elif own is not None:
        password = config[z.ZOOKEEPER_SSL_KEYSTORE_PASSWORD] or ""  # None would ask the terminal
        try:
            context.load_cert_chain(own, password=password)
        except OSError as error:
            what = "a certificate and its private key, or zookeeper.ssl.keystore.password is wrong"
            raise _unreadable(z.ZOOKEEPER_SSL_KEYSTORE_LOCATION, own, what, error) from error
    return context


def _is_pem(setting: Setting[str | None], path: str) -> bool:
    """Return False for a keystore of Java or PKCS12; what cannot be told is taken for PEM.

    :raises SettingError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(1) not in _STORES
    except OSError as error:
        raise _unreadable(setting, path, "", error) from error


def _trust_store(context: ssl.SSLContext, path: str, password: str | None) -> None:
    check_installed()
    from kafkatx.tls.keystore import KeystoreError, read_trusted  # they import cryptography
    from kafkatx.tls.plain_socket import trust

    try:
        with open(path, "rb") as file:
            trust(context, read_trusted(file.read(), password))
    except KeystoreError as error:
        raise SettingError(f"{z.ZOOKEEPER_SSL_TRUSTSTORE_LOCATION.name}={path}: it {error}") from None


def _identify_by_store(context: ssl.SSLContext, path: str, password: str | None) -> None:
    check_installed()
    from kafkatx.tls.keystore import KeystoreError, read_identity  # they import cryptography
    from kafkatx.tls.plain_socket import identify

    try:
        with open(path, "rb") as file:
            identify(context, read_identity(file.read(), password, None))
    except KeystoreError as error:
        raise SettingError(f"{z.ZOOKEEPER_SSL_KEYSTORE_LOCATION.name}={path}: it {error}") from None


def _unreadable(setting: Setting[str | None], path: str, what: str, error: OSError) -> SettingError:
    if isinstance(error, ssl.SSLError):  # a subclass of OSError
        return SettingError(f"{setting.name}={path}: it is no PEM file with {what} ({error})")
    return SettingError(f"{setting.name}={path}: it cannot be read: {error.strerror}")


def _credentials(config: Values) -> tuple[str, str] | None:
    name, password = config[z.KAFKATX_ZOOKEEPER_USERNAME], config[z.KAFKATX_ZOOKEEPER_PASSWORD]
    path = config[z.KAFKATX_ZOOKEEPER_JAAS_FILE]
    if name is not None and password is not None:
        setting: Setting[str | None] = z.KAFKATX_ZOOKEEPER_USERNAME
        credentials = name, password
    elif path is not None:
        setting = z.KAFKATX_ZOOKEEPER_JAAS_FILE
        try:
            with open(path, encoding="utf-8") as file:
                credentials = read_credentials(file.read())
        except OSError as error:
            raise _unreadable(setting, path, "", error) from error
        except (JaasError, UnicodeDecodeError) as error:
            raise SettingError(f"{setting.name}={path}: {error}") from error
    else:
        return None
    if importlib.util.find_spec("puresasl") is None:
        raise SettingError(f"{setting.name}: SASL needs pure-sasl; pip install 'kafkatx[zookeeper]'")
    return credentials
