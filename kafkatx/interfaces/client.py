"""Interfaces of a client's plugins: assignors, callbacks, event handlers, balancers.

Some parameters are values of ``kafkatx.clientcore``; their types are in the docstrings, because this package
does not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

    from kafkatx.types import TopicPartition


class IAssignor(Interface):
    """Assigns the partitions of a group's topics to its members (``partition.assignment.strategy``).

    Factory: ``factory()``; one object per member. Every member must have the assignor, because any of them
    may become the leader. Assignments are checked: with a wrong one the leader leaves the group with an error
    that says what is wrong. ``kafkatx.clientcore.group.assignors.Assignor`` makes an assignor of a function.
    """

    name: str = Attribute("Name by which members agree on it; unique among all assignors.")
    cooperative: bool = Attribute(
        "True if members may keep their partitions during a rebalance (KIP-429): a partition that moves is "
        "first assigned to no member, and to its new owner in the next rebalance, which follows at once."
    )

    def assign(
        members: Mapping[str, Any], partitions: Mapping[str, int]
    ) -> Mapping[str, Collection[TopicPartition]]:
        """Return the partitions of each member, by member id.

        Each partition is assigned at most once, to a member that subscribes to its topic. Pure: any member
        may be asked, and the result must be the same, whatever the order of *members*.

        :param members: a ``kafkatx.clientcore.group.assignors.Member`` by member id: ``topics`` are its
            subscriptions, ``owned`` its current partitions if members keep them.
        :param partitions: the number of partitions by topic; other topics cannot be assigned.
        """

    def user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
        """Return data for the leader, which finds it in ``Member.user_data``.

        :param owned: the partitions of the member's last assignment; None if there was none.
        :param generation: the generation of that assignment; -1 if there was none.
        """


class IProducerCallbacks(Interface):
    """Callbacks of a producer for its records (Kafka 0.7's CallbackHandler). Factory: ``factory()``.

    They are called in the reactor thread. Records are ``kafkatx.clientcore.producer.values.ProducerRecord``.
    Batches have ``topic``, ``partition``, ``records`` (their number), ``payload_bytes`` (of keys and values)
    and ``attempts``; they must not be changed. Callbacks make a producer slower: it makes an object of each
    record.
    """

    def before_enqueue(record: Any) -> Any:
        """Return the record to enqueue, perhaps another one; called before the record is encoded.

        If a list is sent at once only the values of its records may be changed.

        :raises Exception: rejects the record: the call to the producer fails with this error.
        """

    def after_enqueue(record: Any, added: bool) -> None:
        """Observe a record after it was enqueued, or could not be. Exceptions are logged."""

    def after_dequeue(batch: Any) -> None:
        """Observe a batch that leaves the queue, before it is sent the first time. Exceptions are logged."""

    def before_sending(node_id: int, batches: Sequence[Any]) -> None:
        """Observe the batches of a request before it is sent, or sent again. Exceptions are logged."""

    def before_close() -> Iterable[Any]:
        """Return records to send before the producer closes; called when it closes."""


class IEventHandler(Interface):
    """Sends a producer's batches to the broker (Kafka 0.7's EventHandler). Factory: ``factory()``."""

    def handle(node_id: int, batches: Sequence[Any], send: Callable[[], Deferred[Any]]) -> Deferred[Any]:
        """Handle the batches of one request. Without a handler the producer does ``return send()``.

        :param batches: batches as in :class:`IProducerCallbacks`.
        :param send: sends the request; it may be called at most once. Fires with the broker's response, None
            with acks=0; fails as ``kafkatx.client.Cluster.request``.
        :return: fires with the result of *send*; or with None, then the batches count as delivered, at
            unknown offsets. If it fails with a retriable error they are handled again, otherwise the senders
            of the records get ProduceFailed. It must fire: until then nothing else is sent to these
            partitions.
        """

    def close() -> None:
        """Release resources; called when the producer is closed."""


class IBalancer(Interface):
    """Assigns the partitions of topics to the connectors of a group, and stores the group's offsets.

    Factory: ``factory()``. The built-in one leaves both to the group coordinator. One with ZooKeeper would
    register the connector and its streams, watch the others and the brokers, and run Algorithm 1 of the 2011
    paper whenever these change. One object per connector; called in the reactor thread.
    """

    def join(consumer: Any, subscription: Any, listener: Any) -> Deferred[None]:
        """Become a member of the group.

        Then the balancer gives *consumer* its partitions: with ``consumer.subscribe``, or with
        ``consumer.assign`` and ``consumer.seek`` whenever they change. It calls *listener* for each change:
        ``on_partitions_assigned(partitions)`` after the consumer has them; before they are revoked
        ``on_partitions_revoked(partitions)``, which commits: its awaitable must be awaited before another
        connector may have them; ``on_partitions_lost`` if they are already revoked.

        :param consumer: a ``kafkatx.client.Consumer`` without automatic commits; it may not be started yet.
        :param subscription: a ``kafkatx.clientcore.legacy.topic_filter.Subscription``.
        :return: fires with None when joining has begun; fails with KafkaTXError: no stream will get messages.
        :raises KafkaTXError: a setting is missing.
        """

    def commit(offsets: Mapping[TopicPartition, Any]) -> Deferred[None]:
        """Store the offsets from which the next owner of each partition continues.

        :param offsets: an ``OffsetAndMetadata`` of ``kafkatx.clientcore.group.offsets`` by partition.
        :return: fires with None when they are stored; fails with CommitFailed if another connector has one of
            the partitions now.
        """

    def leave() -> Deferred[None]:
        """Leave the group; fires with None.

        The last offsets are stored before. The consumer is closed after it.
        """
