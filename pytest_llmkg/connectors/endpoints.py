"""Which models have an OpenAI-compatible server of their own, and how it is reached."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from pytest_llmkg.connectors.scrubbing import HiddenText, clean_url
from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_llmkg.records import ModelSpec

__all__ = ["PROVIDERS", "Endpoint", "Provider", "own_base", "own_endpoint"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of server that speaks OpenAI's protocol.

    Attributes:
        bases: environment variables that hold its address.
        key: environment variable that holds its key.
        default: address when none is given; None when it is the provider's own, which litellm knows.
        suffix: what must end the address.
        tells_cost: whether each answer's usage holds its price in US dollars.
    """

    bases: tuple[str, ...]
    key: str
    default: str | None = None
    suffix: str = ""
    tells_cost: bool = False


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(("OPENAI_BASE_URL", "OPENAI_API_BASE"), "OPENAI_API_KEY"),
    "hosted_vllm": Provider(("HOSTED_VLLM_API_BASE",), "HOSTED_VLLM_API_KEY"),
    "ollama": Provider(("OLLAMA_API_BASE",), "OLLAMA_API_KEY", suffix="/v1"),
    "ollama_chat": Provider(("OLLAMA_API_BASE",), "OLLAMA_API_KEY", suffix="/v1"),
    "openrouter": Provider(
        ("OPENROUTER_API_BASE",), "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", tells_cost=True
    ),
}
_OPENAI_ITSELF = "api.openai.com"
# Ollama's OpenAI-compatible door takes these; all else (num_ctx, keep_alive, think ...) it would silently ignore,
# while litellm hands it to Ollama's own door.
_OLLAMA_TAKES = {"stop"} | frozenset(
    (
        "extra_body",
        "extra_headers",
        "frequency_penalty",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "stop",
    )
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send chat requests, and as whom.

    Attributes:
        url: address of the chat completions; may hold a query with a key.
        label: address to show: without user, password and query.
        model: name of the model at the endpoint.
        key_variable: the environment variable that holds the key.
        authorization: value of the header ``Authorization``, None when no key is set.
        tells_cost: whether the usage of each answer holds its price.
        secrets: what must not be shown besides the environment's keys: the password and the query of the address.
    """

    url: str = field(repr=False)
    label: str
    model: str
    key_variable: str
    authorization: str | None = field(default=None, repr=False)
    tells_cost: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)


def own_base(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """The address of a model that does not live at its provider's own, None when it does."""
    provider = PROVIDERS.get(spec.model.partition("/")[0])
    names = provider.bases if provider else ()
    base = spec.api_base or next((environment[name] for name in names if environment.get(name)), None)
    return None if base is None or _OPENAI_ITSELF in base.partition("?")[0].split("/")[2:3] else base


def own_endpoint(spec: ModelSpec, environment: Mapping[str, str]) -> Endpoint | None:
    """The OpenAI-compatible server that serves ``spec`` without litellm's help.

    It is one when the id begins with a provider of `PROVIDERS` and an address is known: ``api_base`` of the model
    table, else the provider's environment variable, else (OpenRouter) its public address. OpenAI itself and all other
    providers are left to litellm, which knows their dialects and prices; so is Ollama with settings that
    its OpenAI-compatible door ignores.

    Raises:
        UserError: the address is none, e.g. because ``http://`` is missing.
    """
    name, _, model = spec.model.partition("/")
    provider = PROVIDERS.get(name)
    base = own_base(spec, environment) or (provider.default if provider else None)
    if provider is None or base is None or not model:
        return None
    if provider.suffix and not set(spec.extra) <= _OLLAMA_TAKES:
        return None
    parts = _split(base, spec)
    path = parts.path.rstrip("/")
    path = path if path.endswith(provider.suffix) else path + provider.suffix
    host = parts.netloc.rpartition("@")[2]
    authorization = _authorization(parts, environment.get(provider.key))
    return Endpoint(
        url=HiddenText(urlunsplit((parts.scheme, host, f"{path}/chat/completions", parts.query, ""))),
        label=clean_url(base),
        model=model,
        key_variable=provider.key,
        authorization=authorization,
        tells_cost=provider.tells_cost,
        secrets=tuple(
            HiddenText(text)
            for text in (
                (authorization or "").partition(" ")[2],
                unquote(parts.password or ""),
                *(value for _, value in parse_qsl(parts.query)),
            )
        ),
    )


def _split(base: str, spec: ModelSpec) -> SplitResult:
    try:
        parts = urlsplit(base.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UserError(
            f"model {spec.id!r}: its address must begin with http:// or https:// and name a host; "
            "look at api_base in the model table and at the provider's variable in the environment"
        )
    return parts


def _authorization(parts: SplitResult, key: str | None) -> str | None:
    if parts.username is not None:
        # As browsers and HTTP libraries do; the header can say one thing only.
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return HiddenText(f"Basic {base64.b64encode(pair.encode()).decode()}")
    # Line breaks would end the header; they come from keys that were read from a file.
    return HiddenText(f"Bearer {key.strip()}") if key and key.strip() else None
