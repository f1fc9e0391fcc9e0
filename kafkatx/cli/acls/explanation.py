"""``kafkatx explain-access``: which rule decides about an access. It decides by the code of the broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kafkatx.cli.acls.names import operations, principal, resource
from kafkatx.cli.options.cluster import cluster_options, connect
from kafkatx.cli.output.terminal import show

if TYPE_CHECKING:
    from kafkatx.acls import Access, Acls, Decision
    from kafkatx.clientcore.admin.configs import ConfigEntry

DENIED = 1


@click.command(
    "explain-access",
    epilog="""\b
Examples:
  kafkatx explain-access alice read topic:orders
  kafkatx explain-access CN=billing write transactional-id:billing-1 --host 192.0.2.7
""",
)
@click.argument("whose", metavar="PRINCIPAL")
@click.argument("what", metavar="OPERATION")
@click.argument("resource_name", metavar="TYPE:NAME")
@click.option("--host", metavar="ADDRESS", default="*", help="Address that the principal comes from.")
@cluster_options
def explain_access(
    whose: str, what: str, resource_name: str, host: str, bootstrap: str, timeout: float
) -> int:
    """Tell whether something is allowed, and which ACL decides that.

    Ends with 0 if it may, with 1 if it may not. Without --host only ACLs for all hosts count.
    """
    from kafkatx.acls import Access, with_changes
    from kafkatx.blocking.admin.acls import Acls
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    chosen = operations(what)
    if len(chosen) > 1:
        raise click.UsageError(f"{what}: give one operation")
    pattern = resource(resource_name)
    access = Access(principal(whose), host, chosen[0], pattern.resource_type, pattern.name)
    with connect(bootstrap, timeout) as cluster:
        broker = min(cluster.brokers())
        settings = _texts(Configs(cluster).describe(Resource(ResourceType.BROKER, str(broker))))
        if not settings.get("authorizer.class.name"):
            show(f"allowed: {_sentence(access, True)}, because the brokers have no authorizer")
            return 0
        found = Acls(cluster).describe()
    decision = _decide(access, with_changes({}, frozenset(found), frozenset()), settings)
    show(f"{'allowed' if decision.allowed else 'denied'}: {_sentence(access, decision.allowed)}")
    show(f"because {_reason(decision, settings)}")
    if settings["authorizer.class.name"] == "learn":
        show("but the authorizer learn allows everything; this is the decision of the authorizer acl")
    return 0 if decision.allowed else DENIED


def _texts(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {name: entry.value or "" for name, entry in entries.items()}


def _decide(access: Access, acls: Acls, settings: Mapping[str, str]) -> Decision:
    from kafkatx.config.table.security import acls as table
    from kafkatx.security.acl.decision import decide
    from kafkatx.security.acl.index import AclIndex

    super_users = table.super_users(settings.get(table.SUPER_USERS.name, ""))
    allow_without = settings.get(table.ALLOW_EVERYONE_IF_NO_ACL_FOUND.name) == "true"
    return decide(AclIndex(acls), access, super_users, allow_without)


def _sentence(access: Access, allowed: bool) -> str:
    from kafkatx.acls import enum_text

    verb = "may" if allowed else "may not"
    where = f" from {access.host}" if access.host != "*" else ""
    kind = enum_text(access.resource_type)
    return f"{access.principal}{where} {verb} {enum_text(access.operation)} {kind}:{access.name}"


def _reason(decision: Decision, settings: Mapping[str, str]) -> str:
    from kafkatx.acls import Reason

    if decision.rule is not None:
        return f"of the ACL: {decision.rule}"
    reason: str = decision.reason.value
    if decision.reason is Reason.NO_ACLS:
        value = settings.get("allow.everyone.if.no.acl.found", "false")
        reason += f", and allow.everyone.if.no.acl.found={value}"
    return reason
