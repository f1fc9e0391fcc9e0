"""The gate in front of the dispatch; the states of a login are in test_login."""

from __future__ import annotations

from kafkatx.broker.logins.gate import Gate
from kafkatx.broker.logins.login import State
from kafkatx.errors import ProtocolViolation
from tests.broker.logins.case import LoginTestCase


class GateTests(LoginTestCase):
    def test_states(self) -> None:
        """In each state but the complete one, requests of other APIs are refused, and none is ordered."""
        peer = self.connect()
        gate = peer.connection._requests
        assert isinstance(gate, Gate)
        login = gate._login
        for state in State:
            login.state = state
            self.assertEqual(bool(gate.ordered), state is State.COMPLETE)
            if state not in (State.COMPLETE, State.TOKENS):
                for key in (0, 1, 3, 19, 36 if state is not State.AUTHENTICATE else 17):
                    frame = memoryview(key.to_bytes(2, "big") + bytes(8))
                    self.assertRaises(ProtocolViolation, gate.answer, frame, peer.connection.peer)
        self.assertEqual(gate.write_staged, self.dispatch.write_staged)
        self.assertEqual(gate.wake_waiting, self.dispatch.wake_waiting)
        login.state = State.INITIAL
