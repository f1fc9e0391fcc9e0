"""``kafkatx docs``: read the documentation, which comes with the package."""

from __future__ import annotations

import difflib
import sys

import click

from kafkatx.cli.output.terminal import interactive, print_rows
from kafkatx.errors import KafkaTXError


@click.command(
    epilog="""\b
Examples:
  kafkatx docs
  kafkatx docs security
  kafkatx docs client/producer | less
""",
)
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """Show a page of the documentation; without PAGE list all pages.

    Into a pipe it is Markdown.
    """
    from kafkatx.cli.package.files import page as text_of
    from kafkatx.cli.package.files import page_names, title

    names = list(page_names())
    if page is None:
        print_rows((name, title(name)) for name in names)
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        advice = f"did you mean {near[0]}?" if near else "`kafkatx docs` lists all"
        raise KafkaTXError(f"there is no page {name}; {advice}")
    text = text_of(name)
    if not interactive(sys.stdout):
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    with (console := Console()).pager(styles=True):
        console.print(Markdown(text))
