"""Access control at this broker: the decisions about peers, and the table of what each API demands.

:mod:`kafkatx.broker.guards` enforces the table before handlers; ``docs/authorization.md`` is made from it,
and tests take their cases from it. A broker without an authorizer checks nothing.
"""
