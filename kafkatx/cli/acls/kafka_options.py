"""The options of ``kafka-acls.sh``, which ``kafkatx acls`` accepts without showing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kafkatx.cli.acls.names import operations, principal
from kafkatx.cli.options.kafka_names import refused

if TYPE_CHECKING:
    from kafkatx.acls import AccessControlEntry, AclBinding, AclOperation, PatternType, ResourceType
    from kafkatx.security.acl.filters import AclFilter

F = TypeVar("F", bound=Callable[..., object])

_KEY = "kafkatx.acls.kafka_options"

_LISTS = (
    "--topic",
    "--group",
    "--transactional-id",
    "--allow-principal",
    "--deny-principal",
    "--allow-host",
    "--deny-host",
)
_FLAGS = ("--cluster", "--producer", "--consumer", "--idempotent")
_REFUSED = {
    "--delegation-token": "there are no delegation tokens",
    "--user-principal": "there are no ACLs of users",
    "--authorizer": "give the address of a broker, --bootstrap-server",
    "--authorizer-properties": "give the address of a broker, --bootstrap-server",
    "--bootstrap-controller": "give the address of a broker, --bootstrap-server",
}


class KafkaOptions(NamedTuple):
    """The values that were given by options of ``kafka-acls.sh``."""

    topic: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    transactional_id: tuple[str, ...] = ()
    allow_principal: tuple[str, ...] = ()
    deny_principal: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    deny_host: tuple[str, ...] = ()
    cluster: bool = False
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False
    resource_pattern_type: str = "literal"

    def bindings(self, what: Iterable[str]) -> list[AclBinding]:
        """Return the ACLs to add.

        :param what: operations; none: all of them.
        :raises click.UsageError: the options do not name ACLs.
        """
        from kafkatx.acls import AclBinding, PatternType, ResourcePattern

        pattern_type = self._pattern_type()
        if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
            raise click.UsageError("--resource-pattern-type: an ACL is literal or prefixed")
        if not (self.allow_principal or self.deny_principal):
            raise click.UsageError("give --allow-principal or --deny-principal")
        return [
            AclBinding(ResourcePattern(*resource, pattern_type), entry)
            for resource, operation in self._wanted(what)
            for entry in self._entries(operation)
        ]

    def filters(self, what: Iterable[str], whose: Iterable[str] = ()) -> list[AclFilter]:
        """Return the filters of the ACLs to list or to remove.

        :param what: operations; none: all of them, or those of ACLs that name no principals.
        :param whose: principals; none: those of ``--allow-principal`` and ``--deny-principal``, or all.
        """
        from kafkatx.acls import AclOperation, ResourceType
        from kafkatx.security.acl.filters import AclFilter

        pattern_type = self._pattern_type()
        if self.allow_principal or self.deny_principal:
            return [
                AclFilter(
                    *resource, pattern_type, entry.principal, entry.host, entry.operation, entry.permission
                )
                for resource, operation in self._wanted(what)
                for entry in self._entries(operation)
            ]
        resources: list[tuple[ResourceType, str | None]] = [*self.resources()]
        chosen = [one for text in what for one in operations(text)] or [AclOperation.ANY]
        names: list[str | None] = [principal(name) for name in whose]
        return [
            AclFilter(*resource, pattern_type, name, operation=operation)
            for resource in resources or [(ResourceType.ANY, None)]
            for name, operation in product(names or [None], chosen)
        ]

    def resources(self) -> Iterator[tuple[ResourceType, str]]:
        """Yield the resources, by type and name."""
        from kafkatx.acls import CLUSTER_NAME, ResourceType

        for kind, names in (
            (ResourceType.TOPIC, self.topic),
            (ResourceType.GROUP, self.group),
            (ResourceType.CLUSTER, (CLUSTER_NAME,) if self.cluster else ()),
            (ResourceType.TRANSACTIONAL_ID, self.transactional_id),
        ):
            yield from ((kind, name) for name in names)

    def _wanted(self, what: Iterable[str]) -> Iterator[tuple[tuple[ResourceType, str], AclOperation]]:
        """Yield resources and operations on them."""
        from kafkatx.acls import AclOperation

        given = [one for text in what for one in operations(text)]
        if not (self.producer or self.consumer):
            resources = list(self.resources())
            if not resources:
                raise click.UsageError("name a resource: --topic, --group, --cluster or --transactional-id")
            yield from product(resources, given or [AclOperation.ALL])
            return
        if given:
            raise click.UsageError("--producer and --consumer stand for operations: leave out --operation")
        if not self.topic or (self.consumer and not self.group):
            raise click.UsageError("--producer needs --topic, and --consumer needs --topic and --group")
        yield from dict.fromkeys([*self._of_producer(), *self._of_consumer()])

    def _of_producer(self) -> Iterator[tuple[tuple[ResourceType, str], AclOperation]]:
        from kafkatx.acls import CLUSTER_NAME, AclOperation, ResourceType

        if self.producer:
            topics = [(ResourceType.TOPIC, name) for name in self.topic]
            yield from product(topics, (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE))
            ids = [(ResourceType.TRANSACTIONAL_ID, name) for name in self.transactional_id]
            yield from product(ids, (AclOperation.WRITE, AclOperation.DESCRIBE))
            if self.idempotent:
                yield (ResourceType.CLUSTER, CLUSTER_NAME), AclOperation.IDEMPOTENT_WRITE

    def _of_consumer(self) -> Iterator[tuple[tuple[ResourceType, str], AclOperation]]:
        from kafkatx.acls import AclOperation, ResourceType

        if self.consumer:
            topics = [(ResourceType.TOPIC, name) for name in self.topic]
            yield from product(topics, (AclOperation.READ, AclOperation.DESCRIBE))
            yield from (((ResourceType.GROUP, name), AclOperation.READ) for name in self.group)

    def _entries(self, operation: AclOperation) -> Iterator[AccessControlEntry]:
        from kafkatx.acls import WILDCARD, AccessControlEntry, AclPermission

        for permission, names, hosts in (
            (AclPermission.ALLOW, self.allow_principal, self.allow_host),
            (AclPermission.DENY, self.deny_principal, self.deny_host),
        ):
            for name, host in product(names, hosts or (WILDCARD,)):
                yield AccessControlEntry(principal(name), host, operation, permission)

    def _pattern_type(self) -> PatternType:
        from kafkatx.acls import PatternType

        return PatternType[self.resource_pattern_type.upper()]


def kafka_options(command: F) -> F:
    """Add the options of ``kafka-acls.sh`` that kafkatx has by other names, for :func:`given`."""
    for name in _LISTS:
        command = _hidden(name, multiple=True)(command)
    for name in _FLAGS:
        command = _hidden(name, is_flag=True)(command)
    types = click.Choice(("any", "match", "literal", "prefixed"), case_sensitive=False)
    return refused(_REFUSED)(_hidden("--resource-pattern-type", type=types)(command))


def _hidden(name: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(name, hidden=True, expose_value=False, callback=_keep, **attributes)


def _keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value:
        ctx.meta.setdefault(_KEY, {})[option.name] = value


def given() -> KafkaOptions | None:
    """Return what was given by the options of ``kafka-acls.sh``; None: nothing."""
    found = click.get_current_context().meta.get(_KEY)
    return None if found is None else KafkaOptions(**found)
