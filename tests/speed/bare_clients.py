"""The peers that do nothing but call: a loop with aiohttp, one with litellm.

    python -m tests.speed.bare_clients aiohttp --url http://127.0.0.1:PORT/v1 --calls 500 --in-flight 50 --prompt FILE

Each call asks for one chat completion and looks at the answer's text; nothing is scored and nothing is kept. With no
calls the program only starts, which tells what its imports cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def _all(call: Callable[[], Awaitable[str]], calls: int, in_flight: int) -> None:
    gate = asyncio.Semaphore(in_flight)

    async def one() -> None:
        async with gate:
            if not await call():
                raise SystemExit("an answer without text")

    await asyncio.gather(*(one() for _ in range(calls)))


async def with_aiohttp(url: str, prompt: str, calls: int, in_flight: int) -> None:
    """One session, as many connections as calls in flight."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def call() -> str:
            body = {"model": "mock", "messages": [{"role": "user", "content": prompt}]}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                response.raise_for_status()
                return str(json.loads(await response.read())["choices"][0]["message"]["content"])

        await _all(call, calls, in_flight)


async def with_litellm(url: str, prompt: str, calls: int, in_flight: int) -> None:
    """litellm's asynchronous function, set up to be as quick and as quiet as it can be."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False

    async def call() -> str:
        response = await litellm.acompletion(
            model="openai/mock",
            messages=[{"role": "user", "content": prompt}],
            api_base=url,
            api_key="none",
            max_retries=0,
            num_retries=0,
        )
        return str(response.choices[0].message.content)

    await _all(call, calls, in_flight)


def main() -> None:
    parser = argparse.ArgumentParser(description="Calls a server many times and does nothing else.")
    parser.add_argument("library", choices=("aiohttp", "litellm"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--prompt", type=Path, required=True)
    options = parser.parse_args()
    peer = with_aiohttp if options.library == "aiohttp" else with_litellm
    prompt = options.prompt.read_text(encoding="utf-8")
    asyncio.run(peer(options.url, prompt, options.calls, options.in_flight))


if __name__ == "__main__":
    main()
