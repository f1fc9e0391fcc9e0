"""Names that clients choose: which of them may become topics, and so directories."""

from __future__ import annotations

import re

from kafkatx.errors import ErrorCode, RequestError

MAX_TOPIC_NAME = 249
"""Kafka's limit: with ``-`` and a partition's number behind it, a name still fits into a file name."""

CONSUMER_OFFSETS = "__consumer_offsets"
"""Where groups and their committed offsets are kept."""

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, "__transaction_state"})
"""Topics that brokers keep for themselves and show to clients as internal."""

META_PROPERTIES = "meta.properties"
"""The file in each log dir that says which broker and which cluster it belongs to."""

PARTITION_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})")
"""The name of a partition's directory in a log dir."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Let only those names pass that Kafka allows: ``[a-zA-Z0-9._-]{1,249}``, not ``.`` or ``..``.

    :raises RequestError: INVALID_TOPIC_EXCEPTION; the message says what is wrong with the name.
    """
    if not name:
        wrong = "Topic name is empty"
    elif name in (".", ".."):
        wrong = f"Topic name cannot be {name!r}"
    elif len(name) > MAX_TOPIC_NAME:
        wrong = f"Topic name is {len(name)} characters long, more than {MAX_TOPIC_NAME}: {name[:40]!r}..."
    elif not _LEGAL.fullmatch(name):
        wrong = f"Topic name {name!r} has characters other than ASCII letters, digits, '.', '_' and '-'"
    else:
        return
    raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
