"""Commands about access control, against a cluster in memory."""

from __future__ import annotations

from kafkatx.acls import AclBinding, with_changes
from kafkatx.cli.acls import acls, explanation
from kafkatx.security.acl.lines import format_line, parse_line
from tests.blocking.fake_acls import FakeAcls
from tests.cli.command_case import CommandCase

LINES = (
    "User:alice read topic:orders",
    "User:alice from 192.0.2.7 alter topic:orders",
    "deny User:* write prefixed topic:or",
    "User:bob all topic:*",
)


class AclCase(CommandCase):
    """Runs commands against a cluster with some ACLs."""

    def setUp(self) -> None:
        """Make the cluster."""
        super().setUp()
        self.cluster = FakeAcls()
        self.cluster.acls = with_changes({}, frozenset(map(parse_line, LINES)), frozenset())
        for module in (acls, explanation):
            self.patch(module, "connect", lambda bootstrap, timeout: self.cluster.client())

    def printed(self, *arguments: str, tty: bool = False, code: int = 0) -> str:
        """Return the output of a command, which must end with *code*."""
        self.use_streams(tty)
        self.assertEqual(self.run_command(*arguments), code, self.err.text())
        return self.out.text()

    def lines(self) -> set[str]:
        """Return the cluster's ACLs."""
        found = self.cluster.acls.items()
        return {format_line(AclBinding(pattern, entry)) for pattern, entries in found for entry in entries}
