"""The progress of the replicas that follow a leader, and the rules that follow from it. Pure.

It touches nothing: times are arguments. :mod:`kafkatx.broker.replica.partition` has a :class:`Leadership` for
each partition that this broker leads and that has more than one replica;
:mod:`kafkatx.broker.replica.isr` asks the cluster for the changes that :meth:`Leadership.next_isr` proposes.

A follower that fetches from an offset has everything below it. The high watermark is the smallest end of the
*maximal* in-sync replicas: the members by the cluster's state, and those whose joining is asked for. A member
that leaves counts until its leaving is written; a joining one from the asking on. So the high watermark is
right whether or not the change is written.

Sources: ``Replica.scala``, ``Partition.scala`` of Apache Kafka 3.9; KIP-966 for ``eligible``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

import attrs

from kafkatx.types import PartitionState, TopicPartition

PartitionT_contra = TypeVar("PartitionT_contra", contravariant=True)

UNKNOWN = -1
"""The end of a replica that has not fetched from this leader."""


class Replicas(Protocol):
    """The brokers that have replicas of one partition, as the cluster sees them."""

    def may_join(self, broker_id: int, broker_epoch: int) -> bool:
        """Return True if a replica may join: its broker lives in that epoch, does not stop, its dir works."""

    def is_whole(self, broker_id: int, state: PartitionState) -> bool:
        """Return True if a replica that was in sync by a state still has all its records.

        Its broker is live, and its machine did not go down since the state was written.
        """


class Cluster(Protocol[PartitionT_contra]):
    """The part of the cluster that a partition must know: live brokers, the lease, in-sync replicas.

    :class:`kafkatx.broker.replica.isr.IsrManager` provides it.

    :ivar broker_id: the id of this broker.
    :ivar lag_s: ``replica.lag.time.max.ms`` in seconds.
    """

    broker_id: int
    lag_s: float

    def now_s(self) -> float:
        """Return the time of the monotonic clock."""

    def has_lease(self) -> bool:
        """Return True if no other broker can lead this one's partitions now."""

    def epoch_of(self, broker_id: int) -> int | None:
        """Return the broker epoch of a live broker, None for others."""

    def replicas_of(self, name: TopicPartition) -> Replicas:
        """Return what the cluster says of the replicas of a partition."""

    def look_at(self, partition: PartitionT_contra) -> None:
        """Ask for other in-sync replicas of a partition soon, if they must change."""

    def log_start_moved(self, partition: PartitionT_contra) -> None:
        """Write the log start of a partition that this broker follows to the disk soon."""


@attrs.define
class Follower:
    """The progress of one replica in one leader epoch.

    :ivar broker_epoch: the life of its broker whose fetches these are; -1 if it has not fetched.
    :ivar end_offset: it has all records below this offset.
    :ivar log_start_offset: where its log starts.
    :ivar caught_up_s: the last time at which it had everything that the leader had.
    :ivar fetched_s: the time of its last fetch.
    :ivar leader_end: the leader's end at that fetch.
    """

    broker_epoch: int = -1
    end_offset: int = UNKNOWN
    log_start_offset: int = UNKNOWN
    caught_up_s: float = -inf
    fetched_s: float = -inf
    leader_end: int = UNKNOWN

    def fetched(self, fetch_offset: int, log_start_offset: int, leader_end: int, now_s: float) -> None:
        """Note a fetch.

        A follower that has reached the end that the leader had at the fetch before was caught up then: under
        a steady load it never reaches the end of the present moment.
        """
        if fetch_offset >= leader_end:
            self.caught_up_s = max(self.caught_up_s, now_s)
        elif fetch_offset >= self.leader_end:
            self.caught_up_s = max(self.caught_up_s, self.fetched_s)
        self.end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.leader_end = max(self.leader_end, leader_end)
        self.fetched_s = now_s

    def is_caught_up(self, leader_end: int, now_s: float, lag_s: float) -> bool:
        """Return True if it has everything, or had it less than ``replica.lag.time.max.ms`` ago."""
        return self.end_offset == leader_end or now_s - self.caught_up_s <= lag_s


@attrs.frozen
class Asked:
    """A change of the in-sync replicas that is asked for and not settled.

    :ivar partition_epoch: that of the state which it is to replace. Once the state has another one, the
        change is made or never will be.
    """

    partition_epoch: int
    isr: tuple[int, ...]


class Leadership:
    """The replicas of a partition, as its leader in one epoch sees them.

    :ivar state: the partition's state in the cluster.
    :ivar min_insync: ``min.insync.replicas``, at most the number of replicas.
    :ivar epoch_start_offset: the log end at the beginning of the epoch: who joins has at least that.
    :ivar followers: the progress of the other replicas by their broker ids.
    :ivar asked: the change of the in-sync replicas under way.
    :ivar refused: True if the last change was refused: nothing is asked for until the state or the brokers
        have changed, or some time has passed (:meth:`retry`).
    """

    __slots__ = ("_broker_id", "asked", "epoch_start_offset", "followers", "min_insync", "refused", "state")

    def __init__(
        self, broker_id: int, state: PartitionState, min_insync: int, epoch_start_offset: int, now_s: float
    ) -> None:
        self._broker_id = broker_id
        self.state = state
        self.min_insync = min_insync
        self.epoch_start_offset = epoch_start_offset
        self.followers: dict[int, Follower] = {}
        self.asked: Asked | None = None
        self.refused = False
        self._add_followers()
        self.begin(now_s)

    def begin(self, now_s: float) -> None:
        """Give the in-sync replicas the full time to fetch: this broker leads from now on, or again."""
        for replica_id in self.state.isr:
            if replica_id != self._broker_id:
                follower = self.followers[replica_id]
                follower.caught_up_s = max(follower.caught_up_s, now_s)

    def log_was_cut(self, log_end_offset: int) -> None:
        """Forget the progress of all replicas, since what they have may be what this log has lost."""
        self.epoch_start_offset = log_end_offset
        for replica_id, follower in self.followers.items():
            self.followers[replica_id] = Follower(follower.broker_epoch, caught_up_s=follower.caught_up_s)

    def apply(self, state: PartitionState, min_insync: int, now_s: float) -> None:
        """Take over a new state of the same leader epoch; it settles the change that is asked for."""
        joined = set(state.isr) - set(self.state.isr)
        self.state = state
        self.min_insync = min_insync
        self.refused = False
        if self.asked is not None and state.partition_epoch > self.asked.partition_epoch:
            self.asked = None
        kept = {*state.replicas, *state.isr}
        for replica_id in self.followers.keys() - kept:
            del self.followers[replica_id]
        self._add_followers()
        for replica_id in joined & self.followers.keys():
            follower = self.followers[replica_id]
            follower.caught_up_s = max(follower.caught_up_s, now_s)

    def _add_followers(self) -> None:
        for replica_id in (*self.state.replicas, *self.state.isr):
            if replica_id != self._broker_id and replica_id not in self.followers:
                self.followers[replica_id] = Follower()

    def forget_lives(self, epoch_of: Callable[[int], int | None]) -> None:
        """Forget the progress of replicas whose brokers have registered again: their logs may be shorter.

        :param epoch_of: returns the broker epoch of a live broker, None for others.
        """
        self.refused = False
        for replica_id, follower in self.followers.items():
            epoch = epoch_of(replica_id)
            if epoch is not None and epoch != follower.broker_epoch:
                self._begin_life(replica_id, epoch)

    def _begin_life(self, replica_id: int, broker_epoch: int) -> Follower:
        is_member = replica_id in self.state.isr
        caught_up_s = self.followers[replica_id].caught_up_s if is_member else -inf
        follower = self.followers[replica_id] = Follower(broker_epoch, caught_up_s=caught_up_s)
        return follower

    def fetched(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        log_start_offset: int,
        leader_end: int,
        now_s: float,
    ) -> Follower | None:
        """Note the fetch of a replica; return its progress, or None if it is no replica of the partition.

        A fetch of another life of its broker begins its progress anew: what counts is what this life has.
        """
        follower = self.followers.get(replica_id)
        if follower is None:
            return None
        if follower.broker_epoch != broker_epoch:
            follower = self._begin_life(replica_id, broker_epoch)
        follower.fetched(fetch_offset, log_start_offset, leader_end, now_s)
        return follower

    # --- the high watermark

    def committed_end(self, own_end: int, now_s: float, lag_s: float, replicas: Replicas) -> int:
        """Return the offset up to which (exclusive) records are committed; -1 if that must not move.

        It stands still while there are fewer in-sync replicas than ``min.insync.replicas``, and while there
        are eligible ones: these have all that is committed, and must keep having it (KIP-966). It waits also
        for replicas that are caught up and about to join: otherwise it could outrun them for ever.

        :param own_end: the end of the leader's log, or of its flushed part if only that is exposed.
        """
        state, asked = self.state, self.asked
        if len(state.isr) < self.min_insync or state.eligible:
            return UNKNOWN
        end = own_end
        for replica_id, follower in self.followers.items():
            if follower.end_offset < end and (
                replica_id in state.isr
                or (asked is not None and replica_id in asked.isr)
                or self._is_about_to_join(replica_id, follower, own_end, now_s, lag_s, replicas)
            ):
                end = follower.end_offset
        return end

    def _is_about_to_join(
        self,
        replica_id: int,
        follower: Follower,
        own_end: int,
        now_s: float,
        lag_s: float,
        replicas: Replicas,
    ) -> bool:
        return (
            follower.end_offset != UNKNOWN
            and follower.is_caught_up(own_end, now_s, lag_s)
            and replicas.may_join(replica_id, follower.broker_epoch)
        )

    def low_watermark(self, own_start: int, is_live: Callable[[int], bool]) -> int:
        """Return the smallest log start offset of the replicas; -1 if one has told none.

        Replicas that are not live do not count, unless they may be elected when they come back. Others join
        again only when their logs start where the leader's does.
        """
        electable = (*self.state.isr, *self.state.eligible)
        starts = [
            follower.log_start_offset
            for replica_id, follower in self.followers.items()
            if replica_id in electable or (replica_id in self.state.replicas and is_live(replica_id))
        ]
        return min([own_start, *starts])

    # --- in-sync replicas

    def next_isr(
        self,
        own_start: int,
        own_end: int,
        high_watermark: int,
        now_s: float,
        lag_s: float,
        replicas: Replicas,
    ) -> tuple[int, ...] | None:
        """Return the in-sync replicas to ask for; None if they are right, or a change is under way.

        A member leaves that was not caught up for ``replica.lag.time.max.ms``. With any change, members
        leave that are not live: the cluster would refuse a state that names them. So do those whose machine
        went down since the state was written: a later state that names them would vouch for their logs. They
        join again with the next change. Another replica joins if it has all that is committed, all from
        before this epoch, and is caught up.

        The same in-sync replicas are asked for again to clear ``recovering``, and ``eligible`` where their
        number suffices.

        :param own_start: the start of the leader's log: what was deleted must not come back with a replica.
        :param own_end: the end of the leader's log.
        """
        state = self.state
        if self.asked is not None or self.refused:
            return None
        members = [one for one in state.isr if one != self._broker_id]
        late = {one for one in members if not self.followers[one].is_caught_up(own_end, now_s, lag_s)}
        joining = [
            replica_id
            for replica_id in state.replicas
            if replica_id != self._broker_id
            and replica_id not in state.isr
            and self.may_join(replica_id, own_start, own_end, high_watermark, now_s, lag_s, replicas)
        ]
        again = state.recovering or (bool(state.eligible) and len(state.isr) >= self.min_insync)
        if not late and not joining and not again:
            return None
        staying = [one for one in members if one not in late and replicas.is_whole(one, state)]
        return (self._broker_id, *staying, *joining)

    def may_join(
        self,
        replica_id: int,
        own_start: int,
        own_end: int,
        high_watermark: int,
        now_s: float,
        lag_s: float,
        replicas: Replicas,
    ) -> bool:
        """Return True if a replica could become a member."""
        follower = self.followers[replica_id]
        return (
            follower.end_offset >= max(high_watermark, self.epoch_start_offset, 0)
            and follower.log_start_offset >= own_start
            and follower.is_caught_up(own_end, now_s, lag_s)
            and replicas.may_join(replica_id, follower.broker_epoch)
        )

    def ask(self, isr: tuple[int, ...]) -> Asked:
        """Note that a change is asked for; :meth:`settle` takes what is returned."""
        self.asked = Asked(self.state.partition_epoch, isr)
        return self.asked

    def settle(self, asked: Asked, refused: bool) -> None:
        """Note the outcome of a change, unless a new state has settled it already."""
        if self.asked is asked:
            self.asked = None
            self.refused = refused

    def retry(self) -> None:
        """Ask again for what was refused, should it still be wanted."""
        self.refused = False
