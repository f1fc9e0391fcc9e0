"""The checkers that come with kafkatx provide their interface."""

from __future__ import annotations

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.broker.logins.file_users import FileUsers
from kafkatx.broker.logins.jaas_users import JaasUsers
from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.broker.logins.portal import FirstOf
from kafkatx.broker.logins.scram_users import ScramPasswords, ScramUsers
from kafkatx.broker.password_turns import password_turns
from kafkatx.interfaces.security.logins import ICredentialsChecker


class CheckerTests(SynchronousTestCase):
    def test_provided(self) -> None:
        """Each checker has the attributes and methods of the interface."""
        for checker in (
            *(
                JaasUsers({}),
                FirstOf([]),
                ScramUsers(dict),
                ScramPasswords(dict, PasswordChecks(execute, password_turns())),
            ),
            FileUsers("x", execute, PasswordChecks(execute, password_turns())),
        ):
            self.assertTrue(verifyObject(ICredentialsChecker, checker))
