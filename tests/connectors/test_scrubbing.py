from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from pytest_llmkg.connectors.scrubbing import HiddenText, Secrets, clean_url


@given(st.text(), st.text("abcdefABCDEF0123-_", min_size=6), st.text())
def test_a_message_is_one_bounded_line_and_never_shows_a_key(before: str, secret: str, after: str) -> None:
    line = Secrets({"ANY_API_KEY": secret}).hide_all(f"{before}{secret}{after}")
    assert line.splitlines() in ([], [line])
    assert len(line) <= 300
    if secret not in before + "[hidden]" + after:
        assert secret not in line


@given(st.text())
def test_any_text_can_be_cleaned_as_an_address(text: str) -> None:
    assert "?" not in clean_url(f"https://host.example/{text}".replace("#", "?"))


def test_an_address_keeps_host_port_and_path_only() -> None:
    assert clean_url("https://u:p@host.example:8443/v1?key=1#x") == "https://host.example:8443/v1"
    assert clean_url("http://[broken") == "an address that cannot be read"


def test_a_hidden_text_is_a_text_that_no_repr_shows() -> None:
    hidden = HiddenText("secret")
    assert hidden == "secret"
    assert f"{hidden}" == "secret"
    assert "secret" not in repr([{"header": hidden}])


@given(st.text(), st.text("abcdef0123-_", min_size=12), st.text())
def test_answers_are_changed_by_nothing_but_keys(before: str, secret: str, after: str) -> None:
    secrets = Secrets({"MY_API_KEY": secret, "OTHER_TOKEN": "not-needed", "MY_PATH": before})
    assert secrets.hide("not-needed \n" + before.replace(secret, "")) == "not-needed \n" + before.replace(secret, "")
    assert secret not in secrets.hide(f"{before}\n{secret}\n{after}")


def test_the_longest_key_is_hidden_first() -> None:
    environment = {"A_KEY": "abcdefghijkl", "B_KEY": "abcdefghijkl-mnop"}
    assert Secrets(environment).hide("abcdefghijkl-mnop abcdefghijkl") == "[hidden] [hidden]"


@given(
    st.text('abcXYZ0123+/=-_"<&é', min_size=16, max_size=40),
    st.binary(max_size=5),
    st.binary(max_size=5),
)
def test_keys_are_hidden_in_whatever_form_a_server_repeats_them(key: str, before: bytes, after: bytes) -> None:
    secrets = Secrets({"OPENAI_API_KEY": key})
    data = before + key.encode() + after
    forms = [quote(key), quote(key, safe=""), json.dumps(key), html.escape(key)]
    forms += [base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()]
    for form in forms:
        assert "[hidden]" in secrets.hide(f"it was {form} that you sent"), form
