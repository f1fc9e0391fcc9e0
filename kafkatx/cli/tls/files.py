"""The files of ``kafkatx tls init``: an authority's, and a keystore of each broker and user.

``ca.pem`` is public, ``ca.key`` is for the person who makes certificates alone. ``NAME.pem`` is key
and certificate in one, for kafkatx and librdkafka; ``NAME.key`` and ``NAME.crt`` are the same in two files.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import attrs
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kafkatx.errors import SettingError
from kafkatx.tls.authority import Issued, issue, load_authority, make_authority

CA, CA_KEY = "ca.pem", "ca.key"
LOCAL = ("localhost", "127.0.0.1", "::1")


@attrs.frozen
class Made:
    """The paths of what was made.

    :ivar brokers: keystores by the name of the host.
    :ivar users: keystores by the name of the user.
    """

    ca: str
    brokers: dict[str, str]
    users: dict[str, str]


def make(directory: str, hosts: Sequence[str], users: Sequence[str], days: int) -> Made:
    """Make the files.

    :raises OSError: a file cannot be read or written.
    :raises SettingError: a name cannot be a file's, or the authority that is there cannot be used.
    """
    directory = os.path.abspath(directory)
    named = {host: (host, *LOCAL) for host in hosts} or {"broker": (*LOCAL, socket.gethostname())}
    for name in (*named, *users):
        _check(name)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    authority = _authority(directory)
    brokers = {
        name: _write(directory, name, issue(authority, name, all_of, days=days))
        for name, all_of in named.items()
    }
    issued = {name: _write(directory, f"user-{name}", issue(authority, name, days=days)) for name in users}
    return Made(os.path.join(directory, CA), brokers, issued)


def _check(name: str) -> None:
    if not name or not name.replace(".", "").replace("-", "").replace("_", "").replace(":", "").isalnum():
        raise SettingError(f"{name!r} cannot name a certificate: use letters, digits, '.', '-' and '_'")


def _authority(directory: str) -> Issued:
    """Return the authority of a directory; make it if there is none."""
    path, key_path = os.path.join(directory, CA), os.path.join(directory, CA_KEY)
    if not os.path.exists(key_path):
        made = make_authority("kafkatx CA")
        _save(key_path, made.key_pem(), 0o600)
        _save(path, made.certificate_pem, 0o644)
        return made
    try:
        with open(path, "rb") as file:
            certificate = x509.load_pem_x509_certificate(file.read())
        with open(key_path, "rb") as file:
            key = load_pem_private_key(file.read(), None)
    except ValueError as error:
        raise SettingError(f"{directory}: the authority there cannot be read: {error}") from None
    if not isinstance(key, EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise SettingError(f"{key_path}: this is not the key of {path}; choose another directory")
    return load_authority(key, certificate)


def _write(directory: str, name: str, issued: Issued) -> str:
    """Write the files of one certificate; return the path of the keystore."""
    base = os.path.join(directory, name.replace(":", "_"))
    _save(f"{base}.key", issued.key_pem(), 0o600)
    _save(f"{base}.crt", issued.certificate_pem, 0o644)
    _save(f"{base}.pem", issued.keystore_pem(), 0o600)
    return f"{base}.pem"


def _save(path: str, data: bytes, mode: int) -> None:
    """Replace a file at once: a broker may read it at any time."""
    handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, mode)
        file.write(data)
    os.replace(f"{path}.new", path)
