"""``kafkatx up``: run a broker in the foreground or in the background.

Twisted is imported only when the command line and the settings have been checked.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx import __version__
from kafkatx.cli.broker.http_port import default_listeners
from kafkatx.cli.broker.settings import log_dirs, overrides
from kafkatx.cli.options.cluster import DEFAULT_BOOTSTRAP, pairs
from kafkatx.cli.output.terminal import interactive, say
from kafkatx.config.table import network as n
from kafkatx.daemon.process_file import LOG_FILE
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted, printable

if TYPE_CHECKING:
    from kafkatx.config import BrokerConfig
    from kafkatx.daemon.background import Outcome, Report
    from kafkatx.daemon.foreground import DaemonService, MainReactor
    from kafkatx.daemon.settings_source import SettingsSource

    MakeService = Callable[[MainReactor, bool], DaemonService]

DEFAULT_DATA = "data"
STDOUT = 1


@attrs.frozen
class Started:
    """A broker that is ready, as it is announced on standard output.

    :ivar advertised: ``host:port`` that clients are told to dial.
    :ivar bootstrap: ``host:port`` that a client on this machine can use.
    :ivar data: absolute paths of the log dirs; empty if records are kept in memory.
    :ivar brokers: number of brokers, each in a process of its own; None for one in this process.
    :ivar http: URL of the HTTP listener; None if there is none, or its port is not fixed.
    :ivar console: True if it offers the console.
    """

    advertised: str
    bootstrap: str
    data: list[str]
    pid: int
    took_s: float
    log_file: str | None = None
    brokers: int | None = None
    http: str | None = None
    console: bool = False

    def line(self) -> str:
        """Return one line, for programs and log files."""
        return (
            f"kafkatx {__version__} is ready: clients connect to {self.advertised},"
            f" {self._http()}{self._where()}"
            f" ({self._processes()})\n"
        )

    def banner(self) -> str:
        """Return a few lines for a person at a terminal."""
        rows = [f"kafkatx {__version__} is ready after {self.took_s:.1f} s", ""]
        rows.append(f"  clients connect to  {self.advertised}")
        if self.http is not None:
            rows.append(f"  schema registry     {self.http}")
        if self.http is not None and self.console:
            rows.append(f"  console             {self.http}/console/")
        rows.append(
            f"  data                {', '.join(self.data) or 'in memory only: gone when the broker stops'}"
        )
        if self.brokers is not None:
            rows.append(f"  brokers             {self.brokers}, each in a process of its own")
        if self.log_file is not None:
            rows.append(f"  log                 {self.log_file}")
        at = "" if self.bootstrap == DEFAULT_BOOTSTRAP else f" -b {self.bootstrap}"
        rows += [
            "",
            "Next:" if self.log_file is not None else "Next, in another terminal:",
            f"  kafkatx topics create greetings{at}",
            f"  echo hello | kafkatx produce greetings{at}",
            f"  kafkatx consume greetings -o beginning -e{at}",
            f"  kafkatx status{at}",
            "",
            self._how_to_stop(),
            "",
        ]
        return "\n".join(map(printable, rows)) + "\n"

    def _processes(self) -> str:
        return f"process {self.pid}" + (
            "" if self.brokers is None else f", {counted(self.brokers, 'broker')}"
        )

    def _http(self) -> str:
        if self.http is None:
            return ""
        console = f"console at {self.http}/console/, " if self.console else ""
        return f"schema registry at {self.http}, {console}"

    def _where(self) -> str:
        return f"data in {printable(', '.join(self.data))}" if self.data else "data in memory"

    def _how_to_stop(self) -> str:
        import shlex

        if self.log_file is None:
            return f"Ctrl-C stops the {'broker' if self.brokers is None else 'brokers'}."
        default = self.data == [os.path.abspath(DEFAULT_DATA)]
        return f"  kafkatx stop{'' if default else f' --data {shlex.quote(self.data[0])}'}"


@click.command()
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Port of the listener; 0 is any free port.  [default: 9092]",
)
@click.option("--data", metavar="DIR", help="Directory for the data (log.dirs).  [default: ./data]")
@click.option(
    "--memory", is_flag=True, help="Keep everything in memory: nothing is left when the broker stops."
)
@click.option(
    "--brokers",
    metavar="N",
    type=click.IntRange(1, 256),
    help="Run N brokers, each in a process of its own: one cluster on all cores of this machine.",
)
@click.option(
    "--zookeeper",
    metavar="HOST:PORT/PATH",
    help="Join the cluster whose state this ZooKeeper keeps (zookeeper.connect).",
)
@click.option("--config", metavar="FILE", help="Settings file; a server.properties of Apache Kafka will do.")
@click.option("--set", "sets", metavar="NAME=VALUE", multiple=True, help="A setting; goes before the file.")
@click.option(
    "--daemon", is_flag=True, help="Run in the background; return when the broker is ready or has failed."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warn", "error"]),
    help="Lowest level to log.  [default: warn at a terminal, else info]",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of a line of the log; with json nothing else is printed.",
)
def up(
    port: int | None,
    data: str | None,
    memory: bool,
    brokers: int | None,
    zookeeper: str | None,
    config: str | None,
    sets: tuple[str, ...],
    daemon: bool,
    log_level: str | None,
    log_format: str,
) -> int:
    """Run a broker.

    It serves until Ctrl-C or SIGTERM stops it. --port, --data and --memory stand for settings and go, as
    --set does, before those of the settings file. The log goes to standard error, with --daemon to
    kafkatx.log in the data directory.

    The schema registry is at http://127.0.0.1:8081, or at a free port if that one is in use; the setting
    http.listeners gives it another address, or none. The console is at /console/ there, unless the
    address is not of this machine alone; the setting kafkatx.console.enable decides otherwise.

    With --brokers N, clients find the cluster at the given port; its brokers listen at the N ports above.
    The data directory has a folder for each. A broker that ends is started again.
    """
    began_s = time.monotonic()
    given = overrides(
        pairs("--set", sets),
        config=config,
        port=port,
        data=data,
        memory=memory,
        zookeeper=zookeeper,
        brokers=brokers,
    )
    from kafkatx.daemon.settings_source import SettingsSource

    source = SettingsSource.of(config, given)
    more = default_listeners(source.load())
    if more:
        source = SettingsSource.of(config, [*given, *more])
    if brokers is None:
        source = source.without_file()
    loaded = source.load()
    started = partial(_started, loaded, began_s, brokers)
    if daemon:
        return _in_background(source, brokers, loaded, started, log_level or "info", log_format)
    level = log_level or ("warn" if interactive(sys.stderr) else "info")
    return _in_foreground(source, brokers, started, level, log_format)


def _maker(
    source: SettingsSource, brokers: int | None, level: str, log_format: str, log_file: str | None
) -> MakeService:
    """Return what makes the service of this process."""
    if brokers is None:
        from kafkatx.daemon.foreground import one_broker

        return one_broker(source)
    from kafkatx.supervisor.service import Output, several_brokers

    return several_brokers(source, brokers, Output(level, log_format, log_file))


def _started(
    config: BrokerConfig, began_s: float, brokers: int | None, service: DaemonService, log_file: str | None
) -> Started:
    return Started(
        service.advertised,
        service.bootstrap,
        log_dirs(config),
        os.getpid(),
        time.monotonic() - began_s,
        log_file,
        brokers,
        service.http_url,
        config[n.CONSOLE_ENABLE],
    )


def _in_foreground(
    source: SettingsSource,
    brokers: int | None,
    started: Callable[[DaemonService, str | None], Started],
    level: str,
    log_format: str,
) -> int:
    from kafkatx.daemon.foreground import run
    from kafkatx.daemon.log_output import LogWriter, begin

    begin(level, log_format)
    writer = LogWriter(STDOUT)
    terminal = interactive(sys.stdout)

    def tell(text: str) -> None:
        if log_format == "text":
            writer.write(text)

    def on_ready(service: DaemonService) -> None:
        shown = started(service, None)
        tell(shown.banner() if terminal else shown.line())

    make = _maker(source, brokers, level, log_format, None)
    failure = run(make, log_file=None, on_ready=on_ready)
    if failure is not None:
        raise KafkaTXError(failure)
    tell("\nkafkatx has stopped\n" if terminal else "kafkatx has stopped\n")  # below ^C
    return 0


def _in_background(
    source: SettingsSource,
    brokers: int | None,
    config: BrokerConfig,
    started: Callable[[DaemonService, str | None], Started],
    level: str,
    log_format: str,
) -> int:
    from kafkatx.daemon.background import detach

    directories = log_dirs(config)
    if not directories:
        raise click.UsageError("--daemon needs a data directory for its log: leave out --memory")
    log_file = os.path.join(directories[0], LOG_FILE)
    try:
        os.makedirs(directories[0], mode=0o700, exist_ok=True)
        os.close(
            os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        )
    except OSError as error:
        raise KafkaTXError(f"log.dirs={directories[0]}: cannot write the log there: {error}") from None
    terminal = interactive(sys.stdout)
    try:
        outcome = detach(
            log_file, partial(_serve, source, brokers, started, log_file, level, log_format, terminal)
        )
    except KeyboardInterrupt:
        say("kafkatx: the broker is still starting in the background; kafkatx stop ends it")
        raise
    return _tell_outcome(outcome, log_file)


def _tell_outcome(outcome: Outcome, log_file: str) -> int:
    if not outcome.ready:
        raise KafkaTXError(outcome.text or f"the broker has ended before it was ready; see {log_file}")
    click.echo(outcome.text, nl=False)
    return 0


def _serve(
    source: SettingsSource,
    brokers: int | None,
    started: Callable[[DaemonService, str | None], Started],
    log_file: str,
    level: str,
    log_format: str,
    terminal: bool,
    report: Report,
) -> int:
    """Run the broker in the daemon; return its exit code."""
    from kafkatx.daemon.background import Outcome
    from kafkatx.daemon.foreground import log_failure, run
    from kafkatx.daemon.log_output import begin

    begin(level, log_format)

    def on_ready(service: DaemonService) -> None:
        shown = started(service, log_file)
        report.send(Outcome(True, shown.banner() if terminal else shown.line()))

    try:
        make = _maker(source, brokers, level, log_format, log_file)
        failure = run(make, log_file=log_file, on_ready=on_ready)
    except KafkaTXError as error:
        failure = str(error)
    if failure is None:
        return 0
    log_failure(failure)
    report.send(Outcome(False, failure))
    return 1
