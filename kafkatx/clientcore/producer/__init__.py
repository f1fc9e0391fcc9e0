"""The pure core of a producer: batches, their queues in memory, produce requests and their replies.

:mod:`kafkatx.client.producer` drives it on Twisted, :mod:`kafkatx.blocking.producer` over plain sockets.
"""
