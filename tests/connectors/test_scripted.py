from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.scripted import CONNECTOR, ScriptedConnector, read_script
from pytest_llmkg.contracts import AskRequest
from pytest_llmkg.errors import ConnectorError, UserError
from pytest_llmkg.records import Answer, Message, ModelSpec, Usage

if TYPE_CHECKING:
    from pathlib import Path


def dialogue(*answers: str, key: str = "Label/case-1", timeout: float = 5.0) -> AskRequest:
    """A request after ``answers``."""
    earlier = [m for text in answers for m in (Message("assistant", text), Message("user", "again"))]
    return AskRequest((Message("user", "first"), *earlier), key, 1, timeout)


def connector(folder: Path, script: object) -> ScriptedConnector:
    path = folder / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    spec = ModelSpec("scripted:s", str(path), "scripted")
    CONNECTOR.check(spec)
    return ScriptedConnector(spec)


def ask(asked: ScriptedConnector, request: AskRequest) -> Answer:
    return asyncio.run(asked.ask(request))


def test_answers_follow_the_turns_whatever_was_asked_before(tmp_path: Path) -> None:
    scripted = connector(tmp_path, {"answers": ["one", "two"]})
    assert [ask(scripted, dialogue(*given)).text for given in (["x"], [], ["y"], [])] == ["two", "one", "two", "one"]


def test_the_own_key_goes_before_patterns_in_file_order_and_the_answers_for_all(tmp_path: Path) -> None:
    script = {
        "answers": ["for all"],
        "cases": {"*": ["star"], "Label/*": ["label"], "Label/case-?": ["later"], "Label/case-1": ["own"]},
    }
    scripted = connector(tmp_path, script)
    keys = ["Label/case-1", "Label/case-2", "Other/x"]
    assert [ask(scripted, dialogue(key=key)).text for key in keys] == ["own", "label", "star"]
    del script["cases"]["*"]  # type: ignore[attr-defined]  # the inner dict, whose type the literal hides
    assert ask(connector(tmp_path, script), dialogue(key="Other/x")).text == "for all"


def test_an_entry_can_hold_stop_reason_and_usage(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "cost": 0.5}
    scripted = connector(tmp_path, {"answers": [{"text": "cut", "stop_reason": "length", "usage": usage}]})
    answer = ask(scripted, dialogue())
    assert (answer.text, answer.stop_reason, answer.usage) == ("cut", "length", Usage(3, 5, 0.5))


def test_the_price_of_a_plain_text_is_unknown(tmp_path: Path) -> None:
    answer = ask(connector(tmp_path, {"answers": ["a"]}), dialogue())
    assert (answer.stop_reason, answer.usage) == ("stop", Usage(None, None, None))


def test_a_scripted_error_ends_the_call(tmp_path: Path) -> None:
    scripted = connector(tmp_path, {"answers": [{"error": "the endpoint is down"}]})
    with pytest.raises(ConnectorError, match=r"^scripted:s: the endpoint is down$"):
        ask(scripted, dialogue())


def test_a_delay_is_waited_for_and_counted(tmp_path: Path) -> None:
    answer = ask(connector(tmp_path, {"answers": [{"text": "late", "delay": 0.05}]}), dialogue())
    assert answer.text == "late"
    assert answer.seconds >= 0.05


def test_a_delay_beyond_the_time_limit_is_no_answer(tmp_path: Path) -> None:
    scripted = connector(tmp_path, {"answers": [{"text": "late", "delay": 1000}]})
    with pytest.raises(ConnectorError, match=r"no answer within 0\.02 s"):
        ask(scripted, dialogue(timeout=0.02))


def test_a_missing_answer_names_case_and_turn(tmp_path: Path) -> None:
    scripted = connector(tmp_path, {"cases": {"Label/case-1": ["only one"]}})
    with pytest.raises(ConnectorError, match="no scripted answer for case 'Label/case-1', turn 2"):
        ask(scripted, dialogue("only one"))
    with pytest.raises(ConnectorError, match="no scripted answer for case 'Label/other', turn 1"):
        ask(scripted, dialogue(key="Label/other"))


def test_toml_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text('answers = ["all"]\n[cases]\n"L/*" = [{ text = "some", delay = 0 }]\n', encoding="utf-8")
    scripted = ScriptedConnector(ModelSpec("s", str(path), "scripted"))
    assert [ask(scripted, dialogue(key=key)).text for key in ("L/1", "M/1")] == ["some", "all"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "not valid JSON"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
        ("[]", "must be an object"),
        ("{}", "neither 'answers' nor 'cases'"),
        ('{"answer": ["a"]}', "unknown part 'answer', did you mean 'answers'?"),
        ('{"answers": "a"}', "answers: must be a list"),
        ('{"cases": ["a"]}', "'cases' must be a table"),
        ('{"cases": {"L/c": "a"}}', r"cases\['L/c'\]: must be a list"),
        ('{"answers": [1]}', r"answers\[0\]: expected an object"),
        ('{"answers": ["a", {"texts": "b"}]}', r"answers\[1\]: unknown field 'texts'"),
        ('{"answers": [{"usage": {"cost": "1"}}]}', r"answers\[0\]\.usage\.cost: expected"),
        ('{"answers": [{"delay": -1}]}', r"answers\[0\]\.delay: must be a number of seconds"),
    ],
)
def test_a_broken_script_is_refused_with_its_place_before_anything_runs(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=place) as caught:
        CONNECTOR.check(ModelSpec("s", str(path), "scripted"))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["missing.json", ""])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    argument = str(tmp_path / name) if name else ""
    with pytest.raises(UserError, match=r"missing\.json: the script cannot be read|write scripted:FILE"):
        CONNECTOR.check(ModelSpec("s", argument, "scripted"))


def test_a_file_that_vanished_after_the_check_is_a_connector_error(tmp_path: Path) -> None:
    scripted = connector(tmp_path, {"answers": ["a"]})
    (tmp_path / "script.json").unlink()
    with pytest.raises(ConnectorError, match="cannot be read"):
        ask(scripted, dialogue())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "error", "delay"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["answers", "cases"]), json_values | st.dictionaries(st.text(), json_values)))
def test_any_json_is_a_script_or_a_user_error(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    complaint, keys = "", set[str]()
    try:
        keys = set(read_script(path))
    except UserError as error:
        complaint = str(error)
    assert str(path) in complaint or (not complaint and keys <= {*data.get("cases", {}), "*"})
