"""The console of a broker, at ``/console/`` of its HTTP listener: pages, and the API that they use.

Nothing of it but :mod:`kafkatx.broker.console.holder` is imported before the first request.
"""
