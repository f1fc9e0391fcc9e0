"""The tree that brokers share: implementations of :class:`~kafkatx.interfaces.tree.ITree`.

``client`` has what all have in common, ``memory`` is for tests, ``zookeeper`` for clusters.
"""
