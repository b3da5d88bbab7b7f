"""Any model named ``provider/model``, e.g. ``openai/gpt-4o``: by litellm, or by the lean client where that will do.

`make_connector` decides. litellm takes seconds to import, so it is imported at the first call, and only in
`_import_litellm`. Keys come from the environment and stay there: what an error says is scrubbed, and an endpoint
that repeats a key in its answer has it replaced. One call is one request, and one more without each setting that
the endpoint refuses; nothing else is tried again here.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_llmkg.connectors.calls import Outcome, Speaker, call_until_taken
from pytest_llmkg.connectors.endpoints import PROVIDERS, own_base, own_endpoint
from pytest_llmkg.connectors.failures import Refusal
from pytest_llmkg.connectors.litellm_check import KEY_VARIABLES, check_installed, check_spec
from pytest_llmkg.connectors.litellm_failures import refusal_of
from pytest_llmkg.connectors.openai_api import OpenAIConnector
from pytest_llmkg.connectors.refused import Settings
from pytest_llmkg.connectors.scrubbing import Secrets, clean_url
from pytest_llmkg.connectors.thinking import message_text
from pytest_llmkg.connectors.usage import amount, own_price, read_tokens
from pytest_llmkg.contracts import ConnectorFactory
from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.records import Answer, Usage

if TYPE_CHECKING:
    from pytest_llmkg.connectors.refused import SentSettings
    from pytest_llmkg.contracts import AskRequest, Connector
    from pytest_llmkg.records import ModelSpec

__all__ = ["CONNECTOR", "LitellmConnector", "make_connector"]

_MESSAGE_FIELDS = ("content", "reasoning_content", "reasoning", "thinking_blocks", "refusal")


def make_connector(spec: ModelSpec) -> Connector:
    """The lean client for a model on an OpenAI-compatible server of its own, else litellm.

    See `pytest_llmkg.connectors.endpoints.own_endpoint` for which models that are.
    """
    endpoint = own_endpoint(spec, os.environ)
    return LitellmConnector(spec) if endpoint is None else OpenAIConnector(spec, endpoint)


class LitellmConnector:
    """One model behind litellm."""

    def __init__(self, spec: ModelSpec) -> None:
        provider, _, model = spec.model.partition("/")
        self._spec, self._secrets = spec, Secrets(os.environ)
        self._base = own_base(spec, os.environ)
        known = PROVIDERS.get(provider)
        key = known.key if known else next(iter(KEY_VARIABLES.get(provider, ())), None)
        # A server of one's own asks for no key, but the client refuses to start without one.
        self._is_keyless = self._base is not None and provider == "openai" and not os.environ.get("OPENAI_API_KEY")
        where = provider if self._base is None else clean_url(self._base)
        self._speaker = Speaker(spec.id, where, model, key, self._secrets)
        self._settings = Settings(spec, spec.extra)
        self._importing = asyncio.Lock()
        self._litellm: Any = None

    async def ask(self, request: AskRequest) -> Answer:
        """The model's answer; a dialogue that is too long and a filtered one are answers with that stop reason.

        Raises:
            ConnectorError: the endpoint refused, failed, did not answer in time or sent something else than
                an answer.
        """
        try:
            outcome = await self._ask(request)
        except asyncio.CancelledError as cancelled:
            # The frames below hold what was sent and received.
            cancelled.__context__ = None
            raise cancelled.with_traceback(None) from None
        if isinstance(outcome, ConnectorError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Closes litellm's connections; they are shared, and all models' calls are over when the session ends."""
        litellm, self._litellm = self._litellm, None
        if litellm is not None:
            await litellm.close_litellm_async_clients()
            # litellm would go on using the closed ones in the next session of this process.
            litellm.in_memory_llm_clients_cache.flush_cache()

    async def _ask(self, request: AskRequest) -> Answer | ConnectorError:
        try:
            litellm = await self._library()
        except Exception as error:  # noqa: BLE001  (an import may raise anything; all goes on)
            return self._speaker.error(Refusal(str(error) or type(error).__name__, is_final=True))

        async def call(sent: SentSettings) -> Outcome:
            try:
                response = await litellm.acompletion(**self._arguments(request, sent))
            except Exception as error:  # noqa: BLE001  (litellm raises anything; all goes on)
                return refusal_of(error, request.timeout)
            return self._answer(response)

        # litellm's own time limit holds for each read; a body that trickles in would go on for ever.
        return await call_until_taken(call, self._settings, self._speaker, request.timeout)

    async def _library(self) -> Any:
        async with self._importing:
            if self._litellm is None:
                self._litellm = await asyncio.to_thread(_import_litellm)
            return self._litellm

    def _arguments(self, request: AskRequest, sent: SentSettings) -> dict[str, Any]:
        arguments: dict[str, Any] = dict(sent.values)
        if base := self._base or self._spec.api_base:
            arguments["api_base"] = base
        if self._is_keyless:
            arguments["api_key"] = "none"
        return arguments | {
            "model": self._spec.model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "timeout": request.timeout,
            "max_retries": 0,
            "num_retries": 0,
        }

    def _answer(self, response: Any) -> Outcome:
        choices, usage = getattr(response, "choices", None), self._usage(response)
        if not choices:
            return Refusal("the endpoint sent an answer without choices", 200, usage=usage)
        message, reason = getattr(choices[0], "message", None), getattr(choices[0], "finish_reason", None)
        fields = {name: getattr(message, name, None) for name in _MESSAGE_FIELDS}
        read = None if message is None else message_text(fields, cut=reason == "length")
        if read is None:
            return Refusal("the endpoint sent an answer without text", 200, usage=usage)
        hide, model = self._secrets.hide, getattr(response, "model", None)
        return Answer(
            text=hide(read[0]),
            stop_reason=None if reason is None else hide(str(reason)),
            usage=usage,
            served_model=hide(str(model)) if model else None,
            reasoning=None if read[1] is None else hide(read[1]),
        )

    def _usage(self, response: Any) -> Usage:
        told: Any = getattr(response, "usage", None)
        tokens = read_tokens(told.model_dump() if told is not None else None)
        cost = own_price(self._spec, tokens)
        if cost is None and tokens.input_tokens is not None:
            cost = self._table_price(response)
        return replace(tokens, cost=cost)

    def _table_price(self, response: Any) -> float | None:
        """The price by litellm's table, None when it knows none."""
        if self._base is not None:
            # litellm would charge the provider's price for a server of one's own that serves the same name.
            return None
        # A price of zero is litellm's word for "unknown" as well as for "free".
        return amount((getattr(response, "_hidden_params", None) or {}).get("response_cost")) or None


def _import_litellm() -> Any:
    check_installed()
    # Otherwise the import fetches a price list, and prices may change during a run.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Some 3,000 modules: the import and the end of the process take half as long when nobody looks for garbage in them.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        import litellm
    finally:
        gc.freeze()
        if was_collecting:
            gc.enable()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
        logger.addHandler(logging.NullHandler())
        logger.setLevel(logging.CRITICAL)
    return litellm


def _address(spec: ModelSpec) -> str | None:
    base = own_base(spec, os.environ)
    return None if base is None else clean_url(base)


CONNECTOR = ConnectorFactory(
    scheme="litellm",
    summary="Any model that litellm or an OpenAI-compatible server reaches: provider/model, e.g. openai/gpt-4o.",
    make=make_connector,
    check=check_spec,
    address=_address,
)
