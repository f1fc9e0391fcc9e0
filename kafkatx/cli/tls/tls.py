"""``kafkatx tls init``: a certificate authority of one's own, and certificates of brokers and users."""

from __future__ import annotations

import click

from kafkatx.cli.output.terminal import show
from kafkatx.errors import KafkaTXError


@click.group(epilog="Example: kafkatx tls init certificates --host broker1.example --user alice")
def tls() -> None:
    """Make certificates for TLS. Needs the extra tls: pip install 'kafkatx[tls]'."""


@tls.command(
    epilog="""\b
Examples:
  kafkatx tls init certificates
  kafkatx tls init certificates --host broker1.example --host 10.0.0.7 --user alice
"""
)
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--host",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="Name or IP address by which clients reach a broker; can be repeated. Each host gets a certificate. "
    "Default: one for localhost and this machine.",
)
@click.option("--user", "users", metavar="NAME", multiple=True, help="User to make a certificate for.")
@click.option(
    "--days",
    metavar="DAYS",
    type=click.IntRange(1, 3650),
    default=365,
    show_default=True,
    help="Days for which new certificates are valid; the authority's is valid for ten years.",
)
def init(directory: str, hosts: tuple[str, ...], users: tuple[str, ...], days: int) -> None:
    """Make an authority and certificates in DIR, and print settings.

    An authority that is there stays, and signs the new certificates. Certificates that are there are renewed:
    a broker that runs takes them over within seconds.
    """
    from kafkatx.tls.extra import check_installed

    check_installed()
    from kafkatx.cli.tls import files
    from kafkatx.cli.tls.advice import advice

    try:
        made = files.make(directory, hosts, users, days)
    except OSError as error:
        raise KafkaTXError(f"{error.filename or directory}: {error.strerror}") from None
    for line in advice(made).splitlines():
        show(line)
