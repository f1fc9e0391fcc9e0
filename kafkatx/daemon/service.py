"""The broker of a process of its own: its parts, SIGHUP, and the note about the process in its log dirs.

Used by ``twistd kafkatx`` (:mod:`kafkatx.tap`) and ``kafkatx up`` (:mod:`kafkatx.daemon.foreground`). An
application that runs a broker beside other services uses :class:`kafkatx.broker.BrokerService`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Mapping
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker import BrokerService, Parts
from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.config.table.security.acls import AUTHORIZER_CLASS_NAME
from kafkatx.config.table.security.sasl import KAFKATX_PLAIN_CHECKERS
from kafkatx.daemon.hang_up import HangUp, Reactor
from kafkatx.daemon.identity import identified, with_same_id
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.errors import SettingError
from kafkatx.extension import check_own_settings, extensions, find, own_settings
from kafkatx.interfaces import IAuthorizer, IDecoder, ILogStore, IMetadataStore, IRetentionPolicy
from kafkatx.interfaces.security.logins import ICredentialsChecker
from kafkatx.net.buffers import keep_freed_memory

SETTLE_S = 1.0
"""Seconds from the start of a broker until it imports the modules that its first clients did not need."""

PLAIN_DECODERS = ("bytes", "string")
"""Decoders that show what the console shows without them."""

_log = Logger()


def installed_parts(config: BrokerConfig) -> Parts:
    """Return the parts that the settings name, from the installed plugins.

    :raises SettingError: a setting names a plugin that is not installed or cannot be used.
    """
    check_own_settings(
        config.explicit, ILogStore, IMetadataStore, IRetentionPolicy, ICredentialsChecker, IAuthorizer
    )

    def settings(name: str) -> Mapping[str, str]:
        return own_settings(name, config.explicit)

    @functools.cache  # policies are pure, and looking up the plugins for ten thousand logs takes seconds
    def find_retention(name: str) -> IRetentionPolicy:
        make: Callable[[], IRetentionPolicy] = find(
            IRetentionPolicy, name, "kafkatx.retention", settings(name)
        )
        return make()

    find_retention(config.get("kafkatx.retention"))
    storage, metadata = config.get("kafkatx.storage"), config.get("kafkatx.metadata.store")
    authorizer = config[AUTHORIZER_CLASS_NAME]
    return Parts(
        find(ILogStore, storage, "kafkatx.storage", settings(storage)),
        find(IMetadataStore, metadata, "kafkatx.metadata.store", settings(metadata)),
        find_retention,
        find_checker=lambda name: find(
            ICredentialsChecker, name, KAFKATX_PLAIN_CHECKERS.name, settings(name)
        ),
        authorizer=find(IAuthorizer, authorizer, AUTHORIZER_CLASS_NAME.name, settings(authorizer))
        if authorizer
        else None,
        list_decoders=_installed_decoders,
    )


def _installed_decoders() -> Mapping[str, str]:
    """Return the paths of the factories of decoders by name, for the console."""
    return {one.name: one.factory for one in extensions(IDecoder) if one.name not in PLAIN_DECODERS}


class ProcessService(BrokerService):
    """A broker in a process of its own."""

    def __init__(self, source: SettingsSource, reactor: Reactor, *, reloads: bool) -> None:
        """Read the settings and make the broker.

        :param reloads: True if SIGHUP has the settings read again; otherwise it stops the broker.
        :raises SettingError: the settings are wrong.
        """
        config = identified(source.load())
        super().__init__(config, installed_parts(config), reactor)
        self._source = source
        self._note: ProcessNote | None = None
        self._note_dirs: list[str] = []
        self._hang_up = HangUp(self._reload if reloads else None, reactor)

    def privilegedStartService(self) -> None:
        """Install the handler of SIGHUP."""
        super().privilegedStartService()
        self._hang_up.start()

    def stopService(self) -> Deferred[None]:
        """Stop; remove the note, and restore the handler of SIGHUP."""
        self._hang_up.stop()
        if self._note is not None:
            self._note.remove(self._note_dirs)  # while the locks of the dirs are still held
        return super().stopService()

    def write_note(self, note: ProcessNote, *, pid_file: bool) -> Deferred[None]:
        """Write the note to each log dir; a dir that cannot be written is logged.

        :param pid_file: True to write ``kafkatx.pid`` to the first dir, too.
        :return: fires when that is done.
        """
        self._note = note
        self._note_dirs = [log_dir.path for log_dir in self.broker.store.dirs if log_dir.error is None]
        return self.broker.workers("process file")(partial(_write, note, self._note_dirs, pid_file))

    def settle(self) -> None:
        """Prepare for a long life: keep freed memory, and soon import what the start left out.

        An installation may be renewed under a running broker, which must not mix modules of both. The objects
        in memory by then stay there: the garbage collector need not visit them again and again.
        """
        keep_freed_memory()
        self._reactor.callLater(SETTLE_S, self._load_rest)

    def rotate(self) -> None:
        """Do nothing: this process alone has the log file."""

    def _load_rest(self) -> None:
        self.load_rest().addCallbacks(
            lambda _: gc.freeze(),
            lambda failure: _log.failure(
                "the installation was changed, or is damaged: restart kafkatx", failure
            ),
        )

    def _reload(self) -> None:
        """Read the settings again."""
        reading = self.broker.workers("settings")(partial(self._source.load))
        reading.addCallback(with_same_id, self.config[b.BROKER_ID])
        reading.addCallback(self.reload).addErrback(_not_reloaded)


def _write(note: ProcessNote, directories: list[str], pid_file: bool) -> None:
    for number, directory in enumerate(directories):
        try:
            if pid_file and number == 0:
                note.write_pid(directory)
            note.write(directory)
        except OSError as error:
            _log.warn(
                "log.dirs={path}: kafkatx status cannot find this broker there: {error}",
                path=directory,
                error=error,
            )


def _not_reloaded(failure: Failure) -> None:
    if failure.check(SettingError):
        _log.error("SIGHUP: every setting stays as it is: {error}", error=failure.getErrorMessage())
    else:
        _log.failure("SIGHUP: the settings could not be read again", failure)
