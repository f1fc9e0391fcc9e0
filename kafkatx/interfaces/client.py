"""What a client's user can put into it: assignors, callbacks, handlers, balancers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted


class IAssignor(Interface):
    """Shares the partitions of a group's topics out among its members (``partition.assignment.strategy``).

    Factory: ``factory()``; one object per member. Every member must have it, for any may come to lead. What
    it gives is checked: a wrong one ends the leader's membership with an error that says what is wrong.
    ``kafkatx.clientcore.group.assignors.Assignor`` is one that is made of a function.
    """

    name = Attribute("What members agree on it by; no other assignor's in the world.")
    cooperative = Attribute(
        "Whether members may keep their partitions while they rebalance (KIP-429): a partition that moves is "
        "then given to nobody first, and to its new owner by the next rebalance, which follows at once."
    )

    def assign(members: Mapping[str, Any], partitions: Mapping[str, int]) -> Mapping[str, Any]:
        """Partitions, as ``types.TopicPartition``, by member id.

        Each is given once at most, to a member that subscribes to its topic. Pure: any member may be asked,
        and all must come to the same, whatever the order of *members*.

        :param members: by member id a ``kafkatx.clientcore.group.assignors.Member``: ``topics`` is what it
            wants, ``owned`` what it has where members keep their partitions.
        :param partitions: how many each topic has; of topics that are not in it nothing can be given.
        """

    def user_data(owned: Any, generation: int) -> bytes | None:
        """What the leader is to know of this member besides; ``Member.user_data`` has it then.

        :param owned: the partitions of its last assignment; None: there was none.
        :param generation: of that assignment; -1: there was none.
        """


class IProducerCallbacks(Interface):
    """Hears of records on their way through a producer (Kafka 0.7's CallbackHandler). Factory: ``factory()``.

    Called in the reactor thread. Records are ``kafkatx.clientcore.producer.values.ProducerRecord``. Batches
    have ``topic``, ``partition``, ``records`` (how many), ``payload_bytes`` (those of keys and values) and
    ``attempts``; they are not to be changed. With callbacks a producer is slower: it makes an object of each
    record.
    """

    def before_enqueue(record: Any) -> Any:
        """Called before a record is encoded and takes room; returns the record to enqueue, perhaps another.

        Of a list that is sent at once only the value may be changed.

        :raises Exception: the record is not wanted: the call to the producer fails with it.
        """

    def after_enqueue(record: Any, added: bool) -> None:
        """Called when a record has been enqueued, or could not be. What it raises is logged."""

    def after_dequeue(batch: Any) -> None:
        """Called when a batch leaves the queue, before it is sent the first time.

        What it raises is logged.
        """

    def before_sending(node_id: int, batches: Any) -> None:
        """Called before each request with the batches in it, also when they are sent again.

        What it raises is logged.
        """

    def before_close() -> Any:
        """Called when the producer closes; returns an iterable of records to be sent before that."""


class IEventHandler(Interface):
    """Stands between a producer's queue and the broker (Kafka 0.7's EventHandler). Factory: ``factory()``."""

    def handle(node_id: int, batches: Any, send: Callable[[], Deferred[Any]]) -> Deferred[Any]:
        """Handle the batches of one request; ``return send()`` is what happens without a handler.

        :param batches: as :class:`IProducerCallbacks` gets them.
        :param send: sends the request; to be called at most once. Fires with the broker's response, None with
            acks=0; fails as ``kafkatx.client.Cluster.request``.
        :return: fires with what *send* fired with; or with None, then the batches count as delivered, at
            unknown offsets. If it fails with an error that may pass they are handled again, else those who
            sent the records get ProduceFailed. It must fire: nothing else is sent to these partitions before.
        """

    def close() -> None:
        """The producer is closed."""


class IBalancer(Interface):
    """Shares the partitions of topics out among the connectors of a group, and keeps the group's offsets.

    Factory: ``factory()``. The built-in one leaves both to the group's coordinator. One over ZooKeeper
    registers the connector and its streams, watches the others and the brokers, and runs Algorithm 1 of the
    2011 paper whenever these change. One object per connector; called in the reactor thread.
    """

    def join(consumer: Any, subscription: Any, listener: Any) -> Deferred[None]:
        """Become a member of the group.

        From now on the balancer has *consumer* read its share: by ``consumer.subscribe``, or by
        ``consumer.assign`` and ``consumer.seek`` whenever that changes. It sees to it that *listener* hears
        of the changes: ``on_partitions_assigned(partitions)`` once the consumer has them, and before they go
        ``on_partitions_revoked(partitions)``, which gives an awaitable to be awaited before somebody else
        may have them, for it commits; ``on_partitions_lost`` where they have gone already.

        :param consumer: a ``kafkatx.client.Consumer`` without automatic commits, perhaps not started yet.
        :param subscription: a ``kafkatx.clientcore.legacy.topic_filter.Subscription``.
        :return: fires when it is on its way; fails with KafkaTXError: no stream will have anything.
        :raises KafkaTXError: it cannot be tried: a setting is missing.
        """

    def commit(offsets: Mapping[Any, Any]) -> Deferred[None]:
        """Keep for each ``types.TopicPartition`` an ``OffsetAndMetadata``, for whoever gets it next.

        :return: fires when they are kept; fails with CommitFailed: another has a partition now.
        """

    def leave() -> Deferred[None]:
        """Leave the group; the last offsets are kept already. The consumer is closed after this."""
