"""The unit tests on each version of Python that setup.cfg claims, and on the lowest versions of libraries.

``python -m tests.versions [VERSION]...``: each version (``3.10``, and so on, or ``lowest``; without one, all)
gets a virtual environment in ``.venv-versions`` and runs the packages of unit tests there. Interpreters
are pyenv's, or those of the path; one that is missing is named and counts as failed. The last line is
``N passed, N failed``, of versions.
"""

from __future__ import annotations

import configparser
import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-versions"
LOWEST = "lowest"
LEFT_OUT = {
    *(
        "attack",
        "browser",
        "clients",
        "cluster",
        "compare",
        "copiers",
        "demo",
        "faults",
        "integration",
        "interop",
    ),
    *("links", "long", "simulation", "spark", "streams", "testing"),
}
"""Packages that need servers, browsers or Spark, or that run on the newest environment alone."""

UNTRIED_EXTRAS = {"all", "plot", "spark", "test"}
FOR_TESTS = (
    "aiokafka",
    "avro",
    "grpcio-tools",
    "hypothesis",
    "kafka-python",
    "opentelemetry-proto",
    "prometheus-client",
)
"""The libraries of the extra ``test`` that unit tests import."""

MOST_S = 3600
"""A loaded machine takes that long for what a quiet one does in a quarter of an hour."""


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def setup() -> configparser.ConfigParser:
    """Return setup.cfg."""
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


def claimed() -> list[str]:
    """Return the versions of Python that setup.cfg claims."""
    classifiers = setup()["metadata"]["classifiers"]
    return re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE)


def requirements(extras: Sequence[str]) -> Iterator[str]:
    """Yield the requirements of the package and of some extras."""
    config = setup()
    yield from filter(None, config["options"]["install_requires"].split("\n"))
    for extra in extras:
        for line in filter(None, config["options.extras_require"][extra].split("\n")):
            if not line.startswith("kafkatx["):
                yield line


def tried_extras() -> list[str]:
    """Return the extras whose code unit tests run."""
    return [extra for extra in setup()["options.extras_require"] if extra not in UNTRIED_EXTRAS]


def lowest(requirement: str) -> str | None:
    """Return a requirement of exactly the lowest version that another one allows; None if it names none."""
    found = re.match(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)", requirement)
    return None if found is None else f"{found[1]}=={found[2]}"


def interpreter(version: str) -> str | None:
    """Return an interpreter of a version, of the path or of pyenv."""
    name = f"python{version}"
    return next(
        iter(sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/{name}")))), None
    ) or (shutil.which(name))


def packages() -> list[str]:
    """Return the names of the packages and modules of unit tests."""
    tests = ROOT / "tests"
    folders = [path.name for path in tests.iterdir() if (path / "__init__.py").exists()]
    kept = sorted(f"tests.{name}" for name in folders if name not in LEFT_OUT)
    return [*kept, "tests.test_names", "tests.test_types", "tests.test_errors", "tests.test_extension"]


def environment(name: str, python: str) -> Path:
    """Make the virtual environment of a version, if need be; return its interpreter.

    :raises CalledProcessError: it cannot be made.
    """
    folder = HOME / name
    own = folder / "bin/python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    extras = tried_extras()
    pip = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if name == LOWEST:
        constraints = folder / "lowest.txt"
        wanted = {lowest(each.partition(";")[0].strip()) for each in requirements(extras)} - {None}
        constraints.write_text("".join(f"{each}\n" for each in sorted(map(str, wanted))))
        pip += ["--constraint", str(constraints)]
    package = f"{ROOT}[{','.join(extras)}]"
    subprocess.run([*pip, "--editable", package, "--config-settings", "editable_mode=compat"], check=True)
    subprocess.run(
        [*pip, *(each for each in requirements(["test"]) if each.startswith(FOR_TESTS))], check=True
    )
    return own


def run(name: str) -> bool:
    """Run the unit tests on a version; return True if all passed."""
    version = min(claimed(), key=lambda text: int(text.partition(".")[2])) if name == LOWEST else name
    python = interpreter(version)
    if python is None:
        say(f"{name}: there is no python{version} here")
        return False
    try:
        own = environment(name, python)
    except subprocess.CalledProcessError as error:
        say(f"{name}: {error}")
        return False
    say(f"{name}: {subprocess.run([own, '-V'], capture_output=True, text=True).stdout.strip()}")
    command = [str(own), "-m", "tests.run", f"--directory=_trial_temp-{name}", *packages()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=MOST_S)
    say(done.stdout[-6000:] if done.returncode else f"{name}: {done.stdout.splitlines()[-1]}")
    return done.returncode == 0


def main(names: Sequence[str]) -> int:
    """Run all versions; return the exit status."""
    passed = [run(name) for name in names or [*claimed(), LOWEST]]
    say(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
