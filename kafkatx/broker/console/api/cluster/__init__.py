"""The routes about the cluster: overview, brokers, mirrors, transactions."""
