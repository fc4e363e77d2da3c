"""A real Spark cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from tests.postgres import free_port

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_CONF_DIR": str(Path(__file__).parent / "spark"),  # as a cluster of two cores would be configured
}
PATIENCE = 180  # seconds; some when the machine is idle


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


@contextmanager
def cluster(folder):
    """Start a master and two workers with one core each; return the URL and the workers."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    url = f"spark://127.0.0.1:{free_port()}"
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", url.rsplit(":", 1)[1]]
    worker = ["org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", "1g", "--webui-port", "0", url]
    with ExitStack() as stack:
        stack.enter_context(_process(folder / "master.log", *master, "--webui-port", "0"))
        wait_for(lambda: "New state: ALIVE" in (folder / "master.log").read_text())
        workers = [stack.enter_context(_process(folder / f"worker-{number}.log", *worker)) for number in range(2)]
        wait_for(lambda: (folder / "master.log").read_text().count("Registering worker") == 2)
        yield url, workers


def wait_for(condition):
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.1)
