"""Starts real SPARQL servers on loopback, each with a graph; a test is skipped where a server is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_llmkg.endpoints import Endpoint, SparqlEndpoint
from pytest_llmkg.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_llmkg.endpoints.results import RdfReader

_START_SECONDS = 90.0
VIRTUOSO_GRAPH = "urn:example:fixture"

VIRTUOSO_INI = """
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 200
[TempDatabase]
DatabaseFile = {folder}/virtuoso-temp.db
TransactionFile = {folder}/virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
DirsAllowed = {folder}
ServerThreads = 10
NumberOfBuffers = 5000
MaxDirtyBuffers = 3000
DefaultIsolation = 2
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerRoot = {folder}
ServerThreads = 10
[SPARQL]
ResultSetMaxRows = 20000
"""


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def program(name: str) -> str | None:
    """A server's program: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def wait_until_well(endpoint: Endpoint, process: subprocess.Popen[bytes], read_rdf: RdfReader) -> None:
    client, until = SparqlEndpoint(endpoint, read_rdf), time.monotonic() + _START_SECONDS
    while True:
        try:
            client.query("ASK { }", {})
        except EndpointError as error:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start: {error}") from error
            time.sleep(0.05)
        else:
            client.close()
            return


@contextlib.contextmanager
def running(command: list[str], **settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def oxigraph(turtle: str, folder: Path, read_rdf: RdfReader) -> Iterator[Endpoint]:
    """Oxigraph's server; federates by itself."""
    binary = program("oxigraph")
    if binary is None:
        pytest.skip("the Oxigraph server is not installed: pip install oxigraph")
    folder.mkdir(parents=True)
    (folder / "graph.ttl").write_text(turtle, encoding="utf-8")
    store, port = str(folder / "store"), free_port()
    load = [binary, "load", "--location", store, "--file", str(folder / "graph.ttl")]
    subprocess.run(load, check=True, capture_output=True)
    with running([binary, "serve-read-only", "--location", store, "--bind", f"127.0.0.1:{port}"]) as process:
        endpoint = Endpoint(f"http://127.0.0.1:{port}/query")
        wait_until_well(endpoint, process, read_rdf)
        yield endpoint


@contextlib.contextmanager
def rdflib_endpoint(turtle: str, folder: Path, read_rdf: RdfReader) -> Iterator[Endpoint]:
    """rdflib behind HTTP."""
    if importlib.util.find_spec("rdflib_endpoint") is None or importlib.util.find_spec("uvicorn") is None:
        pytest.skip("rdflib-endpoint is not installed: pip install 'rdflib-endpoint[cli]'")
    folder.mkdir(parents=True)
    (folder / "graph.ttl").write_text(turtle, encoding="utf-8")
    port = free_port()
    main = "from rdflib_endpoint.__main__ import cli; cli()"
    serve = ["serve", "--host", "127.0.0.1", "--port", str(port), str(folder / "graph.ttl")]
    with running([sys.executable, "-c", main, *serve]) as process:
        endpoint = Endpoint(f"http://127.0.0.1:{port}/")
        wait_until_well(endpoint, process, read_rdf)
        yield endpoint


@contextlib.contextmanager
def virtuoso(turtle: str, folder: Path, read_rdf: RdfReader) -> Iterator[Endpoint]:
    """Virtuoso of Debian's package virtuoso-opensource-7-bin; LLMKG_VIRTUOSO names a folder where it is unpacked."""
    root = Path(os.environ.get("LLMKG_VIRTUOSO", "/"))
    server, isql = root / "usr/bin/virtuoso-t", root / "usr/bin/isql-vt"
    if not server.exists() or not isql.exists():
        pytest.skip("Virtuoso is not installed: apt-get install virtuoso-opensource-7-bin, or set LLMKG_VIRTUOSO")
    folder.mkdir(parents=True)
    (folder / "graph.ttl").write_text(turtle, encoding="utf-8")
    sql, http = free_port(), free_port()
    (folder / "virtuoso.ini").write_text(VIRTUOSO_INI.format(folder=folder, sql=sql, http=http), encoding="utf-8")
    libraries = [str(p.parent) for p in root.glob("*/**/lib*.so*")] if str(root) != "/" else []
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(dict.fromkeys(libraries))} if libraries else None
    command = [str(server), "+foreground", "+configfile", str(folder / "virtuoso.ini")]
    with running(command, cwd=folder, env=environment) as process:
        endpoint = Endpoint(f"http://127.0.0.1:{http}/sparql", default_graphs=(VIRTUOSO_GRAPH,))
        wait_until_well(endpoint, process, read_rdf)
        load = f"DB.DBA.TTLP_MT(file_to_string('{folder}/graph.ttl'),'','{VIRTUOSO_GRAPH}',0);"
        login = [str(isql), f"127.0.0.1:{sql}", "dba", "dba", f"exec={load}"]
        subprocess.run(login, check=True, capture_output=True, env=environment, timeout=60)
        yield endpoint
