"""The consumer group protocol of KIP-848: the broker assigns partitions, and members reconcile one by one."""
