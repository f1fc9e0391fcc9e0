"""One scenario per Kafka client: what each can do, asked in its own way (``make clients``).

A scenario is a program. ``PROGRAM VARIANT scenario BOOTSTRAP FEATURE...`` prints a JSON line per feature,
``{"feature": ..., "result": "pass" | "fail", "detail": ...}``, and one with the client's ``version``.
``PROGRAM VARIANT member BOOTSTRAP GROUP TOPIC SESSION_MS`` is a member of a consumer group until its
standard input ends; it prints ``{"owns": [partition, ...]}`` after each change, and
``{"read": [[partition, offset], ...]}`` for what it has processed, before it commits that. With SESSION_MS 0
every setting is left at the client's default.

A scenario that fails against Apache Kafka is wrong: ``python -m tests.clients --broker apache`` asks it.
"""
