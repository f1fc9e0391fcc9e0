"""Disk space of an installation: the system itself, and the runtime below it."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.compare.process import disk_mib
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System

MIB = 1 << 20
OURS = ("kafkatx", "pyspark_kafkatx")


class Needed(NamedTuple):
    """A distribution, and which of its extras."""

    name: str
    extras: frozenset[str]


def installed(system: System) -> dict[str, float]:
    """Sizes of what is installed, if it is known how to tell: ``installed_mib`` and ``runtime_mib``.

    kafkatx: its packages and the distributions that they require, without extras; the runtime is Python's
    interpreter and standard library. Apache Kafka: the jars, all that Maven has as needed at run time; the
    runtime is the JDK.
    """
    if isinstance(system, Kafkatx):
        return {"installed_mib": files_mib(_our_files()), "runtime_mib": files_mib(_python_files())}
    if isinstance(system, Apache):
        jars = glob.glob(os.path.join(system.jars, "*.jar"))
        return {"installed_mib": files_mib(jars), "runtime_mib": disk_mib(_java_home())}
    return {}


def files_mib(paths: Iterable[str]) -> float:
    """Return the disk space of files in MiB; each counts once, missing ones do not count."""
    real = {os.path.realpath(path) for path in paths}
    return sum(os.stat(path).st_blocks * 512 for path in real if os.path.exists(path)) / MIB


def required(name: str) -> Iterator[Distribution]:
    """The distributions that one needs without its extras, itself not included.

    A requirement that is not installed is left out: pip would have installed what is needed here.
    """
    wanted = needs(distribution(name).requires or (), frozenset())
    seen: set[Needed] = set()
    while wanted:
        one = wanted.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            found = distribution(one.name)
        except PackageNotFoundError:
            continue
        yield found
        wanted += needs(found.requires or (), one.extras)


def needs(requirements: Iterable[str], extras: frozenset[str]) -> list[Needed]:
    """Return the distributions, and extras of them, that these requirements ask for on this machine."""
    parsed = [Requirement(requirement) for requirement in requirements]
    return [
        Needed(canonicalize_name(one.name), frozenset(one.extras))
        for one in parsed
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras | {""})
    ]


def _our_files() -> Iterator[str]:
    """Our packages, wherever they are, and the files of what they require."""
    for name in OURS:
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from code(folder)
    for found in required(OURS[0]):
        yield from (str(found.locate_file(path)) for path in found.files or ())


def code(folder: str, without: Sequence[str] = ()) -> Iterator[str]:
    """The files of a package; of what interpreters leave there only this one's.

    :param without: patterns of folders that do not count.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not any(fnmatch(name, pattern) for pattern in without)]
        ending = f".{sys.implementation.cache_tag}.pyc" if parent.endswith("__pycache__") else ""
        yield from (os.path.join(parent, name) for name in names if name.endswith(ending))


def _python_files() -> Iterator[str]:
    """The interpreter, its library and the modules; not their tests and what is for building against them."""
    yield sys.executable
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        yield os.path.join(*map(str, sysconfig.get_config_vars("LIBDIR", "LDLIBRARY")))
    yield from code(sysconfig.get_path("stdlib"), ("*-packages", "test", "tests", "config-*"))


def _java_home() -> str:
    """Return the directory of the JDK that ``java`` belongs to.

    :raises RuntimeError: it does not say.
    """
    told = subprocess.run(
        ["java", "-XshowSettings:properties", "-version"], capture_output=True, text=True
    ).stderr
    home = re.search(r"java\.home = (.+)", told)
    if home is None:
        raise RuntimeError("java -XshowSettings:properties does not tell java.home")
    return os.path.realpath(home[1])
