"""Whether a new leader has what was read from the one before (KIP-320).

One that was elected though it lacks some of it (an unclean election) has other records from some offset on.
So it is asked where the epoch of the last record ends in its log::

    read: epoch 4 up to offset 120     the new leader: epoch 4 ends at 120 or later     go on
                                       epoch 4 ends at 100: the logs part there          go back to 100
                                       it knows no such epoch, and none before it        auto.offset.reset
"""

from __future__ import annotations

from twisted.logger import Logger

from kafkatx.clientcore.consumer.fetch_requests import leader_epoch
from kafkatx.clientcore.consumer.leader_epochs import EpochEndOffset, EpochQuery
from kafkatx.clientcore.consumer.partition_state import UNKNOWN, TopicPartitionState
from kafkatx.clientcore.errors import LogTruncation
from kafkatx.clientcore.list_offsets import EARLIEST
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import epoch_ends
from kafkatx.types import NO_LEADER_EPOCH


class EpochValidator:
    """Compares positions with the logs of their leaders.

    :param reset: what ``auto.offset.reset`` says: EARLIEST, LATEST, or None.
    """

    _log = Logger()

    def __init__(self, cluster: Cluster, reset: int | None) -> None:
        self._cluster = cluster
        self._reset = reset

    async def validate(self, doubtful: list[TopicPartitionState]) -> dict[TopicPartitionState, KafkaTXError]:
        """Ask once for all of them; return those that could not be asked for.

        Where what was read ahead does not fit it is dropped, and the position has to be asked for again.
        """
        turns = [position.revision for position in doubtful]
        metadata = self._cluster.metadata
        doubts = {
            position.topic_partition: EpochQuery(
                leader_epoch(metadata, position.topic_partition), position.fetch_epoch
            )
            for position in doubtful
        }
        found = await epoch_ends(self._cluster, doubts)
        failed: dict[TopicPartitionState, KafkaTXError] = {}
        for position, turn in zip(doubtful, turns, strict=True):
            outcome = found[position.topic_partition]
            leader = doubts[position.topic_partition].current_leader_epoch
            if position.revision != turn:
                continue
            if isinstance(outcome, EpochEndOffset):
                self._complete(position, outcome, leader)
            elif isinstance(outcome, RequestError) and outcome.code is ErrorCode.UNSUPPORTED_VERSION:
                position.complete_validation(leader, NO_LEADER_EPOCH)
            else:
                failed[position] = outcome
        return failed

    def _complete(self, position: TopicPartitionState, end: EpochEndOffset, leader: int) -> None:
        """As ``SubscriptionState.maybeCompleteValidation`` does, but for what was read ahead."""
        if end.leader_epoch >= 0 and position.fetch_offset <= end.end_offset:
            position.complete_validation(leader, end.leader_epoch)
        elif position.fetch_offset == position.position:
            self._truncated(position, end, leader)
        else:
            position.drop_buffered()
            if position.fetch_epoch < 0:
                position.complete_validation(leader, NO_LEADER_EPOCH)

    def _truncated(self, position: TopicPartitionState, end: EpochEndOffset, leader: int) -> None:
        known = end.leader_epoch >= 0
        if self._reset is None:
            latest = end.end_offset if known else UNKNOWN
            position.fail(LogTruncation(*position.topic_partition, position.position, latest))
            return
        reset = "earliest" if self._reset == EARLIEST else "latest"
        self._log.warn(
            "{place}: the new leader has not all that was read up to {offset}; going on from {goal}",
            place=position.topic_partition,
            offset=position.position,
            goal=end.end_offset if known else reset,
        )
        if known:
            position.seek(end.end_offset, end.leader_epoch)
            position.complete_validation(leader, end.leader_epoch)
        else:
            position.request_offset_reset(self._reset)
