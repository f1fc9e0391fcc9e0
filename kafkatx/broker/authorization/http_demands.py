"""The table of demands over HTTP: what a principal must be allowed for each request. Pure.

A row names an operation on a topic: that of a subject ``TOPIC-key`` or ``TOPIC-value``. In place of it, and
for subjects of other names, an operation on the cluster is enough: Describe for reads, Alter for changes. A
route of the registry without a row fails a test.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs

from kafkatx.acls import AclOperation
from kafkatx.web.routes import fit

_O = AclOperation


class About(enum.Enum):
    """The resources that a request is about, as the page of demands calls them."""

    NOTHING = "nothing"
    CLUSTER = "the cluster"
    SUBJECT = "the topic of the subject"
    SCHEMA = "the topic of a subject that has the schema"
    LIST = "the topic of each subject in the reply"


@attrs.frozen
class HttpRow:
    """The demands of requests.

    :ivar patterns: their paths, with placeholders; the first is the subject, the id or the guid.
    :ivar operation: the operation on the topic.
    """

    method: str
    about: About
    operation: AclOperation
    patterns: tuple[str, ...]

    @property
    def of_cluster(self) -> AclOperation:
        """The operation on the cluster that is enough."""
        return _O.DESCRIBE if self.operation is _O.DESCRIBE else _O.ALTER


_VERSIONS = "/subjects/{subject}/versions"
_VERSION = f"{_VERSIONS}/{{version}}"
_CHECKED = "/compatibility/subjects/{subject}/versions"

CONSOLE = "/console/api/v1"
CONSOLE_PATHS = ("/overview", "/history", "/history/series", "/actions")
"""Requests of the console that are about the cluster; its other ones are Kafka's in effect."""

HTTP_ROWS = (
    HttpRow("GET", About.NOTHING, _O.DESCRIBE, ("/health/live", "/health/ready")),
    HttpRow("GET", About.CLUSTER, _O.DESCRIBE, ("/metrics",)),
    HttpRow("GET", About.CLUSTER, _O.DESCRIBE, tuple(CONSOLE + path for path in CONSOLE_PATHS)),
    HttpRow(
        "GET",
        About.NOTHING,
        _O.DESCRIBE,
        ("/", "/schemas/types", "/v1/metadata/id", "/v1/metadata/version"),
    ),
    HttpRow("GET", About.LIST, _O.DESCRIBE, ("/subjects", "/schemas")),
    HttpRow("GET", About.CLUSTER, _O.DESCRIBE, ("/contexts", "/config", "/mode")),
    HttpRow(
        "GET",
        About.SUBJECT,
        _O.DESCRIBE,
        (
            *(_VERSIONS, _VERSION, f"{_VERSION}/schema", f"{_VERSION}/referencedby"),
            *("/subjects/{subject}/metadata", "/config/{subject}", "/mode/{subject}"),
        ),
    ),
    HttpRow("POST", About.SUBJECT, _O.DESCRIBE, ("/subjects/{subject}", _CHECKED, f"{_CHECKED}/{{version}}")),
    HttpRow(
        "GET",
        About.SCHEMA,
        _O.DESCRIBE,
        (
            *("/schemas/ids/{id}", "/schemas/ids/{id}/schema"),
            *("/schemas/guids/{guid}", "/schemas/guids/{guid}/ids"),
        ),
    ),
    HttpRow(
        "GET",
        About.SCHEMA,
        _O.DESCRIBE,
        ("/schemas/ids/{id}/subjects", "/schemas/ids/{id}/versions"),
    ),
    HttpRow("POST", About.SUBJECT, _O.WRITE, (_VERSIONS,)),
    HttpRow("DELETE", About.SUBJECT, _O.DELETE, ("/subjects/{subject}", _VERSION)),
    HttpRow("PUT", About.CLUSTER, _O.ALTER, ("/config", "/mode")),
    HttpRow("DELETE", About.CLUSTER, _O.ALTER, ("/config", "/mode")),
    HttpRow("PUT", About.SUBJECT, _O.ALTER, ("/config/{subject}", "/mode/{subject}")),
    HttpRow("DELETE", About.SUBJECT, _O.ALTER, ("/config/{subject}", "/mode/{subject}")),
)


def _segments(pattern: str) -> Sequence[str]:
    return pattern.split("/")[1:] if pattern != "/" else ()


_BY_METHOD: dict[tuple[str, int], list[tuple[Sequence[str], HttpRow]]] = {}
for _row in HTTP_ROWS:
    for _pattern in map(_segments, _row.patterns):
        _BY_METHOD.setdefault((_row.method, len(_pattern)), []).append((_pattern, _row))


def find_row(method: str, path: Sequence[str]) -> tuple[HttpRow, str] | None:
    """Return the row of a request, and the text for its first placeholder; None: there is no such request."""
    for pattern, row in _BY_METHOD.get((method, len(path)), ()):
        found = fit(pattern, path)
        if found is not None:
            return row, found[0] if found else ""
    return None
