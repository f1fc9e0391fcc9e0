"""Filters of ACLs match what Apache Kafka's do."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import AclOperation, AclPermission, PatternType, ResourceType, with_changes
from kafkatx.security.acl.filters import AclFilter
from tests.security.acl.test_index import GROUP, PREFIXED, WRITE, binding

RULES = (
    binding("abc"),
    binding("ab", pattern_type=PREFIXED),
    binding("*"),
    binding("*", pattern_type=PREFIXED),
    binding("abc", WRITE, AclPermission.DENY, principal="User:*", host="h"),
    binding("abc", resource_type=GROUP),
)
ACLS = with_changes({}, frozenset(RULES), frozenset())
ANY, MATCH, LITERAL = PatternType.ANY, PatternType.MATCH, PatternType.LITERAL


class FilterTests(SynchronousTestCase):
    def matched(self, **parts: object) -> set[int]:
        """Return the numbers of the rules that a filter matches."""
        found = list(AclFilter(**parts).matching(ACLS))  # type: ignore[arg-type]
        self.assertEqual(len(set(found)), len(found))
        return {RULES.index(one) for one in found}

    def test_patterns(self) -> None:
        """A name matches exactly, or all patterns that are about it; a literal star is no wildcard."""
        topic = ResourceType.TOPIC
        for parts, expected in (
            ({}, {0, 1, 2, 3, 4, 5}),
            ({"resource_type": topic}, {0, 1, 2, 3, 4}),
            ({"name": "abc"}, {0, 4, 5}),
            ({"name": "ab"}, {1}),
            ({"name": "ab", "pattern_type": LITERAL}, set()),
            ({"name": "*"}, {2, 3}),
            ({"name": "*", "pattern_type": LITERAL}, {2}),
            ({"name": "*", "pattern_type": PREFIXED}, {3}),
            ({"pattern_type": PREFIXED}, {1, 3}),
            ({"name": "abcd", "pattern_type": MATCH}, {1, 2}),
            ({"name": "abc", "pattern_type": MATCH, "resource_type": topic}, {0, 1, 2, 4}),
            ({"name": "*x", "pattern_type": MATCH}, {2, 3}),
        ):
            self.assertEqual(self.matched(**parts), expected, parts)

    def test_entries(self) -> None:
        """Principal, host, operation and permission match exactly; User:* is a name like others here."""
        for parts, expected in (
            ({"principal": "User:*"}, {4}),
            ({"principal": "User:a"}, {0, 1, 2, 3, 5}),
            ({"host": "h"}, {4}),
            ({"host": "*", "name": "abc"}, {0, 5}),
            ({"operation": WRITE}, {4}),
            ({"operation": AclOperation.ALL}, set()),
            ({"permission": AclPermission.DENY}, {4}),
        ):
            self.assertEqual(self.matched(**parts), expected, parts)
