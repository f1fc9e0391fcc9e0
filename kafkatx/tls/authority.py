"""A certificate authority of one's own: makes the CA, and certificates of brokers and users. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BACK = timedelta(minutes=5)  # clocks differ
CA_DAYS = 3650


@attrs.frozen
class Issued:
    """A private key and its certificate.

    :ivar issuer: the authority's certificate.
    """

    key: ec.EllipticCurvePrivateKey = attrs.field(repr=False)
    certificate: x509.Certificate
    issuer: x509.Certificate

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, password: bytes | None = None) -> bytes:
        """Return the key as PEM (PKCS#8), encrypted if there is a password."""
        cipher = BestAvailableEncryption(password) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher)

    def keystore_pem(self) -> bytes:
        """Return key and certificate as one PEM file."""
        return self.key_pem() + self.certificate_pem

    def pkcs12(self, name: str, password: bytes) -> bytes:
        """Return a keystore for Java."""
        return serialize_key_and_certificates(
            name.encode(), self.key, self.certificate, [self.issuer], BestAvailableEncryption(password)
        )


def make_authority(name: str, now: datetime | None = None, days: int = CA_DAYS) -> Issued:
    """Make a certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(subject, subject, key, now, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Issued(key, certificate, certificate)


def issue(
    authority: Issued, name: str, hosts: Sequence[str] = (), *, days: int = 365, now: datetime | None = None
) -> Issued:
    """Issue a certificate, of a broker if it has hosts, else of a user.

    :param hosts: names and IP addresses by which clients reach the broker.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])]
    builder = (
        _builder(subject, authority.certificate.subject, key, now, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return Issued(key, builder.sign(authority.key, hashes.SHA256()), authority.certificate)


def load_authority(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> Issued:
    """Return an authority that was made before."""
    return Issued(key, certificate, certificate)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime | None,
    days: int,
) -> x509.CertificateBuilder:
    start = now or datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _BACK)
        .not_valid_after(start + timedelta(days=days))
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode())
