"""What the cluster's coordinator promises: its state, and changes to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

ConfigChange: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From the configs that are there to those that shall be there instead; may raise RequestError.

It is pure: a coordinator may call it more than once, and off the reactor thread.
"""


class ICoordinator(Interface):
    """The cluster's state: brokers alive, topics, partitions, leaders, configs; and watches on them.

    Factory: ``factory(config, workers, durable)``: a ``config.BrokerConfig``, :data:`Workers`, and whether
    the state must outlive the process, as the records of the broker's store do (``ILogStore.durable``).
    Reads are of :attr:`state`, an immutable value in memory; changes are Deferreds that fire after the
    change is durable and :attr:`state` shows it.
    """

    state = Attribute("types.ClusterState; replaced as a whole.")
    recorded = Attribute("types.LogDirRecord: what was on record of this broker's log dirs at its start.")
    generation = Attribute(
        "int: rises with each durable change; 0 where an older state cannot come back. The log dirs note it: "
        "a start with a lower one is refused."
    )

    def start(node: Any) -> Deferred[None]:
        """Load the state and register this broker (a ``types.BrokerNode``).

        :return: fails with StateLost where the state is missing or damaged though there is data of it.
        """

    def subscribe(listener: Callable[[Any, Any], None]) -> None:
        """Call ``listener(old, new)`` in the reactor thread after each change of :attr:`state`."""

    def create_topic(name: str, assignment: Any, configs: Any) -> Deferred[Any]:
        """Create a topic; fires with its ``types.Topic``.

        :param assignment: for each partition the sequence of its replicas' broker ids, the leader first.
        :param configs: mapping of config names to values, already validated.
        :return: fails with RequestError TOPIC_ALREADY_EXISTS.
        """

    def delete_topic(name: str) -> Deferred[None]:
        """Delete a topic; fails with RequestError UNKNOWN_TOPIC_OR_PARTITION.

        Its id is in :attr:`recorded` ``.deleted`` until :meth:`record` is told that it is gone.
        """

    def add_partitions(name: str, count: int, assignment: Any) -> Deferred[Any]:
        """Let a topic that has *count* partitions have more; fires with its ``types.Topic``.

        All of the new partitions are there after a crash, or none.

        :param assignment: for each new partition the sequence of its replicas' broker ids, the leader first.
        :return: fails with RequestError UNKNOWN_TOPIC_OR_PARTITION; INVALID_PARTITIONS where the topic has
            another number of partitions than *count*: somebody else was faster.
        """

    def alter_topic_configs(name: str, change: ConfigChange) -> Deferred[None]:
        """Let a topic have other configs.

        Two changes at the same time are made one after the other, and none is lost.

        :return: fails with RequestError UNKNOWN_TOPIC_OR_PARTITION, or as *change* does: then nothing of it
            is done.
        """

    def alter_broker_configs(broker: str, change: ConfigChange) -> Deferred[None]:
        """Let a broker have other settings than those it was started with; as :meth:`alter_topic_configs`.

        :param broker: the broker's id as text, or ``types.ALL_BROKERS`` for the defaults of all brokers.
        """

    def alter_group_configs(group_id: str, change: ConfigChange) -> Deferred[None]:
        """Let a group have other configs, whether it is there or not; as :meth:`alter_topic_configs`."""

    def alter_client_quotas(changes: Mapping[Any, Mapping[str, float | None]]) -> Deferred[None]:
        """Set and remove client quotas: after a crash all of the changes are there, or none.

        :param changes: for each ``types.QuotaEntity`` the quotas' values by name, already validated; None
            removes one, also where there is none.
        """

    def allocate_producer_ids(count: int) -> Deferred[range]:
        """Reserve *count* producer ids that no broker of the cluster ever gave out, or will again."""

    def record(log_dirs: Mapping[str, str] | None, placed: Any, gone: Any) -> Deferred[None]:
        """Write down where this broker's logs are; fires when it is durable.

        :param log_dirs: the paths of the log dirs in use, by ``directory.id``; None: as before.
        :param placed: iterable of ``types.Placement``; what is not a partition any more is ignored.
        :param gone: ids of deleted topics of which no directory is left.
        """

    def stop() -> Deferred[None]:
        """Give up the registration and let go of all resources."""
