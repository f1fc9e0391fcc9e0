"""The table of demands over HTTP: all routes are in it, and nothing else."""

from __future__ import annotations

from unittest.mock import Mock

from kafkatx.acls import AclOperation
from kafkatx.broker.authorization.http_demands import CONSOLE, CONSOLE_PATHS, HTTP_ROWS, About, find_row
from kafkatx.broker.http.health import Health
from kafkatx.web.routes import Routes
from tests.broker.registry.case import RegistryCase


def routes_of(routes: Routes) -> set[tuple[str, str]]:
    """Return methods and patterns."""
    return {
        (method, "/" + "/".join(segments))
        for table in routes._by_length.values()
        for segments, handlers in table
        for method in handlers
    }


class HttpDemandsTests(RegistryCase):
    def test_complete(self) -> None:
        """Each route of the registry, the metrics and the health checks has a row; there are no others."""
        application = self.parts.application
        expected = routes_of(application._routes) | routes_of(Health(Mock())._routes)
        expected |= {("GET", "/" + "/".join(path)) for path in application._about} | {("GET", "/metrics")}
        expected |= {("GET", CONSOLE + path) for path in CONSOLE_PATHS}
        listed = [(row.method, pattern) for row in HTTP_ROWS for pattern in row.patterns]
        self.assertEqual(len(set(listed)), len(listed))
        self.assertEqual(set(listed), expected)

    def test_found(self) -> None:
        """A request has the row of its path, with the name that it is about."""
        found = find_row("DELETE", ("subjects", "t-value", "versions", "1"))
        assert found is not None
        self.assertEqual((found[0].operation, found[1]), (AclOperation.DELETE, "t-value"))
        found = find_row("PUT", ("config",))
        assert found is not None
        self.assertEqual((found[0].about, found[1]), (About.CLUSTER, ""))
        for method, path in (("PATCH", ("config",)), ("GET", ("nowhere",)), ("GET", ("config", "a", "b"))):
            self.assertIsNone(find_row(method, path))

    def test_operations(self) -> None:
        """Each change needs the operation of its own."""
        for method, path, operation in (
            ("POST", ("subjects", "t-value", "versions"), AclOperation.WRITE),
            ("POST", ("subjects", "t-value"), AclOperation.DESCRIBE),
            ("DELETE", ("subjects", "t-value"), AclOperation.DELETE),
            ("DELETE", ("config", "t-value"), AclOperation.ALTER),
            ("DELETE", ("mode",), AclOperation.ALTER),
            ("PUT", ("config", "t-value"), AclOperation.ALTER),
            ("PUT", ("mode",), AclOperation.ALTER),
        ):
            found = find_row(method, path)
            assert found is not None
            self.assertIs(found[0].operation, operation, (method, path))

    def test_of_cluster(self) -> None:
        """Reads need Describe on the cluster, changes Alter."""
        found = {row.operation: row.of_cluster for row in HTTP_ROWS}
        describe, alter = AclOperation.DESCRIBE, AclOperation.ALTER
        self.assertEqual(found.pop(describe), describe)
        self.assertEqual(found, dict.fromkeys((AclOperation.WRITE, AclOperation.DELETE, alter), alter))
