"""The part of the settings table about access control."""

from __future__ import annotations

import re

from kafkatx.config.table.row import ConfigType, Section

OF_APACHE = (
    "kafka.security.auth.SimpleAclAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
)
"""The class names of Apache Kafka's authorizers: they mean ours."""

BY_ACLS, LEARN = "acl", "learn"
_PRINCIPAL = re.compile(r"[^:;\s]+:[^;]+")


def _read_authorizer(text: str) -> str:
    name = text.strip()
    return BY_ACLS if name in OF_APACHE else name


def _read_principals(text: str) -> str:
    for principal in super_users(text):
        if not _PRINCIPAL.fullmatch(principal):
            raise ValueError(text)
    return text.strip()


def super_users(text: str) -> frozenset[str]:
    """Return the principals of ``super.users``: semicolons separate them, names may have commas."""
    return frozenset(principal.strip() for principal in text.split(";") if principal.strip())


ACCESS = Section(
    "Access control",
    "Who may do what. Without an authorizer every client may do everything that reaches a listener.",
)

AUTHORIZER_CLASS_NAME = ACCESS.parsed(
    "authorizer.class.name",
    ConfigType.STRING,
    "",
    "Plugin that decides what a principal may do: acl (the class names of Apache Kafka's authorizers mean "
    "it), learn (allows everything, and writes down which ACLs would be needed), or an installed one. Empty: "
    "no access control.",
    _read_authorizer,
    "the name of an authorizer, or empty",
)
SUPER_USERS = ACCESS.parsed(
    "super.users",
    ConfigType.STRING,
    "",
    "Principals that may do everything, separated by semicolons: User:admin;User:CN=broker1,O=Example. "
    "The principals of the brokers of a cluster must be among them.",
    _read_principals,
    "principals of the form User:NAME, separated by semicolons",
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND = ACCESS.boolean(
    "allow.everyone.if.no.acl.found",
    False,
    "Allow every principal what no ACL is about: a resource for which there is no ACL at all.",
)
KAFKATX_AUTHORIZER_ACLS_MAX = ACCESS.integer(
    "kafkatx.authorizer.acls.max",
    20_000,
    "Maximum number of ACLs of a cluster; CreateAcls is refused above it.",
    low=1,
    high=100_000,
)
KAFKATX_AUTHORIZER_CACHE_MAX = ACCESS.integer(
    "kafkatx.authorizer.cache.max",
    100_000,
    "Maximum number of decisions that a broker keeps; above it all are made anew.",
    low=1,
)
KAFKATX_AUTHORIZER_AUDIT_TOPIC = ACCESS.string(
    "kafkatx.authorizer.audit.topic",
    "",
    "Topic to which denied accesses are written as JSON, the same one at most once a minute, as in the log; "
    "created if it does not exist. Empty: none.",
)
KAFKATX_AUTHORIZER_LEARN_FILE = ACCESS.optional_string(
    "kafkatx.authorizer.learn.file",
    "File in which the authorizer learn writes the ACLs that would allow all that was used, a line each, as "
    "`kafkatx acls add --from FILE` reads it.",
)

SECTIONS = (ACCESS,)
"""This part of the table."""
