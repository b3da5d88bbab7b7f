"""Result files on disk: what is hostile in them ends in one sentence or becomes harmless."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import pyzipper
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_llmkg.errors import RunFileError
from pytest_llmkg.result_files import is_result_file, read_records, write_records

if TYPE_CHECKING:
    from pathlib import Path

RECORDS: list[dict[str, Any]] = [
    {"taskInfo": {"taskId": "T"}, "text": "Größe \N{SEEDLING}", "list": [1, 0.5, None, True]}
]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "deep/er/a.zip"])
def test_what_was_written_is_read(name: str, tmp_path: Path) -> None:
    write_records(tmp_path / name, RECORDS, "a long password")
    assert read_records(tmp_path / name, "a long password") == RECORDS
    assert is_result_file(tmp_path / name)
    assert not is_result_file(tmp_path / "run.jsonl")


def test_archive_is_encrypted(tmp_path: Path) -> None:
    write_records(tmp_path / "a.zip", [{"taskInfo": {}, "text": "seaweed" * 50}], "a long password")
    assert b"seaweed" not in (tmp_path / "a.zip").read_bytes()
    with pytest.raises(RunFileError, match="wrong or the file is damaged"):
        read_records(tmp_path / "a.zip", "another password")


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="needs a password"):
        write_records(tmp_path / "a.zip", RECORDS)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunFileError, match="cannot be written"):
        write_records(tmp_path / "file" / "a.json", RECORDS)


def test_numbers_that_json_does_not_have_become_null(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"taskInfo": {}, "scores": [NaN, Infinity, -Infinity, 1e999, 1e-999, 0.5]}]', encoding="utf-8")
    assert read_records(path)[0]["scores"] == [None, None, None, None, 0.0, 0.5]


@pytest.mark.parametrize("levels", [50, 150, 900])
def test_deep_nesting_is_refused_before_it_meets_anything_recursive(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"taskInfo": {}, "x": ' + "[" * levels + "]" * levels + "}]", encoding="utf-8")
    if levels == 50:
        assert len(read_records(path)) == 1
    else:
        with pytest.raises(RunFileError, match="nested deeper than 100 levels"):
            read_records(path)


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_llmkg.result_files._LARGEST_FILE", 100_000)
    content = json.dumps([{"taskInfo": {}, "x": " " * 200_000}]).encode()
    packed, sealed = tmp_path / "a.gz", tmp_path / "a.zip"
    packed.write_bytes(gzip.compress(content))
    write_records(sealed, json.loads(content), "a long password")
    for path in (packed, sealed):
        assert path.stat().st_size < 100_000
        with pytest.raises(RunFileError, match="larger than 0 GiB when unpacked"):
            read_records(path, "a long password")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_archives_end_in_one_sentence(place: int, byte: int, cut: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    write_records(path, RECORDS, "a long password")
    content = bytearray(path.read_bytes())
    place %= len(content)
    if cut:
        content = content[:place]
    else:
        content[place] = byte
    path.write_bytes(content)
    found: list[Any] = RECORDS
    told = ""
    try:
        found = [*read_records(path, "a long password")]
    except RunFileError as error:
        told = str(error)
    assert found == RECORDS
    assert not told or str(path) in told


def zipped(path: Path, *names: str) -> Path:
    with pyzipper.AESZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, json.dumps(RECORDS))
    return path


def test_an_archive_with_several_result_files_names_them(tmp_path: Path) -> None:
    one = zipped(tmp_path / "a.zip", "readme.json", "m_result.json")
    assert read_records(one) == RECORDS
    many = zipped(tmp_path / "b.zip", "x/a_result.json", "b\n::error::boo_result.json")
    with pytest.raises(RunFileError) as told:
        read_records(many)
    assert "b.zip: holds 2 result files ('x/a_result.json', 'b\\n::error::boo_result.json'); unpack" in str(told.value)
    with pytest.raises(RunFileError, match=r"holds 7 result files \('0_result.json', .*'4_result.json', ...\); unpack"):
        read_records(zipped(tmp_path / "c.zip", *(f"{n}_result.json" for n in range(7))))
    with pytest.raises(RunFileError, match="holds no result file"):
        read_records(zipped(tmp_path / "d.zip", "readme.txt"))
