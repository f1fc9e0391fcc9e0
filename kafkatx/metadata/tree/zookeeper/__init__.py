"""A tree on ZooKeeper, by kazoo, whose threads are bridged to Deferreds. Needs ``kafkatx[zookeeper]``."""

from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.tree import ZooKeeperTree

__all__ = ["ZooKeeperSettings", "ZooKeeperTree"]
