"""The schema registry as a machine: its records, its state, commands and queries. Pure.

It speaks the formats of Confluent's registry: the records of the topic ``_schemas`` and the bodies of its
REST API. :mod:`kafkatx.broker.registry` binds it to a partition, and to HTTP.
"""
