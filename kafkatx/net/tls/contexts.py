"""Contexts of OpenSSL for both ends of a Twisted connection. It touches no socket."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any
from weakref import WeakKeyDictionary

from cryptography import x509
from OpenSSL import SSL, crypto

from kafkatx.errors import SettingError
from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings

_VERSIONS = {"TLSv1.2": SSL.TLS1_2_VERSION, "TLSv1.3": SSL.TLS1_3_VERSION}
_RELEASE_BUFFERS = 0x10  # SSL_MODE_RELEASE_BUFFERS: idle connections keep none
_NO_RENEGOTIATION = 0x40000000  # SSL_OP_NO_RENEGOTIATION
_VERIFY = {
    "none": SSL.VERIFY_NONE,
    "requested": SSL.VERIFY_PEER,
    "required": SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT,
}

_REASONS = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is signed by itself",
    19: "the authority is not trusted",
    20: "no trusted authority has signed the certificate",
    23: "the certificate is revoked",
    26: "the certificate is not for this purpose",
}
"""Reasons by their number (``X509_V_ERR_*``)."""

_refused: WeakKeyDictionary[SSL.Connection, str] = WeakKeyDictionary()


def server_context(settings: TlsSettings, client_auth: str) -> SSL.Context:
    """Return the context of a listener.

    There are no session tickets: a client would come in with one whose certificate is trusted no more.

    :param client_auth: none, requested or required.
    :raises SettingError: there is no key, or nothing to check client certificates with.
    """
    if settings.identity is None:
        raise SettingError(
            "ssl.keystore.location is not set: a listener with TLS needs a key and a certificate; "
            "kafkatx tls init makes some"
        )
    if client_auth != "none" and settings.trusted is None:
        raise SettingError(
            f"ssl.client.auth={client_auth}: set ssl.truststore.location to the authorities that sign"
            " clients' certificates"
        )
    context = _context(SSL.Context(SSL.TLS_SERVER_METHOD), settings)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_CIPHER_SERVER_PREFERENCE | _NO_RENEGOTIATION)
    context.set_session_id(b"kafkatx")
    context.set_verify(_VERIFY[client_auth], _accept)
    if client_auth != "none":
        for authority in settings.trusted or ():
            context.add_client_ca(crypto.X509.from_cryptography(authority))
    return context


def client_context(settings: TlsSettings) -> SSL.Context:
    """Return the context of a client; it checks the broker's chain, and not for which host it is."""
    context = _context(SSL.Context(SSL.TLS_CLIENT_METHOD), settings)
    if settings.trusted is None:
        context.set_default_verify_paths()
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, _accept)
    return context


def _context(context: SSL.Context, settings: TlsSettings) -> SSL.Context:
    versions = sorted(_VERSIONS[name] for name in settings.protocols)
    context.set_min_proto_version(versions[0])
    context.set_max_proto_version(versions[-1])
    context.set_options(SSL.OP_NO_COMPRESSION)
    context.set_mode(_RELEASE_BUFFERS)
    try:
        context.set_cipher_list(settings.ciphers.encode())
    except SSL.Error:
        raise SettingError(f"ssl.cipher.suites: OpenSSL has none of {settings.ciphers}") from None
    _trust(context, settings.trusted or ())
    if settings.identity is not None:
        _identify(context, settings.identity)
    return context


def _trust(context: SSL.Context, trusted: Sequence[x509.Certificate]) -> None:
    store: Any = context.get_cert_store()
    for authority in trusted:
        store.add_cert(crypto.X509.from_cryptography(authority))


def _identify(context: SSL.Context, identity: Identity) -> None:
    own, *more = (crypto.X509.from_cryptography(one) for one in identity.chain)
    context.use_certificate(own)
    for one in more:
        context.add_extra_chain_cert(one)
    key: Any = identity.key
    context.use_privatekey(crypto.PKey.from_cryptography_key(key))


def _accept(connection: SSL.Connection, certificate: object, error: int, depth: int, valid: int) -> bool:
    """Accept what OpenSSL does; keep its reason if it does not."""
    if not valid:
        _refused[connection] = _REASONS.get(error, f"error {error} of OpenSSL")
    return bool(valid)


def refusal(connection: SSL.Connection | None) -> str:
    """Return why a peer's certificate was refused, with a colon before; empty if none was."""
    reason = None if connection is None else _refused.get(connection)
    return "" if reason is None else f": {reason}"


def days_left(identity: Identity, now_s: float) -> float:
    """Return the days until the first certificate of a chain expires; negative if one has."""
    return (end_s(identity) - now_s) / 86_400


def end_s(identity: Identity) -> float:
    """Return when the first certificate of a chain expires, in seconds since 1970."""
    return min(_end(one).timestamp() for one in identity.chain)


def _end(certificate: x509.Certificate) -> datetime:
    found: datetime | None = getattr(certificate, "not_valid_after_utc", None)  # before cryptography 42
    return found or certificate.not_valid_after.replace(tzinfo=timezone.utc)


def error_text(error: BaseException | None) -> str:
    """Return the reason of an error of OpenSSL, or of another one, in one line."""
    if isinstance(error, SSL.Error) and error.args and isinstance(error.args[0], list):
        return "; ".join(str(item[-1]) for item in error.args[0]) or "the peer has closed the connection"
    return str(error).partition("\n")[0] or type(error).__name__
