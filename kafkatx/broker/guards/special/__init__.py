"""Checks of APIs whose demands depend on more than one field of a request; rows of the table name them.

Each is a :data:`kafkatx.broker.guards.guard.Check`.
"""
