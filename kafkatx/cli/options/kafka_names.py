"""Commands, options and arguments that also answer to the names of Apache Kafka's own tools.

Kafka's names are left out of the help texts; ``docs/kafka-tools.md`` has them. An option that kafkatx does
not have is refused in one sentence. Nothing here touches files or sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from click.core import ParameterSource
    from click.parser import _OptionParser

C = TypeVar("C", bound=Callable[..., object])


class Option(click.Option):
    """An option with further names that no help text shows.

    :param aliases: the further names, ``--replication-factor`` say. They take the same values.
    """

    def __init__(self, decls: Sequence[str], aliases: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(decls, **attributes)
        self.aliases = list(aliases)

    def add_to_parser(self, parser: _OptionParser, ctx: click.Context) -> None:
        """Register all names; only those of ``opts`` are shown and completed."""
        shown, self.opts = self.opts, [*self.opts, *self.aliases]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


class Argument(click.Argument):
    """An argument that may also be given as an option: ``orders``, or ``--topic orders``.

    :param option: the name of that option. If the argument takes several values, it can be repeated.
    """

    def __init__(self, decls: Sequence[str], option: str, **attributes: Any) -> None:
        super().__init__(decls, **attributes)
        self._option = click.Option([option, f"{self.name}_option"], multiple=True, hidden=True)

    def add_to_parser(self, parser: _OptionParser, ctx: click.Context) -> None:
        """Register the argument and the option."""
        super().add_to_parser(parser, ctx)
        self._option.add_to_parser(parser, ctx)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, object]) -> tuple[object, ParameterSource]:
        """Return the argument's value, or that of the option.

        :raises click.UsageError: an argument that takes one value got two.
        """
        value, source = super().consume_value(ctx, opts)
        given = opts.get(f"{self.name}_option")
        if not isinstance(given, Sequence) or not given:
            return value, source
        positional = opts.get(self.name or "")
        if self.nargs == -1:
            first = positional if isinstance(positional, (tuple, list)) else ()
            return (*first, *given), click.core.ParameterSource.COMMANDLINE
        if len(given) > 1 or isinstance(positional, str):
            raise click.UsageError(f"{self._option.opts[0]}: {self.human_readable_name} is given twice", ctx)
        return given[0], click.core.ParameterSource.COMMANDLINE


def names_argument(name: str, option: str, **attributes: Any) -> Callable[[C], C]:
    """Add an :class:`Argument`, as :func:`click.argument` does."""
    return click.argument(name, cls=Argument, option=option, **attributes)


class Refused(click.Option):
    """An option of Kafka's tools that kafkatx does not have, with or without a value.

    :param reason: a sentence that says why, or what to use instead.
    """

    def __init__(self, decls: Sequence[str], reason: str) -> None:
        super().__init__(
            decls,
            is_flag=False,
            flag_value="",
            hidden=True,
            expose_value=False,
            is_eager=True,
            callback=self._refuse,
        )
        self._reason = reason

    def _refuse(self, ctx: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{self.opts[0]}: {self._reason}", ctx)


def refused(reasons: Mapping[str, str]) -> Callable[[C], C]:
    """Refuse options of Kafka's tools, each with the sentence that says what to do instead."""

    def decorate(command: C) -> C:
        for name, reason in reasons.items():
            command = click.option(name, cls=Refused, reason=reason)(command)
        return command

    return decorate


def accepted(*names: str) -> Callable[[C], C]:
    """Accept flags of Kafka's tools that ask for what kafkatx does anyway."""

    def decorate(command: C) -> C:
        for name in names:
            command = click.option(name, is_flag=True, hidden=True, expose_value=False)(command)
        return command

    return decorate


class Commands(click.Group):
    """A group of commands that Kafka's tools have as options: ``topics --create`` is ``topics create``.

    :param actions: for each of the tool's options the command, and options for it, divided by spaces.
    """

    def __init__(
        self,
        name: str | None = None,
        actions: Mapping[str, str] = MappingProxyType({}),
        **attributes: Any,
    ) -> None:
        super().__init__(name, **attributes)
        self._actions = actions

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first if it is named by one of Kafka's options, and no other command is."""
        if args and args[0].startswith("-"):
            ended = args.index("--") if "--" in args else len(args)
            for at, word in enumerate(args[:ended]):
                if word in self._actions:
                    args = [*self._actions[word].split(), *args[:at], *args[at + 1 :]]
                    break
        return super().parse_args(ctx, args)
