"""The modules that importing kafkatx loads and does not load; import-linter checks the floors."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import kafkatx

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ["pyspark", "pyarrow", "kazoo", "fastavro", "jsonschema", "google.protobuf", "pytest", "hypothesis"]
EXTRAS += ["OpenSSL", "cryptography", "service_identity", "jwt"]

# Imports each module named on standard input; prints what is then loaded.
_IMPORT = """
import importlib, json, sys
names, blocked = json.load(sys.stdin)
for name in blocked:
    sys.modules[name] = None
for name in names:
    importlib.import_module(name)
print(json.dumps([name for name, module in sys.modules.items() if module is not None]))
"""


def modules() -> list[str]:
    """Every module of kafkatx but those that do their work when imported."""
    found = pkgutil.walk_packages(kafkatx.__path__, "kafkatx.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def loaded_after(names: list[str], blocked: list[str] | None = None) -> set[str]:
    """Import *names* in a new process in which *blocked* cannot be imported; what is loaded then."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT],
        input=json.dumps([names, blocked or []]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return set(json.loads(done.stdout))


def below(names: list[str], *packages: str) -> list[str]:
    """Those of *names* that are one of *packages* or in it."""
    return [name for name in names if any(name == p or name.startswith(p + ".") for p in packages)]


class ImportTests(SynchronousTestCase):
    def test_no_module_installs_a_reactor(self) -> None:
        """Importing all of kafkatx leaves the choice of the reactor to the application."""
        self.assertNotIn("twisted.internet.reactor", loaded_after(modules()))

    def test_pure_floors_without_twisted(self) -> None:
        """Wire, records, partitioners and the blocking client work where there is no Twisted."""
        pure = below(modules(), "kafkatx.wire", "kafkatx.records", "kafkatx.partitioners", "kafkatx.blocking")
        self.assertGreater(len(pure), 4)
        loaded_after(pure, blocked=["twisted", "zope"])

    def test_extras_are_optional(self) -> None:
        """Without one extra installed all but the modules that are for an extra can be imported."""
        for_extras = below(
            modules(),
            *("kafkatx.demo", "kafkatx.metadata.tree.zookeeper", "kafkatx.schemas.protobuf", "kafkatx.spark"),
            "kafkatx.broker.logins.tokens",
            *("kafkatx.testing", "kafkatx.net.tls", "kafkatx.cli.tls.files", "kafkatx.cli.tls.advice"),
            *(
                f"kafkatx.tls.{name}"
                for name in ("authority", "keystore", "plain_socket", "principals", "settings")
            ),
        )
        loaded_after([name for name in modules() if name not in for_extras], blocked=EXTRAS)
