"""How an endpoint is reached and what its answers may cost."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from pytest_llmkg.errors import UserError
from pytest_llmkg.registry import unknown_name
from pytest_llmkg.suite_signature import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_ENDPOINT_LIMITS", "Endpoint", "EndpointLimits", "Method", "endpoint_from_table"]

Method = Literal["auto", "GET", "POST"]

_WITH_LOGIN = (
    "holds a user or a password; name the environment variables that hold them instead (user_env, password_env)"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """Limits of one endpoint.

    Attributes:
        seconds: wall-clock seconds of one request, from connecting to the last byte, however slowly these drip.
        connect_seconds: wall-clock seconds until the connection stands (for each address of the host).
        total_seconds: wall-clock seconds of all tries of one query with the pauses between them, without waiting for
            a free place (``concurrency``).
        tries: how often a query is sent at most while the endpoint fails in a way that may pass.
        pause: seconds before the second try; doubled before each further one; longer if the endpoint asks for it.
        body_bytes: length of a response's body.
        rows: solutions (or constructed triples) that a query may return, as in `pytest_llmkg.kg.Limits`.
        result_characters: total length of a result, as in `pytest_llmkg.kg.Limits`.
        characters: length of a query.
        concurrency: queries that this process sends at once; with several processes (pytest-xdist) each has as many.
    """

    seconds: float = 30.0
    connect_seconds: float = 5.0
    total_seconds: float = 120.0
    tries: int = 4
    pause: float = 0.5
    body_bytes: int = 32 * 2**20
    rows: int = 10_000
    result_characters: int = 20_000_000
    characters: int = 1_000_000
    concurrency: int = 4

    def __post_init__(self) -> None:
        for item in fields(self):
            if not getattr(self, item.name) > 0:
                raise UserError(f"the limit {item.name!r} of an endpoint must be above 0")


DEFAULT_ENDPOINT_LIMITS = EndpointLimits()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A SPARQL 1.1 endpoint.

    Attributes:
        url: its address, http or https, without user and password.
        default_graphs: IRIs of the graphs at the endpoint that a query runs on; the endpoint's own choice if empty.
        method: how queries are sent; ``auto`` takes GET, and POST for long ones.
        user_env, password_env: names of the environment variables with user and password (basic authentication).
        token_env: name of the environment variable with a bearer token.
        version: what it serves, e.g. ``dbpedia-2016-10``; runs are compared by it in place of the address.
        limits: what a query may cost.

    Raises:
        UserError: the address is none, holds a password, or a name of a variable is none.
    """

    url: str
    default_graphs: tuple[str, ...] = ()
    method: Method = "auto"
    user_env: str | None = None
    password_env: str | None = None
    token_env: str | None = None
    version: str | None = None
    limits: EndpointLimits = field(default_factory=EndpointLimits)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018  (reading it is what checks it)
        except ValueError as error:
            if "@" in self.url:  # neither is shown: a password with a slash in it looks like a port
                raise UserError(f"the address of an endpoint {_WITH_LOGIN}") from error
            raise UserError(f"the endpoint {self.url!r:.200} is no address: {error}") from error
        if parts.username is not None or parts.password is not None:
            raise UserError(f"the address of the endpoint at {parts.hostname} {_WITH_LOGIN}")
        if without_secrets(self.url) != self.url:
            raise UserError(
                f"the address of the endpoint at {parts.hostname} holds a key; addresses stand in run files, so name "
                "the environment variable that holds it instead (token_env)"
            )
        if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"[^\x21-\x7e]", self.url):
            raise UserError(
                f"the endpoint {self.url!r:.200} is no address; write http://HOST[:PORT]/PATH or https://..."
            )
        if self.method not in get_args(Method):
            raise UserError(f"the endpoint {self.url}: method is one of auto, GET, POST, found {self.method!r:.40}")
        for name in (self.user_env, self.password_env, self.token_env):
            if name is not None and not _VARIABLE.fullmatch(name):  # not shown: it may be the secret itself
                raise UserError(f"the endpoint {self.url}: *_env take names of environment variables, not their values")
        if (self.user_env is None) != (self.password_env is None):
            raise UserError(f"the endpoint {self.url}: user_env and password_env belong together")

    @property
    def served(self) -> str:
        """What tells its graph from others: ``version``, else the address with the default graphs."""
        graphs = f" with the default graphs {', '.join(self.default_graphs)}" if self.default_graphs else ""
        return self.version or f"{self.url}{graphs}"

    def secrets(self) -> tuple[str, ...]:
        """The values of its environment variables, longest first, to hide them in what is shown."""
        names = (self.user_env, self.password_env, self.token_env)
        found = {os.environ.get(name, "") for name in names if name is not None}
        found.add((self.authorization() or "").partition(" ")[2])  # user and password as they are sent
        return tuple(sorted(found - {""}, key=len, reverse=True))

    def authorization(self) -> str | None:
        """The header of that name, None without authentication.

        Raises:
            UserError: an environment variable is not set.
        """
        if self.token_env is not None:
            return f"Bearer {self._value(self.token_env)}"
        if self.user_env is not None and self.password_env is not None:
            pair = f"{self._value(self.user_env)}:{self._value(self.password_env)}"
            return f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
        return None

    def _value(self, name: str) -> str:
        value = os.environ.get(name)
        if not value or not value.isprintable():
            raise UserError(f"the endpoint {self.url} needs the environment variable {name}, which is not set")
        return value


def endpoint_from_table(url: str, table: Mapping[str, object]) -> Endpoint:
    """The endpoint that a table of a settings file describes: the fields of `Endpoint` and `EndpointLimits`.

    Raises:
        UnknownNameError: an unknown setting.
        UserError: a value of a wrong kind.
    """
    own: dict[str, tuple[type, ...]] = dict.fromkeys(
        ("method", "user_env", "password_env", "token_env", "version"), (str,)
    )
    limits = {item.name: (int, float) if "seconds" in item.name or item.name == "pause" else (int,)
              for item in fields(EndpointLimits)}  # fmt: skip
    known = {**own, **limits, "default_graphs": (list, tuple)}
    for name, value in table.items():
        if name not in known:
            raise unknown_name(f"setting of the endpoint {url}", name, known)
        if isinstance(value, bool) or not isinstance(value, known[name]):
            raise UserError(f"the endpoint {url}: {name} has the wrong kind of value")
    graphs = table.get("default_graphs", ())
    if not isinstance(graphs, list | tuple) or not all(isinstance(graph, str) for graph in graphs):
        raise UserError(f"the endpoint {url}: default_graphs is a list of IRIs")
    kept: dict[str, object] = {name: value for name, value in table.items() if name in own}
    numbers: dict[str, object] = {name: value for name, value in table.items() if name in limits}
    return _made(url, tuple(graphs), kept, numbers)


def _made(url: str, graphs: tuple[str, ...], own: Mapping[str, object], limits: Mapping[str, object]) -> Endpoint:
    made: EndpointLimits = EndpointLimits(**limits)  # type: ignore[arg-type]  # kinds were checked one by one
    return Endpoint(url, graphs, limits=made, **own)  # type: ignore[arg-type]  # as above
