"""The messages of the server: each is read as it was written, and everything else is malformed."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import (
    BadVersion,
    Change,
    Check,
    Create,
    EphemeralParent,
    NodeExists,
    NodeStat,
    NoNode,
    NotEmpty,
    Operation,
    OperationError,
    Refused,
)
from kafkatx.metadata.tree.local.replies import (
    Answered,
    Event,
    Expired,
    Failed,
    Pong,
    Welcome,
    data_fields,
    decode,
    encode,
    failed,
    outcome_fields,
    read_data,
    read_outcomes,
    read_stat,
    stat_fields,
)
from kafkatx.metadata.tree.local.requests import Malformed

REPLIES = (
    Welcome(3, "token", 18.0),
    Expired(),
    Pong(),
    Event(5, Change.CHILDREN),
    Failed(6, "NoNode", "/a", 1, ""),
    Answered(7, None),
    Answered(8, ["a", "b"]),
)
STAT = NodeStat(1, 2, 3, 4)


class RepliesTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """Every message is read as it was written."""
        for reply in REPLIES:
            self.assertEqual(decode(encode(reply)), reply)

    def test_results(self) -> None:
        """Results of all kinds are read as they were written."""

        def sent(result: object) -> object:
            reply = decode(encode(Answered(1, result)))
            assert isinstance(reply, Answered)
            return reply.result

        data = bytes(range(256))
        self.assertEqual(read_data(sent(data_fields(data, STAT))), (data, STAT))
        self.assertEqual(read_stat(sent(stat_fields(STAT))), STAT)
        self.assertEqual(read_stat(sent(None)), None)
        self.assertEqual(read_outcomes(sent(outcome_fields(("/a", STAT, None)))), ("/a", STAT, None))

    def test_errors(self) -> None:
        """An error comes out as it went in, with its operation."""
        operations: list[Operation] = [Check("/"), Create("/a")]
        for error in (NoNode, NodeExists, BadVersion, NotEmpty, EphemeralParent, Refused):
            for made in (error("/a", operations[1], 1), error("/b")):
                reply = decode(encode(failed(3, made)))
                assert isinstance(reply, Failed)
                found = reply.exception(operations)
                self.assertIs(type(found), error)
                self.assertEqual((found.path, found.operation, found.index), _parts(made))
        refused = failed(3, Refused("/a", reason="too large")).exception(())
        self.assertIn("too large", str(refused))

    def test_malformed(self) -> None:
        """Anything else is malformed."""
        for body in (b"", b"{}", b"[]", b'["watch",1,"x"]', b'["session"]', b'["what"]', b"[1]", b"\xff"):
            self.assertRaises(Malformed, decode, body)


def _parts(error: OperationError) -> tuple[object, ...]:
    return error.path, error.operation, error.index
