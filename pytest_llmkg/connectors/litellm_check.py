"""What can be known of a model named ``provider/model`` before anything is called, without importing litellm."""

from __future__ import annotations

import importlib.metadata
import os
from typing import TYPE_CHECKING

from pytest_llmkg.connectors.endpoints import own_base, own_endpoint
from pytest_llmkg.errors import UserError

if TYPE_CHECKING:
    from pytest_llmkg.records import ModelSpec

__all__ = ["KEY_VARIABLES", "OWNED", "check_installed", "check_spec"]

# These releases carried a credential stealer (OSV MAL-2026-2144).
_MALICIOUS = ("1.82.7", "1.82.8")
OWNED = frozenset(
    (
        "api_base",
        "api_key",
        "max_retries",
        "messages",
        "mock_response",
        "model",
        "n",
        "num_retries",
        "stream",
        "timeout",
    )
)
# Where litellm looks for the key of a provider that always wants one; others are found out at the first call.
KEY_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}


def check_installed() -> None:
    """Complains when litellm is absent or one of the malicious releases."""
    try:
        version = importlib.metadata.version("litellm")
    except importlib.metadata.PackageNotFoundError as error:
        raise UserError("litellm is not installed; install it with `pip install litellm`") from error
    if version in _MALICIOUS:
        raise UserError(f"litellm {version} carried a credential stealer; install another version and change your keys")


def check_spec(spec: ModelSpec) -> None:
    """Complains about a model that can never answer: no id of a provider, no endpoint, no key, no litellm."""
    provider, _, name = spec.model.partition("/")
    if not provider or not name:
        raise UserError(f"model {spec.id!r}: {spec.model!r} is no litellm id, which is provider/model")
    if provider != provider.lower():
        raise UserError(
            f"model {spec.id!r}: {provider!r} is no provider of litellm; a Hugging Face name needs "
            f"one before it, e.g. hosted_vllm/{spec.model}"
        )
    owned = sorted(OWNED & set(spec.extra))
    if owned:
        raise UserError(f"model {spec.id!r}: 'extra' must not hold {', '.join(owned)}")
    if own_endpoint(spec, os.environ) is None:
        check_installed()
        if provider == "hosted_vllm":
            # litellm would send the prompts to api.openai.com.
            raise UserError(
                f"model {spec.id!r} has no endpoint; set HOSTED_VLLM_API_BASE in the environment, or api_base in "
                "llmkg.toml, to its server"
            )
    keys = KEY_VARIABLES.get(provider, ())
    if keys and own_base(spec, os.environ) is None and not any(os.environ.get(name) for name in keys):
        raise UserError(f"model {spec.id!r} needs a key: set {keys[0]} in the environment")
