"""The transactions of a producer: requests to coordinators, the wait for batches, and the calls of programs.

The states and the requests are :mod:`kafkatx.clientcore.producer.transactions`'.
"""
