"""TLS over plain sockets, for the blocking client: Python's ``ssl`` module, with the keys of our settings."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterable

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings

Dial = Callable[[tuple[str, int], float], socket.socket]
"""Connects a socket to (host, port) within a time-out in seconds."""

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context of a client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = sorted(_VERSIONS[name] for name in settings.protocols)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.set_ciphers(settings.ciphers)
    context.check_hostname = settings.checks_host
    if settings.trusted is None:
        context.load_default_certs()
    else:
        trust(context, settings.trusted)
    if settings.identity is not None:
        identify(context, settings.identity)
    return context


def trust(context: ssl.SSLContext, authorities: Iterable[x509.Certificate]) -> None:
    """Add authorities to those that a context trusts."""
    pem = "".join(one.public_bytes(Encoding.PEM).decode() for one in authorities)
    context.load_verify_locations(cadata=pem)


def tls_dial(settings: TlsSettings, dial: Dial = socket.create_connection) -> Dial:
    """Return a function that connects a socket and makes the handshake.

    It raises OSError, of which ``ssl.SSLError`` is one.
    """
    context = client_context(settings)

    def connect(address: tuple[str, int], timeout_s: float) -> socket.socket:
        connected = dial(address, timeout_s)
        try:
            return context.wrap_socket(connected, server_hostname=address[0])
        except BaseException:
            connected.close()
            raise

    return connect


def identify(context: ssl.SSLContext, identity: Identity) -> None:
    """Give a context its key; Python takes it from a file only, which is encrypted and private."""
    password = secrets.token_bytes(32).hex().encode()
    key = identity.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    chain = b"".join(one.public_bytes(Encoding.PEM) for one in identity.chain)
    handle, path = tempfile.mkstemp(prefix="kafkatx-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key + chain)
        context.load_cert_chain(path, password=password)
    finally:
        os.unlink(path)
