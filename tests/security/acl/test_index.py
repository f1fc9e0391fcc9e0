"""The index of ACLs decides as a plain reading of all of them does."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import (
    Access,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    Acls,
    Decision,
    PatternType,
    Reason,
    ResourcePattern,
    ResourceType,
    with_changes,
)
from kafkatx.security.acl.index import AclIndex

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY


def binding(
    name: str,
    operation: AclOperation = READ,
    permission: AclPermission = ALLOW,
    pattern_type: PatternType = LITERAL,
    principal: str = "User:a",
    host: str = "*",
    resource_type: ResourceType = TOPIC,
) -> AclBinding:
    """Return an ACL."""
    return AclBinding(
        ResourcePattern(resource_type, name, pattern_type),
        AccessControlEntry(principal, host, operation, permission),
    )


def index(*bindings: AclBinding) -> AclIndex:
    """Return an index of ACLs."""
    return AclIndex(with_changes({}, frozenset(bindings), frozenset()))


def plain(acls: Acls, access: Access, allow_without: bool) -> bool:
    """Decide by reading every ACL, as Apache Kafka's documentation says."""
    about = [
        (pattern, entry)
        for pattern, entries in acls.items()
        for entry in entries
        if pattern.resource_type == access.resource_type
        and (
            pattern.name in (access.name, "*")
            if pattern.pattern_type is LITERAL
            else access.name.startswith(pattern.name)
        )
    ]
    if not about:
        return allow_without
    mine = [
        entry
        for _, entry in about
        if entry.principal in (access.principal, "User:*") and entry.host in (access.host, "*")
    ]
    if any(one.permission is DENY and one.operation in (AclOperation.ALL, access.operation) for one in mine):
        return False
    enough = {AclOperation.ALL, access.operation}
    if access.operation is DESCRIBE:
        enough |= {READ, WRITE, AclOperation.DELETE, AclOperation.ALTER}
    if access.operation is AclOperation.DESCRIBE_CONFIGS:
        enough.add(AclOperation.ALTER_CONFIGS)
    return any(one.permission is ALLOW and one.operation in enough for one in mine)


NAMES = st.sampled_from(["", "a", "ab", "abc", "b", "*", "*x"])
OPERATIONS = st.sampled_from([one for one in AclOperation if one > 1])
BINDINGS = st.builds(
    binding,
    NAMES.filter(bool),
    OPERATIONS,
    st.sampled_from([ALLOW, DENY]),
    st.sampled_from([LITERAL, PREFIXED]),
    st.sampled_from(["User:a", "User:b", "User:*"]),
    st.sampled_from(["*", "h"]),
    st.sampled_from([TOPIC, GROUP]),
)
CHANGES = st.lists(st.tuples(st.frozensets(BINDINGS, max_size=5), st.frozensets(BINDINGS, max_size=3)))
PRINCIPALS, HOSTS = ("User:a", "User:b", "User:c"), ("h", "i")


class IndexTests(SynchronousTestCase):
    @settings(max_examples=60, deadline=None)
    @given(CHANGES, OPERATIONS, st.booleans())
    def test_as_plain(
        self,
        changes: list[tuple[frozenset[AclBinding], frozenset[AclBinding]]],
        operation: AclOperation,
        allow_without: bool,
    ) -> None:
        """After any changes each access is decided as by reading every ACL."""
        acls: Acls = {}
        found = AclIndex()
        for added, removed in changes:
            acls = with_changes(acls, added, removed)
            found.use(acls)
        for principal, host, kind, name in product(
            PRINCIPALS, HOSTS, (TOPIC, GROUP), ("a", "ab", "abcd", "b", "*", "*xy")
        ):
            access = Access(principal, host, operation, kind, name)
            self.assertEqual(
                found.decide(access, allow_without).allowed, plain(acls, access, allow_without), access
            )

    def test_rule(self) -> None:
        """A decision names its rule, or says that there is none."""
        access = Access("User:a", "h", READ, TOPIC, "abc")
        allowing, denying = binding("ab", pattern_type=PREFIXED), binding("*", permission=DENY)
        self.assertEqual(index(allowing).decide(access, False), Decision(True, Reason.RULE, allowing))
        self.assertEqual(index(allowing, denying).decide(access, True), Decision(False, Reason.RULE, denying))
        other = binding("abc", principal="User:b")
        self.assertEqual(index(other).decide(access, True), Decision(False, Reason.NO_RULE))
        self.assertEqual(index().decide(access, True), Decision(True, Reason.NO_ACLS))

    def test_prefixed_star(self) -> None:
        """A prefixed star is about names that begin with a star, a literal one about all."""
        for pattern_type, name, allowed in (
            (PREFIXED, "abc", False),
            (PREFIXED, "*abc", True),
            (LITERAL, "abc", True),
        ):
            found = index(binding("*", pattern_type=pattern_type))
            self.assertEqual(found.decide(Access("User:a", "h", READ, TOPIC, name), False).allowed, allowed)

    def test_any(self) -> None:
        """An operation on some resource is allowed unless what allows it is denied as a whole."""
        for rules, allowed in (
            ((), False),
            ((binding("t"),), True),
            ((binding("t", AclOperation.ALL),), True),
            ((binding("t", WRITE),), False),
            ((binding("t", principal="User:b"),), False),
            ((binding("t", host="other"),), False),
            ((binding("t", resource_type=GROUP),), False),
            ((binding("t"), binding("t", permission=DENY)), False),
            ((binding("t"), binding("*", permission=DENY)), False),
            ((binding("t"), binding("tt", permission=DENY)), True),
            ((binding("tt"), binding("t", permission=DENY, pattern_type=PREFIXED)), False),
            ((binding("t", pattern_type=PREFIXED), binding("t", permission=DENY)), True),
            ((binding("tt", pattern_type=PREFIXED), binding("t", WRITE, DENY, PREFIXED)), True),
            ((binding("tt", pattern_type=PREFIXED), binding("t", READ, DENY, PREFIXED)), False),
            ((binding("*"), binding("t", READ, DENY, PREFIXED)), True),
        ):
            self.assertEqual(index(*rules).allows_any("User:a", "h", READ, TOPIC), allowed, rules)
