"""Reads after a transaction of the controller that could not be made: it knew something wrongly.

It touches the tree, which it only reads, and changes the image.
"""

from __future__ import annotations

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import BadVersion, Check, NoNode, OperationError, SetData
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.pieces import Piece, TopicNodes
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.changes import StateChange
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition


class Corrections:
    """Reads again what a failed transaction shows to be another by now.

    :ivar nodes: which nodes of topics exist, of topics that differ from what the image says.
    """

    def __init__(self, tree: ITree, follower: Follower, view: View) -> None:
        self.nodes: dict[str, TopicNodes] = {}
        self._tree = tree
        self._follower = follower
        self._view = view

    async def read(self, piece: Piece, error: OperationError) -> bool:
        """Read what a transaction has failed for.

        :return: True if a leader or a broker was just quicker: the image shows its change now.
        """
        if isinstance(error.operation, Check) and error.path.startswith(f"{paths.INCARNATIONS}/"):
            await self._follower.read_brokers()
            return True
        one = paths.parse_state(error.path)
        if one is not None and isinstance(error.operation, SetData) and isinstance(error, BadVersion):
            version = await self._read_state(one)
            if version not in (None, error.operation.version):
                return True
        await self._read_topics(piece)
        return False

    async def _read_state(self, one: TopicPartition) -> int | None:
        """Read the state of a partition; return its version, or None if the topic is another one by now."""
        image = self._view.image
        try:
            found = await self._follower.loader.state(*one)
        except UnreadableNode:
            return None
        topic = await self._tree.exists(paths.topic(one.topic))
        if found is None or topic is None or topic.mzxid != image.zxids.get(one.topic):
            return None
        node, stat = found
        draft = Draft(self._view.image)
        draft.change_state(StateChange(*one, node, stat.version), stat.mzxid)
        self._view.show(*draft.finish())
        return stat.version

    async def _read_topics(self, piece: Piece) -> None:
        names = sorted(piece.topics)
        loader = self._follower.loader
        for name, nodes in zip(names, await each(loader.topic_nodes, names), strict=True):
            self.nodes[name] = nodes
        found = await each(loader.topic, names)
        there = set(await self._tree.children(paths.TOPICS))
        marks = await self._tree.children(paths.DELETE_TOPICS)
        draft = Draft(self._view.image)
        draft.set_deleting(marks)
        for name, topic in zip(names, found, strict=True):
            if topic is not None:
                draft.put_topic(topic)
            elif name not in there:
                draft.drop_topic(name)
        self._view.show(*draft.finish())


def ends_role(error: OperationError) -> bool:
    """Return True if the check of the controller's epoch has failed: another broker was elected."""
    checked = isinstance(error.operation, Check) and error.path == paths.CONTROLLER_EPOCH
    return checked and isinstance(error, BadVersion | NoNode)
