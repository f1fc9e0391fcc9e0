"""Data of schemas: functions that write values to the payloads of messages, and read them. Pure.

One module for each language. Each has a class with the methods of :class:`~.format.MessageFormat`.
"""
