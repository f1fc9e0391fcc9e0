"""A broker says at its start if the brokers of its cluster may not copy from each other."""

from __future__ import annotations

from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.broker.authorization.own_principal import check_own_principal
from kafkatx.config import BrokerConfig


class OwnPrincipalTests(SynchronousTestCase):
    def lines(self, principal: str | None, authorizer: str = "acl") -> list[str]:
        """Return what is logged for a broker of this principal."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def observer(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        settings = {"authorizer.class.name": authorizer, "super.users": "User:CN=b1,O=x;User:admin"}
        check_own_principal(BrokerConfig.load(None, settings), principal)
        return lines

    def test_super_user(self) -> None:
        """A super user is named; one that is none is a warning with the consequence."""
        self.assertEqual(
            self.lines("User:CN=b1,O=x"), ["brokers of this cluster are User:CN=b1,O=x, a super user"]
        )
        (line,) = self.lines("User:ANONYMOUS")
        self.assertIn("User:ANONYMOUS is not in super.users", line)

    def test_no_line(self) -> None:
        """An unknown principal, and an authorizer that decides otherwise, are no reason for a line."""
        self.assertEqual(self.lines(None), [])
        self.assertEqual(self.lines("User:x", "learn"), [])
