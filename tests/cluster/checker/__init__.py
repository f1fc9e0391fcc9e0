"""A checker of histories: what producers, readers, groups and replicas' logs say must fit together. Pure.

The rules are those of Jepsen's tests of Kafka (``jepsen.redpanda.workload.queue``): acknowledged records are
not lost, failed ones are never read, one offset has one record, and reads neither skip nor go back.

:mod:`~tests.cluster.checker.history` has the lines that clients write while they run,
:mod:`~tests.cluster.checker.checker` reads them when all is over. Memory is about 30 bytes per record:
histories are read line by line, and tables are arrays.
"""
