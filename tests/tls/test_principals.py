"""ssl.principal.mapping.rules and distinguished names."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.tls.authority import Issued, issue, make_authority
from kafkatx.tls.principals import distinguished_name, parse_rules

# rules, distinguished name, principal: the first ones are the examples of Apache Kafka's documentation
MAPPED = (
    ("DEFAULT", "CN=a,OU=b", "User:CN=a,OU=b"),
    ("", "CN=a", "User:CN=a"),
    (
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L,DEFAULT",
        "CN=kafka,OU=ServiceUsers,O=X",
        "User:kafka",
    ),
    ("RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L, DEFAULT", "CN=Ann,OU=Dev", "User:ann@dev"),
    ("RULE:^CN=(.*?)$/$1/U", "CN=ann", "User:ANN"),
    ("RULE:CN=(a)/$1$2/", "CN=a", "User:a$2"),
    ("RULE:CN=a\\/b/x\\/y/", "CN=a/b", "User:x/y"),
    ("RULE:CN=a/x/", "CN=ab", None),
)


class PrincipalTests(SynchronousTestCase):
    def test_mapped(self) -> None:
        """The first rule whose pattern matches the whole name counts."""
        for rules, name, principal in MAPPED:
            self.assertEqual(parse_rules(rules).principal(name), principal, rules)

    def test_refused(self) -> None:
        """Malformed rules are refused."""
        for rules in ("NONE", "RULE:a/b", "RULE:a/b/X", "RULE:(/x/", "DEFAULT DEFAULT"):
            self.assertRaises(SettingError, parse_rules, rules)

    def test_odd(self) -> None:
        """A repetition that is too large is refused, and the number of a group that is not there is text."""
        for rule in ("RULE:a{99999999999999999999}/x/", "RULE:" + "(" * 5000 + "/x/"):
            self.assertRaises(SettingError, parse_rules, rule)
        number = "9" * 5000
        self.assertEqual(parse_rules(f"RULE:a/${number}/").principal("a"), f"User:${number}")

    def test_name(self) -> None:
        """A name is Java's: the last attribute first, special characters escaped, unknown types in hex."""
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "A, B"),
                x509.NameAttribute(NameOID.COMMON_NAME, "ann"),
            ]
        )
        self.assertEqual(distinguished_name(named(subject)), "CN=ann,O=A\\, B,C=DE")
        email = x509.Name([x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b")])
        self.assertEqual(distinguished_name(named(email)), "1.2.840.113549.1.9.1=#1603614062")


def named(subject: x509.Name) -> x509.Certificate:
    """Return a certificate with a subject."""
    authority = make_authority("tests")
    made: Issued = issue(authority, "x")
    from cryptography.hazmat.primitives import hashes

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject)
        .public_key(made.key.public_key())
        .serial_number(1)
        .not_valid_before(made.certificate.not_valid_before_utc)
        .not_valid_after(made.certificate.not_valid_after_utc)
        .sign(authority.key, hashes.SHA256())
    )
