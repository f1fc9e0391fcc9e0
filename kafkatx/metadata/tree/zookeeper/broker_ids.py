"""Generated broker ids, as Apache Kafka's ``KafkaZkClient.generateBrokerId``. Blocks.

It runs before the broker is made, when no reactor waits.
"""

from __future__ import annotations

from kazoo.exceptions import KazooException, NoNodeError

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import TreeError
from kafkatx.metadata.tree.zookeeper.kazoo_client import Client
from kafkatx.metadata.tree.zookeeper.requests import acl
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.start import connected_client

SEQUENCE = "/brokers/seqid"
"""The node whose version grows with each generated id. It has no data."""


def generate_broker_id(settings: ZooKeeperSettings, reserved_max_id: int) -> int:
    """Return an id that no other broker of the cluster has got.

    :param reserved_max_id: largest id that is not generated.
    :raises SettingError: ZooKeeper cannot be reached, or refuses it.
    """
    try:
        with connected_client(settings, settings.hosts) as client:
            return reserved_max_id + _next(client, settings)
    except (TreeError, KazooException) as error:
        cause = str(error) if isinstance(error, TreeError) else f"{type(error).__name__} {error}".rstrip()
        raise SettingError(
            f"broker.id: it is not set, and ZooKeeper could not generate one: {cause}; check "
            "zookeeper.connect, and that it runs"
        ) from error


def _next(client: Client, settings: ZooKeeperSettings) -> int:
    path = settings.chroot + SEQUENCE
    try:
        stat = client.set(path, b"")
    except NoNodeError:
        client.ensure_path(path, acl(SEQUENCE, settings.set_acl))
        stat = client.set(path, b"")
    return int(stat.version)
