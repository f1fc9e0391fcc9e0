"""The network between brokers, ZooKeeper servers and clients, whose directions can be cut one by one.

:mod:`~tests.cluster.network.proxies` does it everywhere, by a TCP proxy in front of each server;
:mod:`~tests.cluster.network.namespaces` by network namespaces and blackhole routes, where root is.
"""
