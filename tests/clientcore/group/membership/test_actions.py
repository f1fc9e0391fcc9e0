"""Tests of kafkatx.clientcore.group.membership.actions."""

from __future__ import annotations

from typing import get_args

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.membership import Action, LogMessage, SendRequest, actions
from kafkatx.wire.messages.heartbeat import HeartbeatRequest


class ActionsTests(SynchronousTestCase):
    def test_union(self) -> None:
        """Every action of the module is one that a driver must expect."""
        defined = {
            value
            for value in vars(actions).values()
            if isinstance(value, type) and issubclass(value, tuple) and value.__module__ == actions.__name__
        }
        self.assertEqual(set(get_args(Action)), defined)

    def test_defaults(self) -> None:
        """A request goes over the common connection, and a message is no warning, unless they say so."""
        self.assertFalse(SendRequest(1, HeartbeatRequest("g", 1, "me"), 0).separate_connection)
        self.assertFalse(LogMessage("text", {}).warn)
