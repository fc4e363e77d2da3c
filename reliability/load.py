"""The web app under load, and what is left of it afterwards: python -m reliability load [--sessions 300].

The server is a process of its own on 127.0.0.1, and everything is bounded in number and time. After each trial all is
started over; then memory, file handles, processes and files must be where they were. Exits with 1 if they are not, or
if any answer was an error that no hint explains.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import select
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil.synthetic import City
from reliability.served import Served

LIMIT = 50_000_000  # bytes of all files
CROWD = 50
SLOW_SECONDS = 75  # that slow clients are given: more than twice the server's patience
GROWTH = 100  # MB that memory may stay above what it was, of allocators that keep what they have
PLACES = {"grid": "h3:6", "hierarchy": "h3", "unit": "person_id"}
SOME = b"start_lon,start_lat,end_lon,end_lat\n4.5,50.3,4.6,50.4\n"


def main():
    options = argparse.ArgumentParser(prog="reliability")
    options.add_argument("--sessions", type=int, default=300, help="of the day in fast motion")
    options.add_argument("--only", choices=TRIALS, help="one trial")
    chosen = options.parse_args()
    content = io.BytesIO()
    pq.write_table(City(seed=0, persons=400).trips(4_000), content)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        served = Served(Path(folder), "--upload-limit", f"{LIMIT // 1_000_000}MB")
        try:
            session(served, content.getvalue())  # everything has been loaded once
            rest = served.start_over()
            print(f"at rest: {rest}", flush=True)
            for name in [chosen.only] if chosen.only else TRIALS:
                began, work = time.perf_counter(), served.processor_seconds()
                said = TRIALS[name](served, content.getvalue(), chosen.sessions)
                took, work = time.perf_counter() - began, served.processor_seconds() - work
                after = served.start_over()
                print(f"{name}: {said}; {took:.0f} s, {work:.0f} s of the processor", flush=True)
                print(f"  afterwards: {after}", flush=True)
                wrong += [f"{name}: {one}" for one in not_as_before(rest, after)]
        finally:
            code, said, left = served.end()
    wrong += [f"the server ended with {code}"] if code else []
    wrong += [f"the server said {said!r}"] if said else []
    wrong += [f"{len(left)} files were left"] if left else []
    print("\n".join(f"WRONG: {one}" for one in wrong) or "all is where it was, and nothing is left")
    sys.exit(bool(wrong))


def not_as_before(rest, after):
    """Return what is not as it was at rest."""
    told = [f"{name} {getattr(rest, name)} -> {getattr(after, name)}" for name in ("handles", "processes", "files")
            if getattr(after, name) > getattr(rest, name)]  # fmt: skip
    return told + [f"memory {rest.server:.0f} -> {after.server:.0f} MB"] * (after.server > rest.server + GROWTH)


def session(served, content, *, client=None, chance=None):
    """Do what a user does, from a file to the downloads; return the states that jobs came to."""
    chance = chance or random.Random(0)
    own = client or served.client()
    states = Counter()

    def wait(answer):
        known = answer.json()
        while answer.status_code == 200 and known["state"] in ("waiting", "running"):
            time.sleep(0.02)
            known = own.get(f"/api/jobs/{known['id']}").json()
        states[known.get("state", answer.status_code)] += 1
        return known

    own.get("/")
    own.get("/assets/app.js")
    file = own.put("/api/upload", params={"name": "trips.parquet"}, content=content).json()["id"]
    own.put("/api/state", json={"step": 1})
    asked = {"trips": file, **PLACES, "k": chance.choice([5, 10, 20])}
    wait(own.post(f"/api/columns/{file}"))
    wait(own.post("/api/count", json={"trips": file, **PLACES}))
    wait(own.post("/api/frontier", json=asked))
    wait(own.post("/api/points", json=asked | {"budgets": [0.05, 0.2]}))
    made = wait(own.post("/api/anonymize", json=asked | {"max_suppression": 0.1, "report": True}))
    own.get("/")  # a reload
    own.get("/api/state")
    for path in ("zip", "report", "private"):
        states[own.get(f"/api/releases/{made['id']}/{path}").status_code] += 1
    states[own.get(f"/api/maps/{made['id']}/map").status_code] += 1
    if chance.random() < 0.2:
        written = wait(own.post(f"/api/releases/{made['id']}/export/{chance.choice(served.formats)}"))
        states[own.get(f"/api/exports/{written['id']}/zip").status_code] += 1
    if chance.random() < 0.1:
        wait(own.post(f"/api/releases/{made['id']}/private-report"))
    own.delete(f"/api/files/{file}")
    if client is None:
        own.close()
    return states


def crowd(served, content, _):
    """Fifty uploads at once, then fifty jobs at once, then fifty downloads of each release."""
    answers = Counter()

    def upload(number):
        with served.client() as client:
            answer = client.put("/api/upload", params={"name": f"{number}.parquet"}, content=content)
            return answer.status_code, answer.json().get("error", ""), answer.json().get("id")

    def job(file):
        with served.client() as client:
            answer = client.post("/api/anonymize", json={"trips": file, **PLACES, "k": 10, "max_suppression": 0.1})
            known, first = answer.json(), answer
            while first.status_code == 200 and known["state"] in ("waiting", "running"):
                time.sleep(0.2)
                known = client.get(f"/api/jobs/{known['id']}").json()
            return known.get("state") or f"{first.status_code} {known['error']}", known.get("id")

    def download(key):
        with served.client() as client:
            answer = client.get(f"/api/releases/{key}/zip")
            return "zip" if answer.status_code == 200 else f"{answer.status_code} {answer.json()['error']}"

    with ThreadPoolExecutor(CROWD) as pool:
        kept = []
        for status, error, key in pool.map(upload, range(CROWD)):
            answers[f"upload {status} {error}".strip()] += 1
            kept += [key] if status == 200 else []
        ended = list(pool.map(job, [kept[number % len(kept)] for number in range(CROWD)]))
        answers.update(f"job {state}" for state, _ in ended)
        done = [key for state, key in ended if state == "done"]
        answers.update(f"download {one}" for one in pool.map(download, [done[-1]] * CROWD))
    return told(answers)


def slow(served, *_):
    """Clients that keep the server waiting, while one asks as usual."""
    upload = served.head("PUT", "/api/upload?name=trips.csv", "Content-Length: 100000")
    kinds = {
        "silent": (b"", b""),
        "a byte of a request a second": (b"", served.head("GET", "/api/about")),
        "a request that stops": (served.head("GET", "/api/about")[:-10], b""),
        "an upload that stops": (upload + SOME, b""),
        "a byte of an upload a second": (upload, SOME * 100),
        "half-closed upload": (upload + SOME, None),
        "half-closed request": (served.head("GET", "/api/about"), None),
        "never reads": (served.head("GET", "/assets/app.js") * 200, b""),
    }
    clients = []
    for kind, (first, later) in kinds.items():
        for _ in range(6 if "upload" in kind else 20):  # no more uploads than there may be files
            connection = served.connect()
            connection.setblocking(False)  # noqa: FBT003  the name of the standard library
            with suppress(OSError):
                connection.send(first)
            if later is None:
                connection.shutdown(1)
            clients.append((kind, connection, later))
    ended, most, busiest = {}, 0.0, served.usage()
    with served.client() as client:
        for second in range(SLOW_SECONDS):
            for number, (_, connection, later) in enumerate(clients):
                if number not in ended and is_over(connection, later[second : second + 1] if later else b""):
                    ended[number] = second
            began = time.perf_counter()
            assert client.get("/api/about").status_code == 200
            most = max(most, time.perf_counter() - began)
            busiest = max(busiest, served.usage(), key=lambda usage: usage.handles)
            time.sleep(1)
    left = served.usage().handles
    words = []
    for kind in kinds:
        over = [ended.get(number) for number, client in enumerate(clients) if client[0] == kind]
        gone = [second for second in over if second is not None]
        words.append(f"{kind}: {len(gone)} of {len(over)} closed" + (f" by {max(gone)} s" if gone else ""))
    for _, connection, _ in clients:
        connection.close()
    handles = f"at most {busiest.handles} handles, {left} in the end"
    return f"{'; '.join(words)}; {handles}; others waited at most {most:.2f} s"


def is_over(connection, more):
    """Send more; whether the server has closed the connection."""
    try:
        if more:
            connection.send(more)
    except BlockingIOError:
        return False
    except OSError:
        return True
    seen = select.poll()
    seen.register(connection, select.POLLRDHUP)
    return bool(seen.poll(0))


def huge(served, *_):
    """Clients that send more than there is room for, and more of them than there are connections."""
    answers = Counter()
    block = b"4.5,50.3,4.6,50.4\n" * 50_000

    def endless():
        while True:
            yield block

    bodies = {
        "endless": ("put", "/api/upload?name=trips.csv", endless()),
        "too long": ("put", "/api/upload?name=trips.csv", iter([block] * (2 * LIMIT // len(block)))),
        "long settings": ("post", "/api/count", b"[" * 200_000),
    }
    for name, (method, path, body) in bodies.items():
        with served.client() as client:
            try:
                answers[f"{name}: {client.request(method, path, content=body).status_code}"] += 1
            except httpx.HTTPError:
                answers[f"{name}: closed"] += 1
    answers[f"endless after the answer: {until_closed(served, block)}"] += 1
    for number in range(20):  # says one length and sends another
        with served.connect() as connection:
            length = ["100", "99999999999999999999", "-1", "1e3"][number % 4]
            connection.sendall(served.head("PUT", "/api/upload?name=trips.csv", f"Content-Length: {length}") + SOME)
            connection.shutdown(1)
            answers[f"length {length}: {connection.recv(1 << 16)[9:12].decode() or 'closed'}"] += 1
    with served.connect() as connection:
        connection.settimeout(30)
        with suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 10_000_000)
        answers["a head of 10 MB: " + first_words(connection)] += 1
    many = [served.connect() for _ in range(600)]
    time.sleep(3)
    held = served.usage().handles
    for connection in many:
        connection.close()
    time.sleep(1)
    assert served.client().get("/api/about").status_code == 200
    return f"{told(answers)}; 600 connections at once took {held} handles"


def until_closed(served, block):
    """Send more and more of a body, whatever the answer; return when the server has had enough."""
    began = time.monotonic()
    with served.connect() as connection:
        connection.sendall(served.head("PUT", "/api/upload?name=trips.csv", "Transfer-Encoding: chunked"))
        try:
            while time.monotonic() < began + SLOW_SECONDS:
                connection.sendall(f"{len(block):x}\r\n".encode() + block + b"\r\n")
                time.sleep(0.01)
        except OSError:
            return f"closed within {SLOW_SECONDS} s"
    return "taken without end"


def first_words(connection):
    """Return the status of an answer."""
    try:
        return connection.recv(1 << 12)[9:12].decode() or "closed"
    except OSError:
        return "closed"


def canceled(served, content, _):
    """Forty jobs that are canceled at some moment, while others wait."""
    states, chance = Counter(), random.Random(1)
    with served.client() as client:
        file = client.put("/api/upload", params={"name": "trips.parquet"}, content=content).json()["id"]
        for _ in range(40):
            asked = {"trips": file, **PLACES, "k": 10, "max_suppression": chance.random() / 4, "report": True}
            jobs = [client.post(f"/api/{kind}", json=asked) for kind in ("anonymize", "frontier")]
            time.sleep(chance.random() * 2)
            for job in jobs:
                states[client.delete(f"/api/jobs/{job.json()['id']}").json()["state"]] += 1
    return told(states)


def day(served, content, sessions):
    """Use it for a day in fast motion: memory and files are looked at after each tenth of it."""
    states, chance, seen = Counter(), random.Random(2), []
    for number in range(sessions):
        states += session(served, content, chance=chance)
        if (number + 1) % max(sessions // 10, 1) == 0:
            usage = served.usage()
            seen.append(usage)
            print(f"  after {number + 1} sessions: {usage}", flush=True)
            if number % 2:
                served.start_over()
    return f"{sessions} sessions: {told(states)}"


def bombs(served, *_):
    """Small files that unfold to more than anyone has, of each format that the app takes."""
    words = []
    for name, kind, made in make_bombs():
        with served.client() as client:
            answer = client.put("/api/upload", params={"name": name, "kind": kind}, content=made)
            if answer.status_code == 200:
                path = "columns" if kind == "trips" else "zones"
                known = client.post(f"/api/{path}/{answer.json()['id']}").json()
                most = 0.0
                while known["state"] in ("waiting", "running"):
                    time.sleep(0.1)
                    most = max(most, served.usage().worker)
                    known = client.get(f"/api/jobs/{known['id']}").json()
                said = f"{known['state']} ({known['error'][:200]}), the worker had {most:.0f} MB"
                client.delete(f"/api/files/{answer.json()['id']}")
            else:
                said = f"{answer.status_code} ({answer.json()['error']})"
        words.append(f"\n  {name}, {len(made) / 1e6:.2f} MB: {said}")
    return f"{len(words)} files{''.join(words)}"


def make_bombs():
    """Yield names, kinds and contents."""
    yield "trips.csv.gz", "trips", gzip.compress(b"0" * 100_000_000, 9)
    for codec in ("zstd", "gzip", "brotli", "snappy"):
        content = io.BytesIO()
        zones = pa.table({"zone_id": pa.array(["x" * 1_000_000] * 1_000).dictionary_encode()})
        pq.write_table(zones, content, compression=codec)
        yield f"zones-{codec}.parquet", "zones", content.getvalue()
    zeros = pa.record_batch({"start_lon": pa.repeat(0.0, 10_000_000)})
    for codec in ("zstd", "lz4"):
        content = io.BytesIO()
        with pa.ipc.new_file(content, zeros.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
            for _ in range(60):
                writer.write_batch(zeros)
        yield f"trips-{codec}.arrow", "trips", content.getvalue()
    content = io.BytesIO()
    pq.write_table(pa.table({"zone_id": pa.repeat(0, 6_000_000)}), content)
    yield "rows.parquet", "zones", content.getvalue()
    yield "zones.geojson", "zones", b'{"features": [' + b"[" * 5_000_000


def told(answers):
    """Return how often there was each answer."""
    return ", ".join(f"{count} x {answer}" for answer, count in sorted(answers.items(), key=str))


TRIALS = {"crowd": crowd, "slow": slow, "huge": huge, "canceled": canceled, "day": day, "bombs": bombs}
