"""The brokers of a cluster, found in ZooKeeper (``zookeeper.connect``) in place of ``bootstrap.servers``.

``connection`` makes the tree. ``registrations`` are the nodes below ``/brokers/ids``, ``zookeeper_brokers``
reads and watches them, and ``bootstrap`` makes it as the settings say.
"""
