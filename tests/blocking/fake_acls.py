"""A cluster in memory with ACLs, which the functions of a real broker read and match."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.acls import AclBinding, Acls, with_changes
from kafkatx.broker.guards.acl_fields import read_creation, read_filter
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages import create_acls, delete_acls, describe_acls, describe_configs
from tests.blocking.fakes import FakeCluster

NOTHING: frozenset[AclBinding] = frozenset()


@attrs.define(eq=False)
class FakeAcls(FakeCluster):
    """A cluster whose settings of access control are :attr:`settings`."""

    acls: Acls = attrs.Factory(dict)
    settings: dict[str, str] = attrs.Factory(lambda: {"authorizer.class.name": "acl"})

    def answer_describe_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Answer with the settings."""
        m = describe_configs
        entries = [m.DescribeConfigsResourceResult(*one, config_source=4) for one in self.settings.items()]
        (asked,) = request.resources
        result = m.DescribeConfigsResult(error, None, asked.resource_type, asked.resource_name, entries)
        return m.DescribeConfigsResponse(results=[result])

    def answer_describe_acls(self, node: int, request: Any, version: int, error: int) -> Any:
        """Answer with what matches, each ACL as a resource of its own."""
        m = describe_acls
        if error:
            return m.DescribeAclsResponse(0, error, "no")
        return m.DescribeAclsResponse(
            resources=[
                m.DescribeAclsResource(
                    pattern.resource_type,
                    pattern.name,
                    pattern.pattern_type,
                    [m.AclDescription(entry.principal, entry.host, entry.operation, entry.permission)],
                )
                for pattern, entry in read_filter(request).matching(self.acls)
            ]
        )

    def answer_create_acls(self, node: int, request: Any, version: int, error: int) -> Any:
        """Add what is valid."""
        results = []
        for creation in request.creations:
            try:
                if error:
                    raise RequestError(ErrorCode.of(error), "no")
                self.acls = with_changes(self.acls, frozenset({read_creation(creation)}), NOTHING)
                results.append(create_acls.AclCreationResult())
            except RequestError as failed:
                results.append(create_acls.AclCreationResult(failed.code, str(failed)))
        return create_acls.CreateAclsResponse(results=results)

    def answer_delete_acls(self, node: int, request: Any, version: int, error: int) -> Any:
        """Remove what matches."""
        m = delete_acls
        results = []
        for one in request.filters:
            found = [] if error else list(read_filter(one).matching(self.acls))
            self.acls = with_changes(self.acls, NOTHING, frozenset(found))
            matching = [
                m.DeleteAclsMatchingAcl(
                    0,
                    None,
                    pattern.resource_type,
                    pattern.name,
                    pattern.pattern_type,
                    entry.principal,
                    entry.host,
                    entry.operation,
                    entry.permission,
                )
                for pattern, entry in found
            ]
            results.append(m.DeleteAclsFilterResult(error, None, matching))
        return m.DeleteAclsResponse(filter_results=results)
