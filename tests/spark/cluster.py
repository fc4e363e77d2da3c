"""A real Spark cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from tests.postgres import free_port
from tests.waiting import wait_for

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# Compiles little, and does not verify the code of Spark anew: no process lives for long.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
ENVIRONMENT = {
    "SPARK_DAEMON_JAVA_OPTS": JAVA,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_CONF_DIR": str(Path(__file__).parent / "configuration"),  # as a cluster of two cores would be configured
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]),
}  # the last for functions of tests


@contextmanager
def _process(log, *arguments):
    """Run a class of Spark in a group of processes of its own, and end all of the group."""
    places = {"SPARK_WORKER_DIR": str(log.parent / "work"), "SPARK_LOCAL_DIRS": str(log.parent / "local")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPARK_CLASS), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | ENVIRONMENT | places,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill(process)


def kill(process):
    """Kill a process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def work_until_a_death(folder, name):
    """Tell which executor is at work on what, and go on when a worker has been killed in the middle of it."""
    (folder / f"{os.getppid()} {name} {time.time_ns()}").touch()
    while not folder.with_suffix(".dead").exists():
        time.sleep(0.05)


@contextmanager
def death(worker, folder):
    """Kill a worker as soon as two executors are at work."""

    def die():
        wait_for(lambda: len({path.name.split()[0] for path in folder.iterdir()}) == 2)
        kill(worker)
        folder.with_suffix(".dead").touch()

    thread = threading.Thread(target=die, daemon=True)
    thread.start()
    yield
    thread.join()


class Cluster:
    """A master and two workers with one core each, and the folder that they write to."""

    def __init__(self, folder, stack):
        """Start the processes; the stack ends them."""
        self.folder, self._stack = folder, stack
        self.url = f"spark://127.0.0.1:{free_port()}"
        port = self.url.rsplit(":", 1)[1]
        master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
        self._log = folder / "master.log"
        stack.enter_context(_process(self._log, *master))
        wait_for(lambda: "New state: ALIVE" in self._log.read_text())
        self._started = 0
        self.workers = []
        self.complete()

    def complete(self):
        """Start workers in place of those that were killed, and wait until the master knows them."""
        living = [worker for worker in self.workers if worker.poll() is None]
        command = ["org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", "1g", "--webui-port", "0", self.url]
        for _ in range(2 - len(living)):
            self._started += 1
            log = self.folder / f"worker-{self._started}.log"
            living.append(self._stack.enter_context(_process(log, *command)))
        self.workers = living
        wait_for(lambda: self._log.read_text().count("Registering worker") == self._started)


@contextmanager
def cluster(folder):
    """Start a cluster, or skip the test with the reason."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    with ExitStack() as stack:
        yield Cluster(folder, stack)
