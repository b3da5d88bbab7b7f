"""Endpoints as a settings file describes them; secrets are named, never written down."""

from __future__ import annotations

import pytest

from pytest_llmkg.contracts import GraphText, RdfVerdict
from pytest_llmkg.endpoints import Endpoint, EndpointLimits, Endpoints, endpoint_from_table, endpoint_graph, store_graph
from pytest_llmkg.errors import UnknownNameError, UserError

URL = "https://graph.example/sparql"


def test_table() -> None:
    table = {"method": "POST", "token_env": "GRAPH_KEY", "default_graphs": ["a:g"], "seconds": 5, "tries": 2}
    made = endpoint_from_table(URL, table)
    assert made.limits == EndpointLimits(seconds=5, tries=2)
    assert (made.method, made.token_env, made.default_graphs, made.user_env) == ("POST", "GRAPH_KEY", ("a:g",), None)
    assert endpoint_from_table(URL, {}) == Endpoint(URL)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"tries": 1.5}, "tries has the wrong kind"),
        ({"seconds": True}, "seconds has the wrong kind"),
        ({"seconds": 0}, "'seconds' of an endpoint must be above 0"),
        ({"seconds": float("nan")}, "'seconds' of an endpoint must be above 0"),
        ({"method": "PUT"}, "method is one of auto, GET, POST"),
        ({"default_graphs": [1]}, "default_graphs is a list of IRIs"),
        ({"default_graphs": "a:g"}, "default_graphs has the wrong kind"),
        ({"user_env": "NAME"}, "user_env and password_env belong together"),
    ],
)
def test_wrong_values(table: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        endpoint_from_table(URL, table)


def test_unknown_setting() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'seconds'"):
        endpoint_from_table(URL, {"second": 1})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "graph",
        "ftp://a.example/",
        "http://",
        "http:///sparql",
        "http://a.example:port/",
        "http://a b/",
        "file:///x",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UserError, match="is no address"):
        Endpoint(url)


def test_graph_of_a_case_is_a_text_or_an_address() -> None:
    assert store_graph(f" {URL}\n", "turtle") == endpoint_graph(URL)
    for text in ("<a:b> <a:c> <http://a.example/> .", "http://a.example/ <a:b> 1 .", ""):
        assert store_graph(text, "turtle") == GraphText(text, "turtle")


def test_secrets_in_addresses_and_settings_are_refused_and_not_shown() -> None:
    for login in (
        "me:t0p-secret",
        "me:t0p-secret/x",
        "me:t0p-secret?x",
        "me:t0p-secret#x",
        "t0p-secret",
        "me:t0p-secret[x",
    ):
        with pytest.raises(UserError, match="holds a user or a password") as caught:
            Endpoint(f"https://{login}@a.example/")
        assert "t0p-secret" not in str(caught.value)
    with pytest.raises(UserError) as caught:
        endpoint_from_table(URL, {"token_env": "t0p-secret"})
    assert "t0p-secret" not in str(caught.value)


def test_secret_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPH_KEY", raising=False)
    endpoints = Endpoints({URL: endpoint_from_table(URL, {"token_env": "GRAPH_KEY"})})
    with pytest.raises(UserError, match="needs the environment variable GRAPH_KEY, which is not set"):
        endpoints.query(endpoint_graph(URL), "ASK { }", {}, lambda _: RdfVerdict(None))


def test_an_address_with_a_key_is_refused_without_showing_it() -> None:
    with pytest.raises(UserError) as caught:
        Endpoint("http://h.example/sparql?graph=urn:a&api_key=hunter2")
    assert "the address of the endpoint at h.example holds a key" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert Endpoint("http://h.example/sparql?keyword=fish").url == "http://h.example/sparql?keyword=fish"


def test_what_an_endpoint_serves_is_its_version_or_its_address_with_the_default_graphs() -> None:
    url = "http://h.example/sparql"
    assert Endpoint(url).served == url
    assert Endpoint(url, ("urn:a", "urn:b")).served == f"{url} with the default graphs urn:a, urn:b"
    assert endpoint_from_table(url, {"version": "shore 2026", "default_graphs": ["urn:a"]}).served == "shore 2026"
