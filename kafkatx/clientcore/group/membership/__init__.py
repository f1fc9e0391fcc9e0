"""One member of a consumer group, sans-I/O: joining, heartbeats, rebalances, leaving."""

from kafkatx.clientcore.group.membership.actions import (
    NEVER_MS,
    Action,
    Ask,
    Call,
    Change,
    Fail,
    Forget,
    Left,
    Look,
    Tell,
    Watch,
)
from kafkatx.clientcore.group.membership.machine import NOBODY, MemberMachine
from kafkatx.clientcore.group.membership.settings import MemberSettings
from kafkatx.clientcore.group.membership.states import Event, State

__all__ = [
    "Action",
    "Ask",
    "Call",
    "Change",
    "Event",
    "Fail",
    "Forget",
    "Left",
    "Look",
    "MemberMachine",
    "MemberSettings",
    "NEVER_MS",
    "NOBODY",
    "State",
    "Tell",
    "Watch",
]
