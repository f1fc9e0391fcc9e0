"""Lines of ACLs are read back as they were written."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.errors import SettingError
from kafkatx.security.acl.lines import format_line, parse_line, parse_lines, parse_resource

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1)
BINDINGS = st.builds(
    AclBinding,
    st.builds(
        ResourcePattern,
        st.sampled_from([one for one in ResourceType if one > 1]),
        NAMES,
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    ),
    st.builds(
        AccessControlEntry,
        st.sampled_from(["User:alice", "User:*", "User:CN=a b,O=x y", "User:from"]),
        st.sampled_from(["*", "192.0.2.7", "::1"]),
        st.sampled_from([one for one in AclOperation if one > 1]),
        st.sampled_from([AclPermission.ALLOW, AclPermission.DENY]),
    ),
)


class LinesTests(SynchronousTestCase):
    @settings(max_examples=100, deadline=None)
    @given(BINDINGS)
    def test_round_trip(self, binding: AclBinding) -> None:
        """A line has all of an ACL."""
        self.assertEqual(parse_line(format_line(binding)), binding)

    def test_lines(self) -> None:
        """Comments and empty lines do not count."""
        found = parse_lines(["# a comment", "", "  User:a read topic:t ", "deny User:* all cluster"])
        self.assertEqual(
            [str(one) for one in found],
            ["allow User:a read on topic:t", f"deny User:* all on cluster:{CLUSTER_NAME}"],
        )

    def test_wrong(self) -> None:
        """A line that is no ACL is refused with an example."""
        for line in ("alice read topic:t", "User:a fly topic:t", "User:a read", "User:a read thing:t", ""):
            error = self.assertRaises(SettingError, parse_line, line)
            self.assertTrue("User:alice read topic:orders" in str(error) or "TYPE:NAME" in str(error), line)
        for text in ("topic", "topic:", "Topic:a", ":a"):
            self.assertRaises(SettingError, parse_resource, text)
