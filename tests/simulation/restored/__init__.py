"""A simulation of whole brokers whose cluster's state is put back to an older copy, by chance from a seed.

It is the cluster of :mod:`tests.simulation.replication`. Clients produce; at some moment the tree is copied;
brokers stop, die and come back, so that leaders, epochs and in-sync replicas change; then all brokers end,
the copy is put back, and they start in any order. Every record that was acknowledged with acks=all must be in
all replicas, and each partition is led again. :mod:`.mutants` has the rules.
"""
