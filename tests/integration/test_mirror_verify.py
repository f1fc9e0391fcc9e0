"""``kafkatx mirror verify`` over two real brokers, with equal batches and with others."""

from __future__ import annotations

import contextlib
import io

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.cli import main
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

TIME_MS = 1_700_000_000_000


def fill(bootstrap: str, *batches: bytes) -> None:
    """Append these batches as they are, one after the other."""
    with Cluster(bootstrap) as cluster:
        cluster.topic("t", allow_auto_create=True)
        for batch in batches:
            request = ProduceRequest(
                None, -1, 10_000, [TopicProduceData("t", [PartitionProduceData(0, batch)])]
            )
            response = cluster.leader_connection("t", 0).request(request)
            code = response.responses[0].partition_responses[0].error_code
            if code:
                raise AssertionError(code)


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.main(["mirror", "verify", *arguments])
    return code, out.getvalue(), err.getvalue()


class VerifyTests(SynchronousTestCase):
    def test_two_brokers(self) -> None:
        """Equal batches are found to be equal, compressed ones too; then one more that differs is found."""
        same = [
            build_values([b"value %d" % n for n in range(count)], TIME_MS, codec=codec)
            for count, codec in ((1, Codec.NONE), (1000, Codec.ZSTD), (7, Codec.NONE))
        ]
        with EmbeddedBroker() as source, EmbeddedBroker() as copy:
            fill(source.bootstrap, *same, build_values([b"only here"], TIME_MS))
            fill(copy.bootstrap, *same)
            command = ("-b", copy.bootstrap, "--source", source.bootstrap, "-t", "t")
            code, out, err = run(*command)
            self.assertEqual((code, err), (0, "1 partition, 3 batches compared, 0 differences\n"))
            self.assertEqual(out.split("\t")[:5], ["partition", "t", "0", "0", "1008"])
            fill(copy.bootstrap, build_values([b"only there"], TIME_MS))
            code, out, err = run(*command)
            self.assertEqual((code, err), (1, "1 partition, 4 batches compared, 1 difference\n"))
            self.assertIn("difference\tt\t0\t1008\t1008\tthe records differ", out)
