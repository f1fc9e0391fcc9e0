"""SASL exchanges, both ends: tokens in, tokens out. They touch neither sockets nor clocks.

:mod:`~kafkatx.security.sasl.plain`, :mod:`~kafkatx.security.sasl.scram` and
:mod:`~kafkatx.security.sasl.oauthbearer` have one mechanism each; :mod:`~kafkatx.security.sasl.client` gives
their clients one interface.
"""
