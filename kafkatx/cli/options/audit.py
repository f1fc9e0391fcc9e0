"""Options of commands that announce counts for the audit, or read the announcements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])

MOST_MS = 86_400_000


def audit_options(interval: str) -> Callable[[F], F]:
    """Add ``--audit-interval-ms`` and ``--audit-topic``, passed as *audit_interval_ms* and *audit_topic*.

    :param interval: the help text of the interval.
    """
    added = click.option(
        "--audit-interval-ms",
        metavar="MS",
        type=click.IntRange(0, MOST_MS),
        default=0,
        help=f"{interval}; 0: none.",
    )
    return lambda command: added(audit_topic_option(command))


def audit_topic_option(command: F) -> F:
    """Add ``--audit-topic``, passed as *audit_topic*."""
    return click.option(
        "--audit-topic",
        metavar="TOPIC",
        default="kafkatx-audit",
        show_default=True,
        help="Topic of the announcements.",
    )(command)
