"""A command starts Spark once, however often it uses it. Sessions here are stand-ins: tests/spark has true ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flowveil import trajectories
from flowveil._engine import one_session, spark_session, spark_spread
from flowveil._engine.spark_session import open_session
from flowveil.synthetic import PHONES_BBOX, phones


@pytest.fixture
def story(monkeypatch):
    """Return what happens to sessions, in order."""
    context = pytest.importorskip("pyspark").SparkContext
    told = []

    def session():
        def stop():
            told.append("stop")
            monkeypatch.setattr(context, "_active_spark_context", None)

        return SimpleNamespace(sparkContext=SimpleNamespace(environment={}), stop=stop)

    def start(_master):
        told.append("start")
        monkeypatch.setattr(context, "_active_spark_context", "running")
        return session()

    monkeypatch.setattr(context, "_active_spark_context", None)
    monkeypatch.setattr(spark_session, "_start", start)
    monkeypatch.setattr(spark_session, "_join", lambda: told.append("join") or session())
    return told


def use_twice():
    """Use Spark for two things, one after the other."""
    for _ in range(2):
        with open_session(None):
            pass


def test_each_by_itself(story):
    """Without a command around them, each has a session of its own."""
    use_twice()

    assert story == ["start", "stop"] * 2


def test_one_for_all(story):
    """Inside of a command the second joins, and the session ends with the command, whatever goes wrong."""
    with one_session():
        use_twice()
        assert story == ["start", "join"]
    assert story == ["start", "join", "stop"]

    with pytest.raises(ZeroDivisionError), one_session(), open_session(None):
        raise ZeroDivisionError
    assert story[3:] == ["start", "stop"]


def test_none_without_need(story):
    """A command that does not use Spark starts none."""
    with one_session():
        pass

    assert story == []


@pytest.mark.slow
def test_days_of_trajectories(story, monkeypatch):
    """The blocks of all days are merged in one session."""
    monkeypatch.setattr(spark_spread, "_do_at_once", lambda *_: {})  # what executors cannot do is done here
    days = {"cut_into": "day", "step": "1km,30min", "blocks": 2, "engine": "spark"}
    trajectories.anonymize(phones(12, samples=20, days=3), 2, bbox=PHONES_BBOX, **days)

    assert story == ["start", "join", "join", "stop"]
