"""The metadata store of a cluster of several brokers, which share a tree of nodes (ZooKeeper, for example).

:class:`~kafkatx.metadata.cluster.store.ClusterMetadataStore` is the store. ``connection`` keeps a session,
``state/`` keeps the image of the cluster up to date, ``registration`` and ``fence`` say when this broker
may act, ``control/`` is the role of the controller, ``commands/`` are the changes that any broker makes.
"""
