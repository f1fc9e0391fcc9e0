"""Names that clients choose: which may become topics, and so directories, and how they are shown."""

from __future__ import annotations

import re

from kafkatx.errors import ErrorCode, RequestError

MAX_TOPIC_NAME = 249
"""Kafka's limit: with ``-`` and a partition's number behind it, a name still fits into a file name."""

CONSUMER_OFFSETS = "__consumer_offsets"
"""Where groups and their committed offsets are kept."""

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, "__transaction_state"})
"""Topics that brokers keep for themselves and show to clients as internal."""

PLUGIN_SETTINGS = "kafkatx.plugin."
"""How the names of settings that belong to a plugin begin; the plugin's name follows, and a dot."""
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1: what terminals take for commands
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of text
    "\u200b\u2028\u2029\u2060\ufeff\ufff9-\ufffb"  # invisible, or a line's end to some
    "\ud800-\udfff]"  # no characters: bytes that were not UTF-8
)
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
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


def printable(text: str) -> str:
    r"""Return *text* as one line that a terminal or a log takes for nothing but text.

    Control characters, marks that change the direction of text, and whatever else is not a visible character
    stand as Python writes them: ``\n``, ``\x1b``, ``\u202e``. Bytes that were not UTF-8 are ``\xff``.
    """
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _ESCAPES.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
