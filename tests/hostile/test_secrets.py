"""Keys reach the endpoint that they are for, and nothing else: no file, no output, in no form."""

from __future__ import annotations

import base64
import html
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.openai_server import Fault, OpenAIServer
from tests.plugin.conftest import BENCHMARK, CASES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = {
    "OPENAI_API_KEY": 'sk-planted+Zx81qv77/Lm42=tk"Rb&Wd06',
    "ANTHROPIC_API_KEY": 'planted&anthropic/Yw93rt55+Kd17="Hn28',
}
USERINFO = "planted:pass=word/Jf64+Vu39"
# As long as this a piece of a key is a secret itself.
PIECE = 14

TASK = """\
import dataclasses
from pytest_llmkg.tasks.sparql2answer import TASK

def evaluate(case, answer, kg):
    raise RuntimeError(f"no rule for {answer.text!r} of {answer!r}")

BROKEN = dataclasses.replace(
    TASK, info=dataclasses.replace(TASK.info, name="Broken"), evaluate=evaluate
)

def pytest_llmkg_tasks(config):
    return [BROKEN]
"""
BROKEN_BENCHMARK = """
@pytest.mark.llmkg("Broken")
def test_broken(dialogue):
    transcript = dialogue.hold()

@pytest.mark.llmkg("Sparql2AnswerList")
def test_own_failure(dialogue):
    transcript = dialogue.hold()
    assert not transcript.turns, transcript
"""


def echoes(key: str) -> dict[str, OpenAIServer]:
    """Servers by name, each of which tells the key that it got, in one way of going wrong."""
    plain = f"Authorization: Bearer {key}, x-api-key: {key}"
    told = f"{plain}, {json.dumps({'key': key})}, at http://u:{quote(key, safe='')}@h/?key={quote(key, safe='')}"
    faults = {
        "unauthorised": Fault("status", 401, message=told),
        "failing": Fault("status", 500, message=told),
        "refusing": Fault("status", 400, message=told),
        "limited": Fault("status", 429, retry_after=0, message=told),
        "hanging": Fault("hang", seconds=60),
        "cutting": Fault("cut"),
        "garbage": Fault("garbage"),
        "torn": Fault("invalid_json"),
        "login": Fault("html"),
    }
    servers = {name: OpenAIServer(every=(1, fault)) for name, fault in faults.items()}
    servers["echo"] = OpenAIServer(
        reply=f":bob\n{plain}", message={"reasoning_content": plain}, finish_reason=f"stop {key}"
    )
    return servers


def forms(secret: str) -> set[bytes]:
    """What ``secret`` and long pieces of it look like in files and output."""
    pieces = {secret[start : start + PIECE] for start in range(len(secret) - PIECE + 1)}
    texts = pieces | {quote(secret), quote(secret, safe=""), html.escape(secret), json.dumps(secret)[1:-1]}
    found = {text.encode() for text in texts} | {repr(secret)[1:-1].encode(), secret.encode().hex().encode()}
    for shift in range(3):  # where the secret begins inside a longer text that is encoded as a whole
        # The characters at both ends depend on what stands beside.
        found.add(base64.b64encode(b"x" * shift + secret.encode())[4:-4])
        found.add(base64.urlsafe_b64encode(b"x" * shift + secret.encode())[4:-4])
    return found


def leaks(directory: Path, output: bytes, secrets: tuple[str, ...]) -> list[str]:
    """Where any of ``secrets`` stands in a file below ``directory`` or in ``output``."""
    texts = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    found = []
    for name, text in {**texts, "output": output}.items():
        for form in set().union(*map(forms, secrets)):
            place = text.find(form)
            if place >= 0:
                found.append(f"{name}: ...{text[max(place - 100, 0) : place + 60]!r}")
                break
    return found


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    key = KEYS["OPENAI_API_KEY"]
    hidden = {
        "raw": f"a {key} b",
        "piece": f"a {key[5:25]}...",
        "url": quote(key, safe=""),
        "json": json.dumps({"k": key}),
        "base64": base64.b64encode(f"user:{key}!".encode()).decode(),
        "base64b": base64.b64encode(f"Bearer {key}".encode()).decode(),
        "base64c": base64.b64encode(f"ab{key}c".encode()).decode(),
    }
    for name, text in hidden.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "harmless").write_text("sk-planted", encoding="utf-8")
    assert {line.partition(":")[0] for line in leaks(tmp_path, b"", (key,))} == set(hidden)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(("_KEY", "_BASE", "_URL"))}
    return {**kept, **KEYS, "NO_PROXY": "*", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "test_bench.py").write_text(BENCHMARK + BROKEN_BENCHMARK, encoding="utf-8")
    (directory / "conftest.py").write_text(TASK, encoding="utf-8")
    (directory / "tiny.toml").write_text(CASES.partition('[[case]]\nid = "two"')[0], encoding="utf-8")
    broken = CASES.partition('[[case]]\nid = "two"')[0].replace("Sparql2AnswerList", "Broken").replace("Tiny", "Odd")
    (directory / "broken.toml").write_text(broken, encoding="utf-8")
    (directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return directory


@pytest.fixture
def servers() -> Iterator[dict[str, OpenAIServer]]:
    with ExitStack() as stack:
        openai = {f"openai/{name}": server for name, server in echoes(KEYS["OPENAI_API_KEY"]).items()}
        other = {
            f"anthropic/{name}": server
            for name, server in echoes(KEYS["ANTHROPIC_API_KEY"]).items()
            if name in ("unauthorised", "login")
        }
        yield {name: stack.enter_context(server) for name, server in {**openai, **other}.items()}


def write_models(project: Path, servers: dict[str, OpenAIServer]) -> str:
    """Declares a model for each server; returns the option that asks them all."""
    text = "".join(
        f'[tool.pytest_llmkg.models.{name.replace("/", "-")}]\nmodel = "{name}"\napi_base = "{server.url}"\n'
        for name, server in servers.items()
    )
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    return "--models=" + ",".join(name.replace("/", "-") for name in servers)


def run_pytest(project: Path, environment: dict[str, str], *args: str) -> tuple[int, bytes]:
    command = [sys.executable, "-m", "pytest", "--showlocals", "-vv", "--tb=long", "-rA", "-o", "log_cli=true"]
    reports = ["--json-report", "--json-report-file=report.json", "--junitxml=junit.xml", "-o", "junit_logging=all"]
    options = ["--llmkg-cases=tiny.toml", "--llmkg-cases=broken.toml", "--tasks=Tiny,Odd", "--llmkg-run-dir=run"]
    done = subprocess.run(
        [*command, *reports, *options, *args],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=400,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("spread", [(), ("-n", "2")], ids=["plain", "n2"])
def test_no_key_is_in_any_file_or_output(
    project: Path, servers: dict[str, OpenAIServer], environment: dict[str, str], spread: tuple[str, ...]
) -> None:
    models = write_models(project, servers)
    status, output = run_pytest(project, environment, models, "--llmkg-timeout=3", "--llmkg-retries=1", *spread)
    assert status == 1, output.decode()
    sent = {name: str(server.headers) for name, server in servers.items()}
    for name, headers in sent.items():
        key = KEYS["OPENAI_API_KEY" if name.startswith("openai/") else "ANTHROPIC_API_KEY"]
        assert key in headers or name.startswith("anthropic/"), f"{name} was asked with the key"
    written = {path.name for path in (project / "run").iterdir()}
    assert {"run.jsonl", "leaderboard.html", "leaderboard.md", "scores.csv", "report.json"} <= written
    assert (project / "report.json").stat().st_size > 1000
    assert (project / "junit.xml").stat().st_size > 1000
    assert leaks(project, output, tuple(KEYS.values())) == []


@pytest.mark.parametrize("place", ["file", "variable"])
def test_no_password_of_an_address_is_shown(project: Path, environment: dict[str, str], place: str) -> None:
    address = f"http://planted:{quote(USERINFO, safe='')}@127.0.0.1:9/v1"
    if place == "file":
        text = f'[tool.pytest_llmkg.models.guarded]\nmodel = "openai/x"\napi_base = "{address}"\n'
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
        status, output = run_pytest(project, environment, "--models=guarded", "--llmkg-retries=0")
        (project / "pyproject.toml").unlink()
    else:
        environment = {**environment, "OPENAI_BASE_URL": address}
        status, output = run_pytest(project, environment, "--models=openai/x", "--llmkg-retries=0")
    assert status != 0
    assert leaks(project, output, (USERINFO, quote(USERINFO, safe=""))) == []
