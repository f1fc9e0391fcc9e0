"""kafkatx is measured as its users have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.systems import kafkatx
from benchmarks.compare.systems.kafkatx import Kafkatx


class KafkatxTests(SynchronousTestCase):
    def started(self, tree: str | None) -> Mapping[str, str]:
        """Start one of a tree; the environment that it gets."""
        environments: list[Mapping[str, str]] = []

        class Server:
            """It is not started."""

            def __init__(
                self,
                command: Sequence[str],
                log_path: str,
                core: int | None,
                environment: Mapping[str, str],
                *_: object,
            ) -> None:
                environments.append(environment)

            def wait_for(self, served: Callable[[], bool], most_s: float) -> None:
                """It serves at once."""

        self.patch(kafkatx, "Server", Server)
        Kafkatx("kafkatx", tree).start(self.mktemp(), 9092, None)
        (environment,) = environments
        return environment

    def test_bytecode(self) -> None:
        """An environment in which Python keeps no bytecode does not count: all of it would be compiled."""
        self.assertEqual(self.started(None), {"PYTHONDONTWRITEBYTECODE": ""})

    def test_another_tree(self) -> None:
        """The broker of another checkout is taken from there."""
        self.assertEqual(self.started("/base")["PYTHONPATH"], "/base")
