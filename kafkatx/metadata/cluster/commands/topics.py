"""Commands about topics: create, delete, add partitions.

It touches the tree. The controller writes the states of partitions, and deletes what is marked for deletion.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Check, Create, Operation, SetData
from kafkatx.metadata.cluster.commands.transactions import REQUEST_S, Plan, Transactions, timed_out
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.layout import configs as config_nodes
from kafkatx.metadata.layout import entities, paths, topics
from kafkatx.metadata.layout.changes import ChangeRecord, TopicChange
from kafkatx.metadata.layout.topics import TopicNode
from kafkatx.types import Topic

LED_S = 5.0
"""Seconds to wait for the leaders of new partitions: their brokers may all be away."""


class TopicCommands:
    """Changes topics.

    :param new_uuid: returns topic ids.
    """

    def __init__(
        self, tree: ITree, view: View, transactions: Transactions, new_uuid: Callable[[], uuid.UUID]
    ) -> None:
        self._tree = tree
        self._view = view
        self._transactions = transactions
        self._new_uuid = new_uuid

    async def create(
        self, name: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str]
    ) -> Topic:
        """Create a topic.

        :return: the topic, with leaders if they are elected in time.
        :raises RequestError: TOPIC_ALREADY_EXISTS; or as ``Transactions.make``.
        """
        partitions = tuple(map(tuple, assignment))
        # a new id for each attempt: the topic of one in doubt may have been made, and deleted since
        tried: list[uuid.UUID] = []
        config_path = paths.config(entities.topic(name).path)
        content = config_nodes.encode_configs(configs)

        async def plan() -> Plan | None:
            found = await read(self._tree, paths.topic(name))
            if found is not None:
                if topics.decode(paths.topic(name), found[0]).topic_id in tried:
                    return None  # the record of our transaction was removed before we found it
                raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
            left = await self._tree.exists(config_path)  # of a topic that another program has deleted
            config = (
                Create(config_path, content) if left is None else SetData(config_path, content, left.version)
            )
            topic_id = self._new_uuid()
            tried.append(topic_id)
            node = TopicNode(topic_id, partitions).encode()
            change = TopicChange(topic_id, 0, partitions, configs)
            return Plan([config, Create(paths.topic(name), node)], ChangeRecord("", {name: change}))

        await self._transactions.make(plan)
        return await self._led(name, tried)

    async def add_partitions(self, name: str, count: int, assignment: Sequence[Sequence[int]]) -> Topic:
        """Add partitions to a topic.

        :return: the topic, with leaders if they are elected in time.
        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS; or as ``Transactions.make``.
        """
        topic_id: uuid.UUID | None = None

        async def plan() -> Plan:
            nonlocal topic_id
            fence = await deletion_fence(self._tree)
            path = paths.topic(name)
            found = await read(self._tree, path)
            if found is None:
                raise unknown_topic(name)
            data, stat = found
            node = topics.decode(path, data)
            if len(node.partitions) != count:
                raise RequestError(
                    ErrorCode.INVALID_PARTITIONS,
                    f"Topic {name!r} has {len(node.partitions)} partitions by now, not {count}.",
                )
            topic_id = node.topic_id
            grown = attrs.evolve(node, partitions=(*node.partitions, *map(tuple, assignment)))
            change = None  # a topic without an id has no record: its nodes are read
            if topic_id is not None:
                change = TopicChange.of(grown, topic_id, stat.version + 1)
            operations: list[Operation] = [*fence, SetData(path, grown.encode(), stat.version)]
            return Plan(operations, ChangeRecord("", {name: change}))

        await self._transactions.make(plan)
        return await self._led(name, [topic_id])

    async def delete(self, name: str) -> None:
        """Delete a topic; when this returns the state does not show it any more.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION; REQUEST_TIMED_OUT: it is marked for deletion, but
        there
            is no controller.
        """

        async def plan() -> Plan | None:
            if await self._tree.exists(paths.topic(name)) is None:
                raise unknown_topic(name)
            if await self._tree.exists(paths.deleted_topic(name)) is not None:
                return None
            return Plan(
                [Check(paths.topic(name)), Create(paths.deleted_topic(name))],
                ChangeRecord("", deleting=[name]),
            )

        topic = self._view.state.topics.get(name)
        await self._transactions.make(plan)
        topic = self._view.state.topics.get(name, topic)
        if topic is not None:
            topic_id = topic.topic_id
            gone = lambda: topic_id not in self._view.state.topic_names  # noqa: E731
            if not await self._view.until(gone, REQUEST_S):
                raise timed_out()

    async def _led(self, name: str, topic_ids: Sequence[uuid.UUID | None]) -> Topic:
        """Wait until all partitions of a topic have a state, or for some seconds.

        :param topic_ids: the ids that it may have; None: any id.
        """

        def led() -> bool:
            topic = self._view.state.topics.get(name)
            if topic is None:
                return name not in self._view.image.unidentified  # it is gone; or has no id yet
            return all(each.partition_epoch >= 0 for each in topic.partitions)

        await self._view.until(led, LED_S)
        topic = self._view.state.topics.get(name)
        if topic is None or not (topic.topic_id in topic_ids or None in topic_ids):
            raise RequestError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {name!r} was deleted at the same time."
            )
        return topic


async def deletion_fence(tree: ITree) -> list[Check]:
    """Return the check that no topic is deleted from now on until the transaction is made.

    The versions of nodes alone do not tell a topic from another one of its name that was created since.
    """
    found = await tree.exists(paths.DELETIONS)
    return [] if found is None else [Check(paths.DELETIONS, found.version)]


def unknown_topic(name: str) -> RequestError:
    """Return the error for a topic that does not exist."""
    return RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")
