"""The inspection of logs without a broker: ``kafkatx log dump|verify|repair``.

All modules read files and block; only :mod:`kafkatx.log.inspect.repair` changes files. Log dirs of Apache
Kafka are supported as well. The modules do not import Twisted, so that the command starts fast.
"""
