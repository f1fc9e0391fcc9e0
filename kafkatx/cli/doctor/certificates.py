"""The days that certificates are valid: of a port, and of a broker's settings."""

from __future__ import annotations

import socket
import ssl
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

    from kafkatx.config import BrokerConfig

DAY_S = 86_400


def days_of_port(host: str, port: int, timeout_s: float) -> float | None:
    """Return the days that the certificate of a port with TLS is valid; None if it shows none.

    Nothing is verified: a client that connects does that.

    :raises OSError: it cannot be reached.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, port), timeout_s) as plain,
        context.wrap_socket(plain, server_hostname=host) as secure,
    ):
        der = secure.getpeercert(binary_form=True)
    if der is None:
        return None
    from cryptography import x509

    return _days(x509.load_der_x509_certificate(der))


def days_of_settings(config: BrokerConfig) -> list[tuple[str, float]]:
    """Return name and days of each listener with TLS of settings, the first certificate of a chain to end.

    :raises SettingError: a keystore cannot be read.
    """
    found = []
    for listener in config.listeners():
        if listener.has_tls:
            from kafkatx.tls.settings import load_tls

            identity = load_tls(config.of_listener(listener.name)).identity
            if identity is not None:
                found.append((f"listener {listener.name}", min(map(_days, identity.chain))))
    return found


def _days(certificate: x509.Certificate) -> float:
    end: datetime | None = getattr(certificate, "not_valid_after_utc", None)  # before cryptography 42
    end = end or certificate.not_valid_after.replace(tzinfo=timezone.utc)
    return (end.timestamp() - time.time()) / DAY_S
