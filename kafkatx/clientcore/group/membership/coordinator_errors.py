"""Error codes of the coordinator, by what they mean to a member, and their messages."""

from __future__ import annotations

from kafkatx.clientcore.errors import describe
from kafkatx.clientcore.group.membership.settings import MemberSettings
from kafkatx.errors import ErrorCode, RequestError

COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Another broker may be the coordinator now."""

MEMBERSHIP_LOST = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
"""The member is not in the generation any more; UNKNOWN_MEMBER_ID: its id is unknown, too."""


def fatal_error(code: ErrorCode, settings: MemberSettings) -> RequestError:
    """Return the error that ends a membership, for the application."""
    names = ", ".join(assignor.name for assignor in settings.assignors)
    words = {
        ErrorCode.FENCED_INSTANCE_ID: (
            f"another member has joined with group.instance.id={settings.group_instance_id}: "
            "give each member its own"
        ),
        ErrorCode.GROUP_MAX_SIZE_REACHED: "it has the maximum number of members (group.max.size)",
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (
            f"its members use other assignors than {names}: name one of theirs in "
            "partition.assignment.strategy"
        ),
        ErrorCode.INVALID_SESSION_TIMEOUT: (
            f"session.timeout.ms={settings.session_timeout_ms} is not between group.min.session.timeout.ms "
            "and group.max.session.timeout.ms of the broker"
        ),
        ErrorCode.UNSUPPORTED_VERSION: "the broker is too old for static members: unset group.instance.id",
    }
    return RequestError(code, f"group {settings.group_id!r}: {words.get(code) or describe(code)}")
