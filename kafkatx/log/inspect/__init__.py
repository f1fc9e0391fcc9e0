"""Looking at logs from outside: what ``kafkatx log dump|verify|repair`` does, without a broker.

Everything here reads files and blocks; only :mod:`kafkatx.log.inspect.repair` changes any. Apache Kafka's own
log dirs are read as well as ours. Nothing that is imported at first needs Twisted: the command starts fast.
"""
