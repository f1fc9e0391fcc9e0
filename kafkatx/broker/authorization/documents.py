"""Write the page of demands: ``python -m kafkatx.broker.authorization.documents docs/authorization.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.demands import ROWS, Demand, Outcome, Right, Row
from kafkatx.broker.authorization.http_demands import HTTP_ROWS, About, HttpRow

_HEAD = """\
# What each request needs

With an authorizer ([Security](security.md)) a principal must be allowed what a request does. All lines of it
count; of rights with "or" between them one is enough. Allowing Read, Write, Delete or Alter also allows
Describe, and AlterConfigs allows DescribeConfigs.

The last column says what happens without the right: the whole request is refused, or each one of the named
resources while the rest is served, or the reply has it left out. The error is that of the resource:
TOPIC_AUTHORIZATION_FAILED (29), GROUP_AUTHORIZATION_FAILED (30), CLUSTER_AUTHORIZATION_FAILED (31),
TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53).

| key | request | needs | when | without it |
|---|---|---|---|---|
"""

_FOOT = """
A topic that a client may not describe looks the same whether it exists or not. Requests of brokers among each
other need ClusterAction: the principals of brokers must be super users.

## Over HTTP

The HTTP listener asks the same authorizer. The subjects `NAME-key` and `NAME-value` belong to topic NAME. In
place of the right on a topic, one on the cluster is enough; other subjects, such as names of records and
those in contexts, need that one. Without the right the status is 403 and `error_code` 40301; lists leave out
the subjects that the client may not describe.

| request | needs | in place of it |
|---|---|---|
"""

_END = """
This page is generated: `make documents` writes it.
"""


def page() -> str:
    """Return the page, in Markdown."""
    rows = "".join(line for row in ROWS for line in _lines(row))
    return _HEAD + rows + _FOOT + "".join(line for row in HTTP_ROWS for line in _http_lines(row)) + _END


def _http_lines(row: HttpRow) -> Iterator[str]:
    needs, instead = f"{_operation(row.operation)} on {row.about.value}", ""
    if row.about is About.NOTHING:
        needs = row.about.value
    elif row.about is not About.CLUSTER:
        instead = f"{_operation(row.of_cluster)} on the cluster"
    for pattern in row.patterns:
        yield f"| `{row.method} {pattern}` | {needs} | {instead} |\n"


def _lines(row: Row) -> Iterator[str]:
    key, name = str(row.api.key), row.api.name
    if not row.demands:
        yield f"| {key} | {name} | nothing | | |\n"
    for demand in row.demands:
        yield f"| {key} | {name} | {_needs(demand)} | {demand.when} | {_outcome(demand)} |\n"
        key = name = ""


def _needs(demand: Demand) -> str:
    return " or ".join(map(_right, demand.rights))


def _right(right: Right) -> str:
    kind = {
        ResourceType.TOPIC: "the topic",
        ResourceType.GROUP: "the group",
        ResourceType.CLUSTER: "the cluster",
        ResourceType.TRANSACTIONAL_ID: "the transactional id",
    }[right.resource_type]
    return f"{_operation(right.operation)} on {'any' + kind[3:] if right.any_name else kind}"


def _operation(operation: AclOperation) -> str:
    return "".join(word.capitalize() for word in operation.name.split("_"))


def _outcome(demand: Demand) -> str:
    return "left out" if demand.outcome is Outcome.HIDDEN else f"{demand.outcome.value}: {int(demand.code)}"


def main(arguments: Sequence[str]) -> None:
    """Write the page.

    :param arguments: its path.
    """
    (path,) = arguments
    with open(path, "w", encoding="utf-8") as file:
        file.write(page())


if __name__ == "__main__":
    main(sys.argv[1:])
