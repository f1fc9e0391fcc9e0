"""Arguments that name principals, operations and resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from kafkatx.acls import AclOperation, PatternType, ResourcePattern

F = TypeVar("F", bound=Callable[..., object])


def principal(text: str) -> str:
    """Return a principal: ``alice`` and ``CN=alice`` are users."""
    return text if text.startswith(("User:", "Group:")) else f"User:{text}"


def operations(text: str) -> list[AclOperation]:
    """Return the operations of a text such as ``read,describe``.

    :raises click.UsageError: one does not exist.
    """
    from kafkatx.security.acl.lines import OPERATIONS

    known = {_letters(name): operation for name, operation in OPERATIONS.items()}
    found: list[AclOperation] = []
    for name in text.split(","):
        if _letters(name) not in known:
            raise click.UsageError(f"{name}: there is no such operation; there are {', '.join(OPERATIONS)}")
        found.append(known[_letters(name)])
    return found


def _letters(name: str) -> str:
    """Return a name in the form in which describe-configs, DESCRIBE_CONFIGS and DescribeConfigs are one."""
    return name.strip().lower().replace("_", "").replace("-", "")


def resource(text: str, pattern_type: PatternType | None = None) -> ResourcePattern:
    """Return the resource of a text such as ``topic:orders``.

    :raises SettingError: there is no such type, or no name.
    """
    from kafkatx.acls import PatternType
    from kafkatx.security.acl.lines import parse_resource

    return parse_resource(text, pattern_type or PatternType.LITERAL)


def pattern_options(command: F) -> F:
    """Add ``--prefixed``, ``--host`` and ``--deny``, passed as *prefixed*, *host* and *deny*."""
    prefixed = click.option(
        "--prefixed", is_flag=True, help="NAME is a prefix: all resources whose names begin with it."
    )
    host = click.option("--host", metavar="ADDRESS", help="Address that the principal comes from.")
    deny = click.option("--deny", is_flag=True, help="ACLs that deny, in place of those that allow.")
    return prefixed(host(deny(command)))
