"""Committing and reading offsets, with a coordinator in memory."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.group.commits import OffsetCommits
from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkatx.wire.messages.offset_commit import OffsetCommitRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.coordinator import Coordinator
from tests.client.fakes import Network

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
U0 = TopicPartition("u", 0)


class CommitsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two brokers, the first a coordinator, and commits from outside of the group."""
        self.network = Network(FakeCluster({"t": [Log(), Log()], "u": [Log(leader=2)]}, brokers=2).answer)
        self.coordinator = Coordinator(self.network)
        self.cluster = self.network.started("consumer", group_id="g", default_api_timeout_ms=2000)
        self.refused: list[ErrorCode] = []
        self.committer = ConsumerGroupMetadata("g")
        self.commits = OffsetCommits(
            self.cluster, "g", lambda: self.committer, lambda code, committer: self.refused.append(code)
        )

    def result(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result, within the time that a call may take."""
        return self.network.result(Deferred.fromCoroutine(work), 10)

    def test_round_trip(self) -> None:
        """Offsets, texts and leader epochs come back; None where nothing was committed."""
        offsets = {T0: OffsetAndMetadata(5, "note", 3), U0: OffsetAndMetadata(0)}
        self.result(self.commits.commit(offsets))
        found = self.result(self.commits.fetch([T0, T1, U0]))
        self.assertEqual(found, {**offsets, T1: None})
        self.assertTrue(self.network.sent(OffsetFetchRequest)[0].require_stable)

    def test_old_brokers(self) -> None:
        """Offsets are read and committed where OffsetFetch has one group, and OffsetCommit no epochs."""
        self.network.newest.update({OffsetFetchRequest: 1, OffsetCommitRequest: 2})
        self.result(self.commits.commit({T0: OffsetAndMetadata(5, "note", 3)}))
        self.assertEqual(
            self.result(self.commits.fetch([T0, T1])), {T0: OffsetAndMetadata(5, "note"), T1: None}
        )

    def test_nothing(self) -> None:
        """No request is sent if there is nothing to do."""
        self.result(self.commits.commit({}))
        self.assertEqual(self.result(self.commits.fetch([])), {})
        self.assertEqual(self.network.sent(FindCoordinatorRequest), [])

    def test_own_connection(self) -> None:
        """The coordinator has a connection of its own: nothing waits behind a JoinGroup."""
        before = len(self.network.live(1))
        self.result(self.commits.commit({T0: OffsetAndMetadata(5)}))
        self.assertEqual(len(self.network.live(1)), before + 1)

    def test_passing(self) -> None:
        """Retriable errors are retried; after some of them the coordinator is looked up."""
        self.coordinator.commit_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        self.result(self.commits.commit({T0: OffsetAndMetadata(5)}))
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 1)
        self.coordinator.commit_errors = [ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT]
        self.result(self.commits.commit({T0: OffsetAndMetadata(6)}))
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 3)
        self.assertEqual(self.coordinator.offsets[T0][0], 6)
        self.coordinator.fetch_errors = [ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.NOT_COORDINATOR]
        self.assertEqual(self.result(self.commits.fetch([T0])), {T0: OffsetAndMetadata(6)})
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 4)

    def test_coordinator_moves(self) -> None:
        """After the coordinator dies another one is found."""
        self.result(self.commits.commit({T0: OffsetAndMetadata(5)}))
        self.network.kill(1)
        self.coordinator.node = 2
        self.result(self.commits.commit({T0: OffsetAndMetadata(6)}))
        self.assertEqual(self.coordinator.offsets[T0][0], 6)

    def test_gives_up(self) -> None:
        """The commit fails if no coordinator is reached within the time of a call."""
        self.network.kill(1)
        self.network.kill(2)
        self.failureResultOf(self.failing({T0: OffsetAndMetadata(5)}), ConnectionFailed)

    def failing(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> Deferred[Any]:
        """Begin a commit, and advance the time beyond that of a call."""
        commit = Deferred.fromCoroutine(self.commits.commit(offsets))
        self.network.pump()
        for _ in range(100):
            self.network.pump(0.05)
        return commit

    def test_out(self) -> None:
        """A member outside of its generation gets CommitFailed at once, and the membership hears of it."""
        for code in (
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.ILLEGAL_GENERATION,
            ErrorCode.REBALANCE_IN_PROGRESS,
            ErrorCode.FENCED_INSTANCE_ID,
        ):
            self.coordinator.commit_errors = [code]
            error = self.failureResultOf(self.failing({T0: OffsetAndMetadata(5)}), CommitFailed).value
            self.assertEqual((error.code, self.refused.pop()), (code, code))
            self.assertIn("offset 5 of t [0] was not committed", str(error))
        self.assertEqual(len(self.network.sent(OffsetCommitRequest)), 4)

    def test_no_member(self) -> None:
        """A member that may not commit now sends no request."""

        def out() -> ConsumerGroupMetadata:
            raise CommitFailed(ErrorCode.REBALANCE_IN_PROGRESS, "later")

        commits = OffsetCommits(self.cluster, "g", out, lambda code, committer: None)
        commit = Deferred.fromCoroutine(commits.commit({T0: OffsetAndMetadata(5)}))
        self.failureResultOf(commit, CommitFailed)
        self.assertEqual(self.network.sent(OffsetCommitRequest), [])

    def test_refused(self) -> None:
        """Other errors are the caller's, at once."""
        self.coordinator.commit_errors = [ErrorCode.OFFSET_METADATA_TOO_LARGE]
        error = self.failureResultOf(self.failing({T0: OffsetAndMetadata(5)}), RequestError).value
        self.assertEqual(error.code, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        self.coordinator.fetch_errors = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        fetch = Deferred.fromCoroutine(self.commits.fetch([T0]))
        self.network.pump()
        error = self.failureResultOf(fetch, RequestError).value
        self.assertEqual(error.code, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self.assertEqual(self.refused, [])

    def test_in_order(self) -> None:
        """A commit that is retried does not undo a later one, which waits."""
        self.coordinator.commit_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
        commits = [Deferred.fromCoroutine(self.commits.commit({T0: OffsetAndMetadata(n)})) for n in (5, 6)]
        for _ in range(20):
            self.network.pump(0.1)
        for commit in commits:
            self.successResultOf(commit)
        self.assertEqual(self.coordinator.offsets[T0][0], 6)
        sent = [r.topics[0].partitions[0].committed_offset for r in self.network.sent(OffsetCommitRequest)]
        self.assertEqual(sent, [5, 5, 5, 6])

    def test_cancelled(self) -> None:
        """A cancelled commit does not block the next one."""
        self.coordinator.commit_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        first = Deferred.fromCoroutine(self.commits.commit({T0: OffsetAndMetadata(5)}))
        self.network.pump()
        first.cancel()
        self.failureResultOf(first)
        self.result(self.commits.commit({T0: OffsetAndMetadata(6)}))
        self.assertEqual(self.coordinator.offsets[T0][0], 6)

    def test_by_member(self) -> None:
        """A member's generation and ids are in the request."""
        self.committer = ConsumerGroupMetadata("g", 3, "me", "one")
        self.failing({T0: OffsetAndMetadata(5)}).addErrback(lambda failure: None)
        (request,) = self.network.sent(OffsetCommitRequest)
        said = (request.generation_id_or_member_epoch, request.member_id, request.group_instance_id)
        self.assertEqual(said, (3, "me", "one"))
