"""Principals of client certificates: ``ssl.principal.mapping.rules``, as Apache Kafka's SslPrincipalMapper.

``RULE:^CN=(.*?),.*$/$1/L, DEFAULT``: the pattern has to match the whole distinguished name; each ``$1`` of
the replacement is a group; L or U makes lower or upper case. DEFAULT is the distinguished name itself. The
first rule that matches counts; without one the certificate is refused.
"""

from __future__ import annotations

import re

import attrs
from cryptography import x509

from kafkatx.errors import SettingError

NAME = "ssl.principal.mapping.rules"

_RULE = re.compile(r"\s*(?:DEFAULT|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)", re.DOTALL)
MOST_DIGITS = 9
"""Digits of the number of a group that count: there are never as many groups."""

_GROUP = re.compile(r"\$([0-9]+)")
_SHORT = {  # the attribute types for which Java has a keyword (RFC 2253)
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}


@attrs.frozen
class _Rule:
    pattern: re.Pattern[str] | None  # None: DEFAULT
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        groups = match.groups()

        def group(found: re.Match[str]) -> str:
            number = int(found[1][:MOST_DIGITS])
            if number == 0:
                return name
            return (groups[number - 1] or "") if number <= len(groups) else found[0]

        mapped = _GROUP.sub(group, self.replacement)
        return mapped.lower() if self.case == "L" else mapped.upper() if self.case == "U" else mapped


@attrs.frozen
class PrincipalMapper:
    """The rules of a listener. Made by :func:`parse_rules`."""

    rules: tuple[_Rule, ...]

    def principal(self, name: str) -> str | None:
        """Return the principal of a distinguished name, ``User:...``; None if no rule matches."""
        for rule in self.rules:
            mapped = rule.apply(name)
            if mapped is not None:
                return f"User:{mapped}"
        return None


def parse_rules(text: str) -> PrincipalMapper:
    """Parse rules.

    :raises SettingError: they are malformed.
    """
    rules: list[_Rule] = []
    at = 0
    while at < len(text.rstrip()):
        match = _RULE.match(text, at)
        if match is None:
            raise SettingError(f"{NAME}={text}: a rule must be DEFAULT or RULE:pattern/replacement/[LU]")
        at = match.end()
        if match[1] is None:
            rules.append(_Rule(None, "", ""))
            continue
        try:
            pattern = re.compile(match[1].replace("\\/", "/"))
        except (re.error, OverflowError, RecursionError) as error:
            raise SettingError(f"{NAME}={text}: the pattern {match[1]} is wrong: {error}") from None
        rules.append(_Rule(pattern, match[2].replace("\\/", "/"), match[3]))
    return PrincipalMapper(tuple(rules) or (_Rule(None, "", ""),))


def distinguished_name(certificate: x509.Certificate) -> str:
    """Return the subject of a certificate as Java does: RFC 2253, the last attribute first.

    An attribute type without a keyword is its number with the value's encoding in hexadecimal digits.
    """
    return ",".join(
        "+".join(_attribute(attribute) for attribute in part) for part in reversed(certificate.subject.rdns)
    )


def _attribute(attribute: x509.NameAttribute[str | bytes]) -> str:
    keyword = _SHORT.get(attribute.oid.dotted_string)
    if keyword is not None:
        return attribute.rfc4514_string({attribute.oid: keyword})
    value = attribute.value if isinstance(attribute.value, bytes) else attribute.value.encode()
    kind = attribute._type.value  # no public name for the type of its string
    size = bytes([len(value)]) if len(value) < 0x80 else b"\x81" + bytes([len(value) & 0xFF])
    return f"{attribute.oid.dotted_string}=#{(bytes([kind]) + size + value).hex()}"
