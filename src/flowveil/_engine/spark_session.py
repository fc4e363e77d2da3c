"""Sessions of Spark: what they write is encrypted, and no file of the current folder decides what they run."""

from __future__ import annotations

import atexit
import os
import re
import sys
import warnings
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._engine.duckdb import mask
from flowveil._errors import InputError
from flowveil._folder import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HINT = "Spark needs Java 17; --master is e.g. local[*] or spark://HOST:PORT"
SETTINGS = {
    "spark.app.name": "flowveil",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",  # it answers everybody, on all networks
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.io.encryption.enabled": "true",  # visits of persons wait on disk
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # 007 is not 7
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # few visits are kept in few parts
}
_ON_THIS_MACHINE = re.compile(r"local(\[.*\])?")  # a master without other machines
_ALONE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",  # other users of this machine reach 127.0.0.1 too
}


_kept: ContextVar[ExitStack | None] = ContextVar("kept", default=None)  # what ends with the block of one_session


@contextmanager
def one_session() -> Iterator[None]:
    """Let all that Spark does while the block runs be done in one session: the first that is started."""
    with ExitStack() as stack:
        before = _kept.set(stack)
        try:
            yield
        finally:
            _kept.reset(before)


@contextmanager
def open_session(master: str | None) -> Iterator[SparkSession]:
    """Join the session that is running, or start one and stop it afterwards: see also `one_session`."""
    try:
        from pyspark import SparkContext  # noqa: PLC0415  an extra
        from pyspark.errors import PySparkException  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("Spark is not installed", "install it with: pip install 'flowveil[spark]'") from None
    # Spark warns of new versions of pandas, which take no part: rows go to and fro as Arrow.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers on this machine run another Python
    os.environ.setdefault("SPARK_HOME", str(_spark_home()))  # else Spark runs ../bin/spark-submit if there is one
    running = SparkContext._active_spark_context is not None  # noqa: SLF001  a session may be another thread's
    try:
        session = _join() if running else _start(master)
    except PySparkException as error:
        raise InputError(f"Spark does not start: {reason_of(error)}", HINT) from None
    try:
        with _safe_path(session.sparkContext.environment):
            yield session
    except PySparkException as error:
        raise InputError(f"Spark cannot read the trips: {reason_of(error)}", HINT) from None
    finally:
        kept = _kept.get()
        if not running and kept is not None:
            kept.callback(session.stop)
        elif not running:
            session.stop()


def _join() -> SparkSession:
    """Return a session beside those that are running; their files and ports are as whoever started them decided."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra

    session = SparkSession.builder.getOrCreate().newSession()
    for name, value in SETTINGS.items():
        if name.startswith("spark.sql."):
            session.conf.set(name, value)
    if session.sparkContext.getConf().get("spark.io.encryption.enabled", "false") != "true":
        warnings.warn(
            "the running Spark session writes ids of persons to disk as they are: "
            "start it with spark.io.encryption.enabled=true, or stop it and let flowveil start one",
            stacklevel=2,
        )
    return session


def _start(master: str | None) -> SparkSession:
    from pyspark import SparkContext  # noqa: PLC0415  an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra

    configured = SparkContext.getSystemProperty("spark.master")  # starts Java, which knows how Spark is configured
    chosen = master or configured or "local[*]"
    folder = _folder()
    builder = SparkSession.builder.config(map={**SETTINGS, **(_ALONE if _ON_THIS_MACHINE.fullmatch(chosen) else {})})
    builder = builder.config("spark.local.dir", str(folder)).config("spark.sql.warehouse.dir", str(folder / "tables"))
    return builder.master(chosen).getOrCreate()


@cache
def _folder() -> Path:
    """Make a folder for the files of all sessions of this process; Java writes to the first that it was told."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


@contextmanager
def _safe_path(environment: dict[str, str]) -> Iterator[None]:
    """Let Python on executors load no module from the folder it is started in, for the frames that are made now."""
    before = dict(environment)
    environment["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)


def _spark_home() -> Path:
    """Return the folder of Spark's programs: in the package, or where the package is part of Spark."""
    import pyspark  # noqa: PLC0415  an extra

    package = Path(pyspark.__file__).parent
    places = (package / "spark-distribution", package, package.parents[1])
    return next((place for place in places if (place / "bin" / "spark-submit").is_file()), package)


def reason_of(error: Exception) -> str:
    """Return what went wrong: the last line of a traceback of Python, else the first line; values are masked."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    reason = lines[-1 if "Traceback" in str(error) else 0] if lines else type(error).__name__
    return mask(reason)
