"""The balancer of a ConsumerConnector over ZooKeeper, as in Kafka 0.8: its requests to the tree.

``registry`` has members and owners, ``offsets`` the offsets, ``balancer`` makes the steps, ``connection``
opens ZooKeeper.
"""
