"""The nodes of the controller and of the cluster as a whole. Pure.

- ``/controller``, ephemeral:
  ``{"version":2,"brokerid":1,"timestamp":"1795422174828","kraftControllerEpoch":-1}``. A KRaft controller
  that takes the cluster over (KIP-866) makes it persistent, with its epoch.
- ``/controller_epoch``: digits; the first controller has 1.
- ``/cluster/id``: ``{"version":"1","id":"<22 characters>"}``; the version is a text.
- ``/feature``: ``{"version":2,"status":1,"features":{}}`` (KIP-584).
- ``/kafkatx/import``: ``{"version":1,"cluster_id":"<22 characters>"}``, while a cluster is imported.
- ``/migration``: ``{"version":0,"kraft_controller_id":3000,"kraft_controller_epoch":1,...}``.

Sources: ControllerZNode, ControllerEpochZNode, ClusterIdZNode, FeatureZNode and MigrationZNode of
``kafka.zk``.
"""

from __future__ import annotations

import attrs

from kafkatx.metadata.layout.fields import UnreadableNode, encode, natural, parse, quoted_bytes
from kafkatx.metadata.layout.paths import CLUSTER_ID, CONTROLLER, CONTROLLER_EPOCH, FEATURE, IMPORT, MIGRATION

FIRST_EPOCH = 1


@attrs.frozen
class ControllerNode:
    """The content of ``/controller``.

    :ivar broker_id: the controller.
    :ivar timestamp_ms: time of its election.
    :ivar kraft_epoch: epoch of the KRaft controller that migrates the cluster; -1 for a controller in
    ZooKeeper.
    """

    broker_id: int
    timestamp_ms: int = -1
    kraft_epoch: int = -1

    def encode(self) -> bytes:
        """Return the content of the node."""
        return encode(
            {
                "version": 2,
                "brokerid": self.broker_id,
                "timestamp": str(self.timestamp_ms),
                "kraftControllerEpoch": self.kraft_epoch,
            }
        )


def decode_controller(data: bytes) -> ControllerNode:
    """Read the content of ``/controller``.

    :raises UnreadableNode: it is not one of version 1 or 2.
    """
    fields = parse(CONTROLLER, data)
    fields.version(1, 2)
    value = fields.members.get("timestamp")
    return ControllerNode(
        fields.integer("brokerid", lowest=0),
        value if type(value) is int else -1 if value == "-1" else fields.number_text("timestamp", default=-1),
        fields.integer("kraftControllerEpoch", default=-1),
    )


def is_migration(controller: ControllerNode, ephemeral_owner: int) -> bool:
    """Return True if a KRaft controller has taken the cluster over: no broker here may become the controller.

    :param ephemeral_owner: that of ``/controller``; 0 if it is persistent.
    """
    return not ephemeral_owner or controller.kraft_epoch >= 0


def encode_epoch(epoch: int) -> bytes:
    """Return the content of ``/controller_epoch``."""
    return b"%d" % epoch


def decode_epoch(data: bytes) -> int:
    """Read the content of ``/controller_epoch``.

    :raises UnreadableNode: it is not a number.
    """
    epoch = natural(data.decode("ascii", "replace"))
    if epoch is None:
        raise UnreadableNode(CONTROLLER_EPOCH, quoted_bytes(data), "digits")
    return epoch


def encode_cluster_id(cluster_id: str) -> bytes:
    """Return the content of ``/cluster/id``."""
    return encode({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    """Read the content of ``/cluster/id``.

    :raises UnreadableNode: it has no id, or is not of version 1.
    """
    fields = parse(CLUSTER_ID, data)
    if fields.members.get("version") not in ("1", 1):
        raise fields.wrong("version", 'version "1"')
    cluster_id = fields.text("id")
    if not cluster_id:
        raise fields.wrong("id", "a cluster id")
    return cluster_id


def encode_import(cluster_id: str) -> bytes:
    """Return the content of ``/kafkatx/import``."""
    return encode({"version": 1, "cluster_id": cluster_id})


def decode_import(data: bytes) -> str:
    """Return the id of the cluster that ``/kafkatx/import`` names.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(IMPORT, data)
    fields.version(1, 1)
    return fields.text("cluster_id")


def encode_feature() -> bytes:
    """Return the content of ``/feature`` for a cluster without finalized features."""
    return encode({"version": 2, "status": 1, "features": {}})


def decode_feature(data: bytes) -> dict[str, int]:
    """Return the finalized version of each feature in ``/feature``; none if the status is disabled.

    :raises UnreadableNode: it is not one of version 1 or 2.
    """
    fields = parse(FEATURE, data)
    fields.version(1, 2)
    enabled = fields.integer("status", lowest=0, highest=1)
    features = fields.object("features")
    levels = {name: features.object(name).integer("max_version_level", lowest=1) for name in features}
    return levels if enabled else {}


@attrs.frozen
class MigrationNode:
    """The content of ``/migration``, which a KRaft controller writes when it migrates a cluster (KIP-866).

    :ivar kraft_controller_id: -1 if none has taken the cluster over.
    """

    kraft_controller_id: int
    kraft_controller_epoch: int


def decode_migration(data: bytes) -> MigrationNode:
    """Read the content of ``/migration``.

    :raises UnreadableNode: it is not one of version 0.
    """
    fields = parse(MIGRATION, data)
    fields.version(0, 0)
    return MigrationNode(fields.integer("kraft_controller_id"), fields.integer("kraft_controller_epoch"))
