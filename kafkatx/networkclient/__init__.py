"""Connections to a cluster's brokers, and the cluster's metadata.

The producer, the consumer, the admin client and a broker's replica fetchers send their requests through
:class:`~kafkatx.networkclient.cluster.Cluster`. Opens sockets and timers; touches no files.
"""
