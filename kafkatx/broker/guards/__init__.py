"""Guards: the checks of a request before its handler, made from the table of demands.

:mod:`kafkatx.broker.authorization.demands` is the table. A broker without an authorizer has no guards.
"""
