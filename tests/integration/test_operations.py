"""``docs/operations.md`` and the files in ``etc`` that it is about: each is checked or run."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import yaml
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.ports import free_port
from tests.test_readme import ROOT, blocks

PAGE = ROOT / "docs/operations.md"
ETC = ROOT / "etc"
END_S = 120.0


class OperationsCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a folder, and an environment that has the command of this checkout."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir(parents=True)
        self.port = free_port()
        commands = self.folder / "bin"
        commands.mkdir()
        command = commands / "kafkatx"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkatx "$@"\n')
        command.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), *sys.path])),
            "KAFKATX_BOOTSTRAP": f"127.0.0.1:{self.port}",
        }

    def run_text(self, text: str) -> str:
        """Run a script; return what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=END_S,
        )
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode}\n{text}{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, arguments: str, data: Path) -> None:
        """Start a broker in the background, and stop it at the end."""
        command = f"kafkatx up --daemon {arguments}".replace("9092", str(self.port))
        self.addCleanup(self.stop, data)
        self.run_text(command)

    def stop(self, data: Path) -> None:
        """Stop the broker of a directory, if there is one."""
        command = ["kafkatx", "stop", "--data", str(data)]
        subprocess.run(command, env=self.environment, capture_output=True, timeout=END_S)


class PageTests(OperationsCase):
    def adapted(self, text: str) -> str:
        """Return a command of the page with this test's port."""
        return text.replace("kafkatx up", f"kafkatx up --port {self.port}")

    def test_commands(self) -> None:
        """Each shell block runs, in order, and leaves no broker behind."""
        texts = [block.text for block in blocks(PAGE.read_text()) if block.language == "sh"]
        self.assertGreater(len(texts), 3)
        for text in texts:
            self.run_text(self.adapted(text))
        for name in ("data", "restored"):
            self.assertFalse((self.folder / name / "kafkatx.pid").exists(), name)
        self.assertIn("every log is flushed", (self.folder / "data/kafkatx.log").read_text())

    def test_quickstart(self) -> None:
        """The blocks of the quickstart run, except kcat and the broker in the foreground."""
        page = (ROOT / "docs/quickstart.md").read_text()
        texts = [block.text for block in blocks(page) if block.language == "sh" and "kcat" not in block.text]
        foreground = [text for text in texts if "up" in text and "daemon" not in text]
        (background,) = [text for text in texts if "--daemon" in text]
        self.assertEqual(len(foreground), 2)
        (talk,) = [text for text in texts if "consume" in text]
        self.assertEqual(texts, [*foreground, talk, background])
        first, rest = self.adapted(background).split("\n", 1)
        self.addCleanup(self.stop, self.folder / "data")
        self.run_text(first)
        self.assertEqual(self.run_text(talk).splitlines()[-2:], ["hello", "world"])
        self.run_text(rest)

    def test_files_are_named(self) -> None:
        """The pages name every file in etc, and none that is not there."""
        pages = "".join(
            (ROOT / "docs" / f"{name}.md").read_text()
            for name in ("operations", "cluster", "mirror-run", "monitoring")
        )
        named = set(re.findall(r"`etc/([\w./]+)`", pages))
        files = {str(path.relative_to(ETC)) for path in ETC.rglob("*") if path.is_file()}
        self.assertEqual(named | {"server.properties"}, files)


class UnitTests(OperationsCase):
    def unit(self) -> str:
        """Return the unit with paths of this test in place of its own."""
        text = (ETC / "kafkatx.service").read_text()
        for path, ours in (
            ("/opt/kafkatx/bin/kafkatx", self.folder / "bin/kafkatx"),
            ("/etc/kafkatx/server.properties", ETC / "server.properties"),
            ("/var/lib/kafkatx", self.folder / "data"),
        ):
            self.assertIn(path, text)
            text = text.replace(path, str(ours))
        return text

    def test_systemd_accepts_it(self) -> None:
        """systemd finds no mistake in it, not even an unknown line."""
        if shutil.which("systemd-analyze") is None:
            raise SkipTest("no systemd-analyze here")
        path = self.folder / "kafkatx.service"
        path.write_text(self.unit())
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, timeout=END_S
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_command(self) -> None:
        """The command that it starts is a broker with the sample settings."""
        (command,) = re.findall(r"^ExecStart=\S+ up (.*)$", self.unit(), re.MULTILINE)
        data = self.folder / "data"
        self.start(f"{command} --port 9092", data)
        self.run_text(f"kafkatx status --data {data}")


class LogRotateTests(OperationsCase):
    def test_script(self) -> None:
        """Its script has a broker begin a new log file."""
        text = (ETC / "kafkatx.logrotate").read_text()
        (script,) = re.findall(r"postrotate\n(.*?)endscript", text, re.DOTALL)
        (log,) = re.findall(r"^(/\S+) \{$", text, re.MULTILINE)
        data = self.folder / "data"
        self.start(f"--data {data} --port 9092", data)
        ours = Path(log.replace("/var/lib/kafkatx", str(data)))
        ours.rename(f"{ours}.1")
        self.run_text(script.replace("/var/lib/kafkatx", str(data)) + f"kafkatx stop --data {data}\n")
        self.assertIn("every log is flushed", ours.read_text())


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a container file and their arguments."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, text.splitlines()):
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


class DockerfileTests(OperationsCase):
    def setUp(self) -> None:
        """Read the file."""
        super().setUp()
        self.found = list(instructions((ETC / "Dockerfile").read_text()))

    def last(self, name: str) -> str:
        """Return the arguments of the last instruction of this name."""
        return [arguments for found, arguments in self.found if found == name][-1]

    def test_instructions(self) -> None:
        """It begins with an image, copies what is there, and runs as another user than root."""
        self.assertEqual(self.found[0][0], "FROM")
        names = {name for name, _ in self.found}
        known = "FROM ARG COPY RUN ENV USER WORKDIR VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD"
        self.assertEqual(names - set(known.split()), set())
        sent = {
            line[1:] for line in (ETC / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"
        }
        copied = set()
        for name, arguments in self.found:
            if name == "COPY" and not arguments.startswith("--from="):
                *sources, _ = arguments.split()
                for source in sources:
                    self.assertTrue((ROOT / source).exists(), source)
                copied |= set(sources)
        self.assertEqual(copied, sent)
        self.assertEqual(self.last("USER"), "kafkatx")

    def test_commands(self) -> None:
        """The image's command is a broker, which its health check finds ready."""
        data = self.folder / "data"
        options, _, check = self.last("HEALTHCHECK").partition(" CMD ")
        self.assertTrue(all(option.startswith("--") for option in options.split()))
        command = [*json.loads(self.last("ENTRYPOINT")), *json.loads(self.last("CMD"))]
        self.assertEqual(command[:2], ["kafkatx", "up"])
        ours = [word.replace(self.last("VOLUME"), str(data)) for word in command[2:]]
        self.start(self.with_free_http(" ".join(ours)), data)
        self.run_text(" ".join(json.loads(check)).replace(self.last("VOLUME"), str(data)))

    def with_free_http(self, arguments: str) -> str:
        """Return arguments whose HTTP port is any free one."""
        self.assertIn(":8081", arguments)
        return arguments.replace(":8081", ":0")

    def test_extras(self) -> None:
        """The image installs extras that there are."""
        extras = self.last("ARG").partition("=")[2].split(",")
        settings = configparser.ConfigParser()
        settings.read(ROOT / "setup.cfg")
        self.assertEqual(set(extras) - set(settings["options.extras_require"]), set())

    def test_compose(self) -> None:
        """The command of the service is a broker for clients in other containers and on this machine."""
        service = yaml.safe_load((ETC / "compose.yaml").read_text())["services"]["kafkatx"]
        self.assertTrue((ETC / service["build"]["context"] / service["build"]["dockerfile"]).exists())
        data, inside = self.folder / "data", free_port()
        entry = " ".join(json.loads(self.last("ENTRYPOINT"))[2:]).replace(self.last("VOLUME"), str(data))
        command = self.with_free_http(f"{entry} {' '.join(service['command'])}")
        self.start(command.replace("29092", str(inside)).replace("kafkatx:", "127.0.0.1:"), data)
        for port in (self.port, inside):
            self.run_text(f"kafkatx topics list -b 127.0.0.1:{port}")

    def test_kubernetes(self) -> None:
        """The resources are valid, and the broker that they start is ready for its probes."""
        found = {one["kind"]: one for one in yaml.safe_load_all((ETC / "kubernetes.yaml").read_text())}
        for one in found.values():
            kubernetes_validate.validate(one, "1.31", strict=True)
        pod = found["StatefulSet"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual(set(map(str, ports.values())), set(self.last("EXPOSE").split()))
        paths = {
            container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")
        }
        self.assertEqual(paths, {"/health/ready", "/health/live"})
        self.assertEqual(pod["securityContext"]["runAsUser"], 9092)
        self.assertIn(container["volumeMounts"][0]["mountPath"], self.last("VOLUME"))
