"""``kafkatx users``: add, list, remove."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from kafkatx.cli.options.cluster import cluster_options, connect, group_options
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, say, show_json
from kafkatx.config.table.security.sasl import MECHANISMS

if TYPE_CHECKING:
    from kafkatx.cli.users.offline import OfflineUsers

F = TypeVar("F", bound=Callable[..., object])

SCRAM = tuple(name for name in MECHANISMS if name.startswith("SCRAM"))
STRONGEST = "SCRAM-SHA-512"
ITERATIONS, LOW, HIGH = 8192, 4096, 16_384


@click.group(
    epilog="""\b
Examples:
  kafkatx users add alice
  kafkatx users list
  kafkatx users remove alice
  kafkatx users add broker --offline --config server.properties
  kafkatx users add alice --file /etc/kafkatx/users
"""
)
@group_options()
def users() -> None:
    """Add, list and remove users with SCRAM credentials, or users in a file.

    A password is never on the command line: it is in a file (--password-file), in the environment's
    KAFKATX_PASSWORD, or asked for at the terminal.
    """


def _offline_options(command: F) -> F:
    """Add ``--offline``, ``--data`` and ``--config``, passed by these names."""
    offline = click.option(
        "--offline", is_flag=True, help="Change the state of a broker that is alone and does not run."
    )
    data = click.option(
        "--data", metavar="DIR", help="Data directory of that broker (log.dirs).  [default: ./data]"
    )
    config = click.option("--config", metavar="FILE", help="Settings file of that broker.")
    return offline(data(config(command)))


def _file_option(command: F) -> F:
    return click.option("--file", "path", metavar="FILE", help="File of users (kafkatx.users.file).")(command)


@users.command(epilog="Example: kafkatx users add alice --password-file alice.password")
@click.argument("name", metavar="NAME")
@click.option(
    "-m",
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=click.Choice(SCRAM),
    help=f"Mechanism of the credentials; repeatable.  [default: {STRONGEST}]",
)
@click.option(
    "--iterations",
    metavar="N",
    type=click.IntRange(LOW, HIGH),
    default=ITERATIONS,
    show_default=True,
    help="Iterations of the hash.",
)
@click.option(
    "--password-file", metavar="FILE", help="File whose first line is the password; - is standard input."
)
@_file_option
@_offline_options
@cluster_options
def add(
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int,
    password_file: str | None,
    path: str | None,
    offline: bool,
    data: str | None,
    config: str | None,
    bootstrap: str,
    timeout: float,
) -> None:
    """Add a user, or change the password.

    Brokers get a salted hash of it. Connections that the user has already stay.
    """
    from kafkatx.cli.users.passwords import read_password

    _check_places(path, offline, data, config)
    password = read_password(password_file, name)
    chosen = mechanisms or (STRONGEST,)
    if path is not None:
        from kafkatx.cli.users.offline import UsersFile

        UsersFile(path).set_password(name, password)
        say(f"{path} has the user {name!r}")
        return
    if offline:
        from kafkatx.security.sasl.credential import MECHANISMS as BY_NAME
        from kafkatx.security.sasl.credential import ScramCredential

        salt = secrets.token_bytes(32)
        made: dict[str, str | None] = {
            one: str(ScramCredential.of_password(BY_NAME[one], password, salt, iterations)) for one in chosen
        }
        _offline(data, config).alter(name, made)
    else:
        from kafkatx.blocking.admin.credentials import Credentials

        with connect(bootstrap, timeout) as cluster:
            for one in chosen:
                Credentials(cluster).set_password(name, password, one, iterations)
    say(f"the user {name!r} has credentials for {', '.join(chosen)}")


@users.command("list", epilog="Example: kafkatx users list --json")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@_file_option
@_offline_options
@listing_options
@cluster_options
def list_command(
    names: tuple[str, ...],
    path: str | None,
    offline: bool,
    data: str | None,
    config: str | None,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """List users.

    \b
    Into a pipe, a line for each credential, tabs between fields:
      user mechanism iterations
    """
    _check_places(path, offline, data, config)
    rows: list[tuple[str, str, object]]
    if path is not None:
        from kafkatx.cli.users.offline import UsersFile

        rows = [(user, "PLAIN", "-") for user in sorted(UsersFile(path).read())]
    else:
        if offline:
            found = _offline(data, config).describe()
        else:
            from kafkatx.blocking.admin.credentials import Credentials

            with connect(bootstrap, timeout) as cluster:
                found = Credentials(cluster).describe(names)
        rows = [(one.user, one.mechanism, one.iterations) for one in found]
    _print([row for row in rows if not names or row[0] in names], as_json, header)


@users.command(epilog="Example: kafkatx users remove alice")
@click.argument("name", metavar="NAME")
@click.option(
    "-m",
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=click.Choice(SCRAM),
    help="Mechanism whose credentials are removed; repeatable.  [default: all that the user has]",
)
@_file_option
@_offline_options
@cluster_options
def remove(
    name: str,
    mechanisms: tuple[str, ...],
    path: str | None,
    offline: bool,
    data: str | None,
    config: str | None,
    bootstrap: str,
    timeout: float,
) -> None:
    """Remove a user, who loses the connections that used it."""
    _check_places(path, offline, data, config)
    if path is not None:
        from kafkatx.cli.users.offline import UsersFile

        UsersFile(path).delete(name)
    elif offline:
        store = _offline(data, config)
        theirs = [one.mechanism for one in store.describe() if one.user == name]
        store.alter(name, dict.fromkeys(_chosen(name, mechanisms, theirs)))
    else:
        from kafkatx.blocking.admin.credentials import Credentials

        with connect(bootstrap, timeout) as cluster:
            credentials = Credentials(cluster)
            theirs = [one.mechanism for one in credentials.describe([name])]
            credentials.delete(name, _chosen(name, mechanisms, theirs))
    say(f"the user {name!r} was removed" + (f" for {', '.join(mechanisms)}" if mechanisms else ""))


def _chosen(name: str, mechanisms: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    """Return the mechanisms to remove.

    :raises SettingError: the user lacks one of them, or has none.
    """
    from kafkatx.errors import SettingError

    missing = set(mechanisms).difference(theirs)
    if missing or not theirs:
        raise SettingError(
            f"the user {name!r} has no credentials for {', '.join(sorted(missing)) or 'SCRAM'}"
        )
    return mechanisms or theirs


def _check_places(path: str | None, offline: bool, data: str | None, config: str | None) -> None:
    """Check that the options name one place.

    :raises click.UsageError: they name several, or none of a broker that does not run.
    """
    if path is not None and offline:
        raise click.UsageError("--file and --offline are two places: give one of them")
    if not offline and (data is not None or config is not None):
        raise click.UsageError("--data and --config name a broker that does not run: give --offline, too")


def _offline(data: str | None, config: str | None) -> OfflineUsers:
    """Return the users of a broker that does not run.

    :raises click.UsageError: it keeps nothing on disk, or its state is in a cluster.
    """
    from kafkatx.cli.broker.settings import log_dirs, overrides
    from kafkatx.cli.users.offline import OfflineUsers
    from kafkatx.config import BrokerConfig

    given = overrides([], config=config, port=None, data=data, memory=False)
    loaded = BrokerConfig.load(config, given)
    found = log_dirs(loaded)
    if not found or loaded.get("kafkatx.metadata.store") != "embedded":
        raise click.UsageError(
            "--offline is for a broker that is alone and has data on disk; in a cluster, add users through"
            " a broker that runs"
        )
    return OfflineUsers(found)


def _print(rows: Sequence[Sequence[object]], as_json: bool, header: bool) -> None:
    columns = ["user", "mechanism", "iterations"]
    if as_json:
        for row in rows:
            show_json(dict(zip(columns, row, strict=True)))
        return
    shown = [[str(value) for value in row] for row in rows]
    if not interactive(sys.stdout):
        print_rows(shown, columns if header else ())
    elif rows:
        print_table(columns, shown)
    if not rows:
        hint("there are no such users")
