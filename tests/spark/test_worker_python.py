"""The script that starts the workers of a local Spark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark import worker_python as tested
from kafkatx.spark.worker_python import worker_python, write_script


class WriteScriptTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an installed package and a zip file with an older copy of it."""
        self.folder = Path(self.mktemp()).resolve()
        self.package = self.folder / "site" / "parcel"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").write_text("where = 'installed'")
        self.zip = self.folder / "parcel.zip"
        with zipfile.ZipFile(self.zip, "w") as archive:
            archive.writestr("parcel/__init__.py", "where = 'zip'")
            archive.writestr("other.py", "where = 'zip'")

    def run_python(self, code: str, path: str | None) -> str:
        """Run *code* by the script; return what it prints."""
        (self.folder / "script").mkdir()
        script = write_script(str(self.folder / "script"), str(self.package))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if path is not None:
            environment["PYTHONPATH"] = path
        done = subprocess.run([script, "-c", code], env=environment, capture_output=True, text=True)
        return done.stdout.strip() + done.stderr

    def test_before_zip(self) -> None:
        """The installed package goes before the copy in a zip file on PYTHONPATH; other modules stay."""
        printed = self.run_python("import parcel, other; print(parcel.where, other.where)", str(self.zip))
        self.assertEqual(printed, "installed zip")

    def test_no_path(self) -> None:
        """Without PYTHONPATH the working directory does not get onto the path."""
        printed = self.run_python("import os; print(os.environ['PYTHONPATH'].count(':'))", None)
        self.assertEqual(printed, "0")

    def test_connects_first(self) -> None:
        """A worker that Spark waits for is started by the program that connects first."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(60)
            (self.folder / "script").mkdir()
            script = write_script(str(self.folder / "script"), str(self.package))
            port = str(server.getsockname()[1])
            variables = {"PYTHON_WORKER_FACTORY_PORT": port, "PYTHON_WORKER_FACTORY_SECRET": "secret"}
            command = [script, "-m", "absent_module"]
            process = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.PIPE)
            accepted, _ = server.accept()
            with process, accepted:
                self.assertEqual(accepted.recv(100), b"\0\0\0\x06secret")
                self.assertIn(b"absent_module", process.communicate()[1])

    def test_same_python(self) -> None:
        """The script runs this Python with its arguments unchanged."""
        printed = self.run_python("import sys; print(sys.executable, 'a  b')", None)
        self.assertEqual(printed, f"{sys.executable} a  b")

    def test_quotes(self) -> None:
        """A temporary directory may have blanks and quotes in its name."""
        folder = self.folder / "it's a folder"
        folder.mkdir()
        done = subprocess.run(
            [write_script(str(folder), str(self.package)), "-c", "import parcel; print(parcel.where)"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "installed\n", done.stderr)


class WorkerPythonTests(SynchronousTestCase):
    def test_one(self) -> None:
        """A process has one script, which imports PySpark from its own directory whatever PYTHONPATH says."""
        script = worker_python()
        self.assertEqual(worker_python(), script)
        self.assertTrue(os.access(script, os.X_OK))

    def test_zipped(self) -> None:
        """The workers get this Python if PySpark itself is in a zip file."""
        self.patch(tested, "_pyspark_folder", lambda: None)
        self.assertEqual(worker_python(), sys.executable)

    def test_not_executable(self) -> None:
        """The workers get this Python if scripts of the temporary directory cannot be run."""
        worker_python()
        self.patch(tested, "write_script", lambda folder, package: os.path.join(folder, "absent"))
        self.assertEqual(worker_python(), sys.executable)
