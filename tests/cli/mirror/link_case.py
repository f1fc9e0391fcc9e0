"""A cluster in memory with a link, and the commands about it."""

from __future__ import annotations

from kafkatx.cli.mirror import links, promote, status
from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from tests.blocking.fake_mirrors import FakeMirrors
from tests.cli.command_case import CommandCase

BROKER, ALL = 4, ""

T0 = MirrorStatus("dc1", "t", 0, "mirroring", source_end=10, log_end=7, log_start=0, lag_ms=1500)
T1 = MirrorStatus("dc1", "t", 1, "mirroring", source_end=5, log_end=5, log_start=2, lag_ms=0)
U0 = MirrorStatus("dc1", "u", 0, "promoted", log_end=3, log_start=0)


class LinkCase(CommandCase):
    """The link dc1 mirrors the topics t and u; the latter is promoted."""

    def setUp(self) -> None:
        """Make the cluster."""
        super().setUp()
        self.cluster = FakeMirrors()
        self.cluster.links = {
            1: [LinkStatus("dc1", "source:1", groups=4, skipped_groups=1, groups_age_ms=2500)]
        }
        self.cluster.mirrored = {1: [T0, T1, U0]}
        self.cluster.settings[BROKER, ALL] = {
            "mirror.links": "dc1",
            "mirror.dc1.bootstrap.servers": "source:1",
            "mirror.dc1.topics": ".*",
        }
        for module in (links, promote, status):
            self.patch(module, "connect", lambda bootstrap, timeout: self.cluster.client())

    def mirror(self, *arguments: str, exit_code: int = 0) -> None:
        """Run a command, and check its exit code."""
        self.assertEqual(self.run_command("mirror", *arguments), exit_code, self.err.text())

    @property
    def settings(self) -> dict[str, str]:
        """The settings of all brokers."""
        return self.cluster.settings[BROKER, ALL]
