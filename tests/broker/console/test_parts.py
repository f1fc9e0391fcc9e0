"""The parts of a console."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.net.requests import Session
from kafkatx.web.calls import Call
from tests.broker.authorization.authorized import ADMIN, ALICE
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase


class SeesTests(ConsoleCase):
    def test_open(self) -> None:
        """Without an authorizer an answer may tell everything."""
        call = Call("GET", "", (), {})
        self.assertTrue(self.console.parts.sees(call, AclOperation.DESCRIBE, ResourceType.TOPIC, "t"))


class AuthorizedSeesTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """With one it depends on the user's rights."""
        sees, describe = self.console.parts.sees, AclOperation.DESCRIBE
        for principal, expected in ((ALICE, False), (ADMIN, True)):
            call = Call("GET", "", (), {}, session=Session(principal))
            self.assertEqual(sees(call, describe, ResourceType.TOPIC, "t"), expected)
