"""The producer for Twisted programs.

A record goes through ``intake`` (checks and encoders), ``buffer_pool`` (back-pressure), ``topic_queues``
(partitioning) into :class:`kafkatx.clientcore.producer.accumulator.RecordAccumulator`; ``sender`` sends its
batches, and ``receipts`` tell callers the outcome.
"""
