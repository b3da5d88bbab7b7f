from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.records import Case, ModelSpec
from pytest_llmkg.suite_signature import (
    model_hash,
    signature_digest,
    suite_differences,
    suite_signature,
    without_secrets,
    wrapped_settings,
)
from tests import strategies
from tests.builders import DIALOGUE, FLAT

MODELS = (ModelSpec("gpt-4o", "openai/gpt-4o", "litellm", temperature=0.0), ModelSpec("b", "b", "scripted"))
CASES = (
    Case("c1", "Flat", "X", {"question": "who?"}),
    Case("c2", "Flat", "X", {"question": "what?"}),
    Case("c1", "Flat", "Y", {"question": "when?"}, sealed=True),
)


def signature(**changed: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "models": MODELS,
        "infos": (FLAT, DIALOGUE),
        "cases": CASES,
        "seed": 20261130,
        "iterations": 1,
        "max_turns": None,
    }
    return suite_signature(**{**parts, **changed})


def test_it_is_plain_json_with_only_the_tasks_that_have_cases() -> None:
    found = signature()
    assert json.loads(json.dumps(found)) == found
    assert found["tasks"] == {"Flat": "1"}
    assert list(found["models"]) == ["b", "gpt-4o"]
    assert list(found["cases"]) == ["X", "Y"]
    assert "who" not in json.dumps(found)


def test_order_does_not_matter() -> None:
    found = signature(models=MODELS[::-1], cases=CASES[::-1], infos=(DIALOGUE, FLAT))
    assert json.dumps(found) == json.dumps(signature())
    assert signature_digest(found) == signature_digest(signature())
    assert len(signature_digest(found)) == 12


def test_whether_a_case_file_is_sealed_does_not_matter() -> None:
    assert signature(cases=[replace(case, sealed=not case.sealed) for case in CASES]) == signature()


@pytest.mark.parametrize(
    ("changed", "sentences"),
    [
        ({}, ()),
        ({"seed": 3}, ("seed is 3, was 20261130",)),
        ({"iterations": 5}, ("iterations is 5, was 1",)),
        ({"max_turns": 2}, ("max_turns is 2, was not set",)),
        (
            {"models": (replace(MODELS[0], temperature=1.0), MODELS[1])},
            ("model 'gpt-4o' has other settings",),
        ),
        ({"models": MODELS[:1]}, ("model 'b' is missing now",)),
        ({"models": (*MODELS, replace(MODELS[1], id="c"))}, ("model 'c' is new",)),
        ({"infos": (replace(FLAT, version="2"), DIALOGUE)}, ("task 'Flat' has version 2, had 1",)),
        ({"cases": CASES[1:]}, ("task variant 'X' has other cases",)),
        ({"cases": (replace(CASES[0], data={"question": "who!"}), *CASES[1:])}, ("task variant 'X' has other cases",)),
        ({"cases": (replace(CASES[0], id="c9"), *CASES[1:])}, ("task variant 'X' has other cases",)),
        ({"cases": CASES[:2], "seed": 3}, ("seed is 3, was 20261130", "task variant 'Y' is missing now")),
    ],
)
def test_every_difference_is_a_sentence(changed: dict[str, Any], sentences: tuple[str, ...]) -> None:
    other = signature(**changed)
    assert suite_differences(signature(), other) == sentences
    assert (signature_digest(other) == signature_digest(signature())) == (not sentences)


def test_parts_of_a_newer_version_are_compared_too() -> None:
    assert suite_differences(signature(), {**signature(), "mode": "fast"}) == ("'mode' differs",)


def test_secrets_in_the_address_and_limits_do_not_matter() -> None:
    spec = replace(MODELS[0], api_base="https://models.example:8000/v1")
    same = replace(spec, api_base="https://me:hunter2@models.example:8000/v1", rpm=3, max_concurrency=1)
    assert model_hash(same) == model_hash(spec)
    assert model_hash(replace(spec, api_base="https://models.example:8001/v1")) != model_hash(spec)
    assert model_hash(replace(spec, api_base="https://models.example:8000/@me")) != model_hash(
        replace(spec, api_base="https://models.example:8000/@you")
    )


def at(place: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The signature of a case that asks a graph from outside."""
    return signature(cases=[Case("q1", "Flat", "X-en", {"kg": "shore", **place}, **changed)])


FILE, OTHER = (f"kg:shore@sha256:{digit * 64}" for digit in "ab")
ADDRESS = "http://h:7878/query"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            {"endpoint": ADDRESS},
            {"endpoint": "http://h:7879/query"},
            f"graph 'shore' is http://h:7879/query, was {ADDRESS}",
        ),
        ({"graph": FILE}, {"endpoint": ADDRESS}, f"graph 'shore' is {ADDRESS}, was sha256:{'a' * 64}"),
        ({"graph": FILE}, {"graph": OTHER}, f"graph 'shore' is sha256:{'b' * 64}, was sha256:{'a' * 64}"),
        (
            {"endpoint": ADDRESS, "services": {"prices": "http://p/sparql"}},
            {"endpoint": ADDRESS, "services": {"prices": "https://p/sparql"}},
            "graph 'shore: prices' is https://p/sparql, was http://p/sparql",
        ),
    ],
)
def test_another_graph_is_named(old: dict[str, Any], new: dict[str, Any], told: str) -> None:
    assert suite_differences(at(old), at(new)) == (told, "task variant 'X-en' has other cases")
    assert not suite_differences(at(new), at(new))
    sealed = suite_differences(at(old, sealed=True), at(new, sealed=True))
    assert sealed == ("task variant 'X-en' has other cases",)  # tells nothing of a sealed case
    assert not suite_differences(at(new, sealed=True), at(new))


def test_graphs_inside_a_case_are_told_by_their_content() -> None:
    found = suite_differences(at({"graph": "<urn:a> a <urn:B> ."}), at({"graph": "<urn:a> a <urn:C> ."}))
    assert found == ("task variant 'X-en' has other cases",)


def test_what_settings_say_of_an_endpoint_takes_the_place_of_its_address() -> None:
    def at_port(port: int, version: str) -> dict[str, Any]:
        address = f"http://h:{port}/query"
        case = Case("q1", "Flat", "X-en", {"kg": "shore", "endpoint": address})
        return signature(cases=[case], declared={address: version})

    assert not suite_differences(at_port(1, "shore 2026"), at_port(2, "shore 2026"))
    assert suite_differences(at_port(1, "shore 2026"), at_port(1, "shore 2027")) == (
        "graph 'shore' is shore 2027, was shore 2026",
        "task variant 'X-en' has other cases",
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://me:hunter2@h/sparql", "http://h/sparql"),
        ("http://h/sparql?token=hunter2&default-graph-uri=urn:a", "http://h/sparql?token=***&default-graph-uri=urn:a"),
        ("http://h/sparql?graph=urn:a&api_key=hunter2#x", "http://h/sparql?graph=urn:a&api_key=***#x"),
        (
            "http://h/sparql?AccessKey=hunter2;x-amz-signature=hunter2",
            "http://h/sparql?AccessKey=***;x-amz-signature=***",
        ),
        ("http://h/sparql?author=me&keyword=fish&monkey=1", "http://h/sparql?author=me&keyword=fish&monkey=1"),
        ("http://h/@me?query=a@b", "http://h/@me?query=a@b"),
    ],
)
def test_secrets_of_an_address_are_in_no_signature(address: str, shown: str) -> None:
    assert without_secrets(address) == shown
    found = at({"endpoint": address})
    assert found["graphs"] == {"shore": shown}
    assert not suite_differences(found, at({"endpoint": shown}))
    assert "hunter2" not in json.dumps(found)


def test_runs_of_versions_that_named_no_graphs_can_be_gone_on_with() -> None:
    new = at({"endpoint": ADDRESS})
    old = {name: value for name, value in new.items() if name != "graphs"}
    assert not suite_differences(old, new)
    assert not suite_differences(new, old)


@given(st.lists(strategies.cases, max_size=5), st.lists(strategies.cases, max_size=5))
def test_equal_signatures_mean_equal_cases(some: list[Case], others: list[Case]) -> None:
    def content(cases: list[Case]) -> object:
        found: dict[str, dict[str, str]] = {}
        for case in cases:
            found.setdefault(case.label, {})[case.id] = json.dumps([case.task, case.data], sort_keys=True)
        return found

    same = not suite_differences(signature(cases=some, infos=()), signature(cases=others, infos=()))
    assert same == (content(some) == content(others))
    assert not suite_differences(signature(cases=some), signature(cases=some[:]))


def test_a_header_tells_the_settings_of_models_inside_others() -> None:
    inner = ModelSpec(
        "mine", "openai/x", "litellm", api_base="https://user:secret@host.example/v1", temperature=0.0, extra={"n": 1}
    )
    assert wrapped_settings({"my-rag": inner}) == {
        "my-rag": {
            "id": "mine",
            "model": "openai/x",
            "connector": "litellm",
            "api_base": "https://host.example/v1",
            "temperature": 0.0,
            "extra": {"n": 1},
        }
    }
    assert wrapped_settings({}) == {}


def test_half_characters_do_no_harm() -> None:
    cases = [Case("c\ud800", "F\udc00", "X\ud800", {"question": "\udfff"})]
    found = signature(cases=cases)
    assert not suite_differences(found, signature(cases=cases[:]))
    assert signature_digest(found) == signature_digest(signature(cases=cases[:]))
    assert suite_differences(found, signature(cases=[replace(cases[0], id="c\ud801")]))


COMPANY = "generated:company@4242"


def test_another_generated_graph_and_other_examples_are_named() -> None:
    def of(graph: str, examples: str, **changed: Any) -> dict[str, Any]:
        declared = {COMPANY: graph, f"{COMPANY}: examples": examples, "generated:large@1": "never asked"}
        return signature(cases=[Case("q1", "Flat", "X", {"graph": COMPANY}, **changed)], declared=declared)

    old = of("sha256:a", "sha256:b")
    assert old["graphs"] == {COMPANY: "sha256:a", f"{COMPANY}: examples": "sha256:b"}
    assert not suite_differences(old, of("sha256:a", "sha256:b", sealed=True))
    for sealed in (False, True):
        assert suite_differences(old, of("sha256:c", "none", sealed=sealed)) == (
            f"graph {COMPANY!r} is sha256:c, was sha256:a",
            f"graph '{COMPANY}: examples' is none, was sha256:b",
        )
    before = signature(cases=[Case("q1", "Flat", "X", {"graph": COMPANY})])  # by a version that did not look at them
    assert "graphs" not in before
    assert not suite_differences(before, old)
    assert not suite_differences(old, before)
    service = signature(
        cases=[Case("q1", "Flat", "X", {"graph": "", "services": {"s": COMPANY}})], declared={COMPANY: "sha256:a"}
    )
    assert service["graphs"] == {COMPANY: "sha256:a"}
