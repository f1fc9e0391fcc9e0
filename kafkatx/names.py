"""Names that clients choose and text for people: valid topic names, safe text, counted nouns. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain, product

from kafkatx.errors import ErrorCode, RequestError

MAX_TOPIC_NAME = 249
"""Kafka's limit: with ``-`` and a partition's number the name is still a valid file name."""

CONSUMER_OFFSETS = "__consumer_offsets"
"""The topic of groups and their committed offsets."""

TRANSACTION_STATE = "__transaction_state"
"""The topic of transactions, which Apache Kafka makes when a client asks for one."""

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})
"""Topics of the brokers themselves, which clients see as internal."""

KAFKATX_MIRROR = "kafkatx.mirror"
"""The topic config with the record of a mirror (:mod:`kafkatx.config.mirror_record`)."""

PLUGIN_SETTINGS = "kafkatx.plugin."
"""Prefix of the settings of plugins; the plugin's name and a dot follow."""

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1: control characters of terminals
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of text
    "\u200b\u2028\u2029\u2060\ufeff\ufff9-\ufffb"  # invisible, or line ends in some programs
    "\ud800-\udfff]"  # surrogates: bytes that were not UTF-8
)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
META_PROPERTIES = "meta.properties"
"""The file in each log dir with the ids of its broker and cluster."""

TREE_FILE = "kafkatx-tree.sqlite3"
"""The state of the cluster of all brokers of a machine, in their data directory."""

SUPERVISOR_LOCK = ".kafkatx-supervisor.lock"
"""The lock of the process that has started all brokers of a data directory."""

PARTITION_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})")
"""The name of a partition's directory in a log dir."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def colliding_topic(name: str, topics: Collection[str]) -> str | None:
    """Return a topic whose name differs in ``.`` and ``_`` alone; None if there is none.

    Names of metrics have ``_`` for both. Each such name is looked up. If they outnumber the topics, these are
    compared instead.
    """
    places = sum(character in "._" for character in name)
    if not places:
        return None
    unified = name.replace(".", "_")
    if 2**places > len(topics):
        others: Iterable[str] = topics
    else:
        pieces = unified.split("_")
        others = (
            "".join(chain.from_iterable(zip(pieces, (*marks, ""), strict=True)))
            for marks in product("._", repeat=places)
        )
    found = (other for other in others if other != name and other.replace(".", "_") == unified)
    return next((other for other in found if other in topics), None)


def check_topic_name(name: str) -> None:
    """Check that Kafka allows a topic name: ``[a-zA-Z0-9._-]{1,249}``, not ``.`` or ``..``.

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


def printable(text: str) -> str:
    r"""Return *text* as one line that is safe to write to a terminal or a log.

    Control characters, marks that change the direction of text, and other invisible characters are escaped as
    in Python: ``\n``, ``\x1b``, ``\u202e``. Bytes that were not UTF-8 are ``\xff``.
    """
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _ESCAPES.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 partition``, ``2,000 partitions``, ``3 batches``, ``2 copies``."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "s", "x")):
        return f"{count:,} {noun}es"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}s"


def verb(count: int, singular: str, plural: str) -> str:
    """Return the form of a verb for a number."""
    return singular if count == 1 else plural
