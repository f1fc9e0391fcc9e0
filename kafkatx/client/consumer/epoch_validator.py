"""Validation of positions after a leader change (KIP-320).

A leader that was elected although it lacks some records (unclean election) has other records from some offset
on. So it is asked where the epoch of the last record ends in its log::

    read: epoch 4 up to offset 120     new leader: epoch 4 ends at 120 or later        continue
                                       epoch 4 ends at 100: the logs diverge there     go back to 100
                                       it has neither this epoch nor an earlier one    auto.offset.reset
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
    """Validates positions against the logs of their leaders.

    :param reset: ``auto.offset.reset``: EARLIEST, LATEST, or None.
    """

    _log = Logger()

    def __init__(self, cluster: Cluster, reset: int | None) -> None:
        self._cluster = cluster
        self._reset = reset

    async def validate(self, states: list[TopicPartitionState]) -> dict[TopicPartitionState, KafkaTXError]:
        """Ask the leaders once about all *states*; return the errors of those that could not be validated.

        If buffered records do not match the leader's log they are dropped, and the position has to be
        validated again.
        """
        revisions = [state.revision for state in states]
        metadata = self._cluster.metadata
        queries = {
            state.topic_partition: EpochQuery(
                leader_epoch(metadata, state.topic_partition), state.fetch_epoch
            )
            for state in states
        }
        found = await epoch_ends(self._cluster, queries)
        failed: dict[TopicPartitionState, KafkaTXError] = {}
        for state, revision in zip(states, revisions, strict=True):
            outcome = found[state.topic_partition]
            leader = queries[state.topic_partition].current_leader_epoch
            if state.revision != revision:
                continue
            if isinstance(outcome, EpochEndOffset):
                self._complete(state, outcome, leader)
            elif isinstance(outcome, RequestError) and outcome.code is ErrorCode.UNSUPPORTED_VERSION:
                state.complete_validation(leader, NO_LEADER_EPOCH)
            else:
                failed[state] = outcome
        return failed

    def _complete(self, state: TopicPartitionState, end: EpochEndOffset, leader: int) -> None:
        """Do the same as ``SubscriptionState.maybeCompleteValidation``, but drop buffered records first."""
        if end.leader_epoch >= 0 and state.fetch_offset <= end.end_offset:
            state.complete_validation(leader, end.leader_epoch)
        elif state.fetch_offset == state.position:
            self._truncated(state, end, leader)
        else:
            state.drop_buffered()
            if state.fetch_epoch < 0:
                state.complete_validation(leader, NO_LEADER_EPOCH)

    def _truncated(self, state: TopicPartitionState, end: EpochEndOffset, leader: int) -> None:
        known = end.leader_epoch >= 0
        if self._reset is None:
            latest = end.end_offset if known else UNKNOWN
            state.fail(LogTruncation(*state.topic_partition, state.position, latest))
            return
        reset = "earliest" if self._reset == EARLIEST else "latest"
        self._log.warn(
            "{topic_partition}: the new leader lacks records before offset {offset}; continuing at {target}",
            topic_partition=state.topic_partition,
            offset=state.position,
            target=end.end_offset if known else reset,
        )
        if known:
            state.seek(end.end_offset, end.leader_epoch)
            state.complete_validation(leader, end.leader_epoch)
        else:
            state.request_offset_reset(self._reset)
