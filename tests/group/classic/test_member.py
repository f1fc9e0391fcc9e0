"""A member of a classic group: its protocols, its time-outs, and when its session ends."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.actions import NEVER_MS
from kafkatx.group.classic.member import Member, Protocols, protocols_of, rebalance_timeout_of
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol


def member(instance: str | None = None, protocols: Protocols = (("range", b"r"), ("sticky", b"s"))) -> Member:
    """Return a member whose session ends at 500."""
    return Member("m", instance, "c", "/host", 60_000, 10_000, protocols, deadline_ms=500)


class MemberTests(SynchronousTestCase):
    def test_static(self) -> None:
        """A member with an instance id is static, even if the id is empty."""
        self.assertEqual([member(i).is_static for i in (None, "", "i")], [False, True, True])

    def test_expires(self) -> None:
        """The session of a member without waiting requests ends at its deadline."""
        self.assertEqual(member().expires_ms, 500)

    def test_waiting(self) -> None:
        """A session does not end while a request waits, since the member cannot send heartbeats then."""
        for name in ("join_token", "sync_token"):
            one = member()
            setattr(one, name, "token")
            self.assertEqual(one.expires_ms, NEVER_MS)

    def test_new_and_waiting(self) -> None:
        """The session of a new member ends even while it waits, since its client may have given up."""
        one = member()
        one.is_new, one.join_token = True, "token"
        self.assertEqual(one.expires_ms, 500)

    def test_metadata(self) -> None:
        """Metadata is that of the protocol, and empty for a protocol that is not offered and for None."""
        self.assertEqual([member().metadata(name) for name in ("sticky", "other", None)], [b"s", b"", b""])

    def test_vote(self) -> None:
        """A member votes for the first of its protocols that is a candidate."""
        self.assertEqual(member().vote({"sticky", "range"}), "range")
        self.assertEqual(member().vote({"sticky"}), "sticky")

    def test_held_bytes(self) -> None:
        """Larger metadata increases the held bytes by its size."""
        larger = member(protocols=(("range", b"r" * 1001), ("sticky", b"s")))
        self.assertEqual(larger.held_bytes - member().held_bytes, 1000)


class RequestTests(SynchronousTestCase):
    def test_protocols(self) -> None:
        """Protocols keep the request's order; of two with one name the last counts."""
        offered = [JoinGroupRequestProtocol(n, m) for n, m in (("a", b"1"), ("b", b"2"), ("a", b"3"))]
        request = JoinGroupRequest("g", 10_000, -1, "", None, "consumer", offered)
        self.assertEqual(protocols_of(request), (("a", b"3"), ("b", b"2")))

    def test_rebalance_timeout(self) -> None:
        """A member without a rebalance time-out uses its session time-out."""
        self.assertEqual([rebalance_timeout_of(ms, 7) for ms in (-1, 0, 5)], [7, 7, 5])
