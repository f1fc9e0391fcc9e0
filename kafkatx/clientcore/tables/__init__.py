"""The tables of the clients' settings, one module per kind of client, and what all of them have in common.

Names, types and defaults are those of Apache Kafka's Java client 4.0 unless a row says otherwise.
"""
