"""Codecs of the nodes that the brokers of a cluster share: paths and JSON, as Apache Kafka 3.9 writes them.

Pure. The content of a node is read with its path, for error messages only; a node that is foreign, newer or
damaged raises :class:`~kafkatx.metadata.layout.fields.UnreadableNode` and never another exception. Unknown
keys are ignored, as Kafka's decoders (``kafka.zk.ZkData``) do. ``kafkatx.metadata.cluster`` reads and writes
the nodes.
"""
