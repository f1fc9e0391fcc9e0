"""Copiers of every client under fire: each record is copied exactly once (``make copiers``).

A copier consumes a topic in a group, sends what it reads to another topic, and commits its offsets, all in
transactions, of which each Nth is aborted on purpose. All copiers run at the same time; they and the brokers
are killed.

A copier is a program: ``PROGRAM... BOOTSTRAP INPUT OUTPUT GROUP TRANSACTIONAL_ID NTH``. It copies until its
standard input ends, each record to the partition that it came from, as :mod:`tests.copiers.values` lays it
out. It prints a JSON line for each transaction that it has ended, ``{"ended": HOW, "why": REASON}``, where
HOW is ``commit``, ``abort`` (on purpose) or ``error``; or ``stuck`` if a call of the client did not return,
for which the program ends. It is started again.
"""
