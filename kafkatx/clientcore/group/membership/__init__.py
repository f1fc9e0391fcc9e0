"""The state machine of one consumer group member, sans-I/O: joining, heartbeats, rebalances, leaving."""

from kafkatx.clientcore.group.membership.actions import (
    NEVER_MS,
    Action,
    AssignmentChange,
    ForgetCoordinator,
    LeaveCompleted,
    LogMessage,
    NotifyApplication,
    ReportFailure,
    RequestPartitionCounts,
    SendRequest,
    WatchTopics,
)
from kafkatx.clientcore.group.membership.machine import NO_MEMBER, MemberMachine
from kafkatx.clientcore.group.membership.settings import MemberSettings
from kafkatx.clientcore.group.membership.states import Event, State

__all__ = [
    "Action",
    "SendRequest",
    "NotifyApplication",
    "AssignmentChange",
    "Event",
    "ReportFailure",
    "ForgetCoordinator",
    "LeaveCompleted",
    "RequestPartitionCounts",
    "MemberMachine",
    "MemberSettings",
    "NEVER_MS",
    "NO_MEMBER",
    "State",
    "LogMessage",
    "WatchTopics",
]
