"""The root command ``kafkatx``, its commands, and the exit codes.

Exit codes: 0 success (also if the reader of stdout has gone), 1 an error, printed as one line, 2 a wrong
command line, 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence

import click

from kafkatx import __version__
from kafkatx.cli.acls.acls import acls
from kafkatx.cli.acls.explanation import explain_access
from kafkatx.cli.bench.bench import bench
from kafkatx.cli.broker.plugins import plugins
from kafkatx.cli.broker.status import status
from kafkatx.cli.broker.stop import stop
from kafkatx.cli.broker.up import up
from kafkatx.cli.client_metrics.client_metrics import client_metrics
from kafkatx.cli.cluster.cluster import cluster
from kafkatx.cli.cluster.configs import configs
from kafkatx.cli.cluster.logdirs import logdirs
from kafkatx.cli.cluster.offsets import offsets
from kafkatx.cli.cluster.records import records
from kafkatx.cli.cluster.topics import topics
from kafkatx.cli.debug.debug import debug
from kafkatx.cli.doctor.doctor import doctor
from kafkatx.cli.explanations.explanations import explain_client, explain_lag
from kafkatx.cli.groups.groups import groups
from kafkatx.cli.log.log import log
from kafkatx.cli.messages.consume import consume
from kafkatx.cli.messages.produce import produce
from kafkatx.cli.messages.tail import tail
from kafkatx.cli.mirror.mirror import mirror
from kafkatx.cli.options.cluster import group_options
from kafkatx.cli.options.kafka_names import Commands
from kafkatx.cli.output.terminal import say
from kafkatx.cli.package.docs import docs
from kafkatx.cli.package.sample import sample
from kafkatx.cli.pipeline.audit import audit
from kafkatx.cli.pipeline.ingest import ingest
from kafkatx.cli.quotas.quotas import quotas
from kafkatx.cli.schemas.schemas import schemas
from kafkatx.cli.tls.tls import tls
from kafkatx.cli.transactions.transactions import transactions
from kafkatx.cli.users.users import users
from kafkatx.errors import KafkaTXError

FAILED = 1
LONGEST_SHOWN = 100
INTERRUPTED = 130


class Root(Commands):
    """The root command; it ends without an error if the reader of stdout has gone, as ``| head`` does."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Click itself would exit with 1 on a broken pipe."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The interpreter flushes stdout once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 0
        return result


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  kafkatx up
  kafkatx topics create orders -p 3
  echo hello | kafkatx produce orders
  kafkatx consume orders --exit
  kafkatx -b broker1:9092 groups describe --all
""",
)
@group_options(hidden=False)
@click.version_option(__version__, "-V", "--version", message="kafkatx %(version)s")
def kafkatx() -> None:
    """Run a Kafka broker, talk to a cluster, and check the files of a log."""


kafkatx.add_command(up)
kafkatx.add_command(status)
kafkatx.add_command(stop)
kafkatx.add_command(cluster)
kafkatx.add_command(topics)
kafkatx.add_command(offsets)
kafkatx.add_command(records)
kafkatx.add_command(logdirs)
kafkatx.add_command(produce)
kafkatx.add_command(consume)
kafkatx.add_command(tail)
kafkatx.add_command(groups)
kafkatx.add_command(transactions)
kafkatx.add_command(configs)
kafkatx.add_command(quotas)
kafkatx.add_command(client_metrics)
kafkatx.add_command(log)
kafkatx.add_command(schemas)
kafkatx.add_command(mirror)
kafkatx.add_command(audit)
kafkatx.add_command(bench)
kafkatx.add_command(ingest)
kafkatx.add_command(plugins)
kafkatx.add_command(sample)
kafkatx.add_command(docs)
kafkatx.add_command(tls)
kafkatx.add_command(users)
kafkatx.add_command(acls)
kafkatx.add_command(explain_access)
kafkatx.add_command(doctor)
kafkatx.add_command(debug)
kafkatx.add_command(explain_lag)
kafkatx.add_command(explain_client)


def run(arguments: Sequence[str] | None, closed: Sequence[str] = ()) -> int:
    """Run a command line and return its exit code; an error is printed as one line.

    :param arguments: None stands for those of the process.
    :param closed: names of the standard streams that were closed when the process started.
    """
    try:
        result = kafkatx.main(arguments, prog_name="kafkatx", standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        for line in shown.getvalue().rstrip("\n").split("\n"):
            say(line)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except UnicodeError as error:
        say(f"kafkatx: {_unicode_text(error)}")
        return FAILED
    except OSError as error:
        if error.errno == errno.EBADF and closed:
            say(f"kafkatx: standard {' and '.join(closed)} {'is' if len(closed) == 1 else 'are'} closed")
        else:
            say("kafkatx: " + " ".join(str(error).split()))
        return FAILED
    except KafkaTXError as error:
        say("kafkatx: " + " ".join(str(error).split()))
        return FAILED
    return result if isinstance(result, int) else 0


def _unicode_text(error: UnicodeError) -> str:
    """Return the message for text that cannot be encoded: an argument that was not UTF-8 has surrogates."""
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:LONGEST_SHOWN]} is not UTF-8 text: give names and values in UTF-8"
    return str(error)
