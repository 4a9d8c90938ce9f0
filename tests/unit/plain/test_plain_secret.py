"""A secret is of use and never seen."""

from __future__ import annotations

import copy
import json
import traceback

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aviso_core.plain.secret import REDACTED, Secret, decode_hook, encode_hook, hide_credentials
from aviso_core.settings.model import Settings

CONTENT = "correct-horse"


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    secret: Secret


def _encoded(secret: Secret) -> str:
    return msgspec.json.encode(Holder(secret=secret), enc_hook=encode_hook).decode()


@pytest.mark.parametrize(
    "render",
    [
        repr,
        str,
        "{}".format,
        "{:>40}".format,
        "{!r:.60}".format,
        lambda secret: "%s" % secret,  # noqa: UP031
        lambda secret: f"{secret} {secret!r} {secret!s} {secret!a}",
        lambda secret: repr(Holder(secret=secret)),
        lambda secret: str([secret, {"key": secret}]),
        lambda secret: "".join(traceback.format_exception(ValueError(secret))),
        lambda secret: json.dumps({"key": secret}, default=str),
        lambda secret: str(msgspec.to_builtins(Holder(secret=secret), enc_hook=encode_hook)),
        lambda secret: repr(copy.deepcopy(secret)),
        _encoded,
    ],
)
def test_no_rendering_shows_the_content(render: object) -> None:
    assert callable(render)
    text = render(Secret(CONTENT))
    assert CONTENT not in text
    assert REDACTED in text


def test_the_content_comes_out_when_asked_for() -> None:
    assert Secret(CONTENT).reveal() == CONTENT


def test_without_the_hook_a_secret_cannot_be_encoded() -> None:
    """Forgetting the hook is an error, which is seen, and not a leak, which is not."""
    with pytest.raises(TypeError) as caught:
        msgspec.json.encode(Holder(secret=Secret(CONTENT)))
    assert CONTENT not in str(caught.value)


def test_msgspec_decodes_text_as_a_secret() -> None:
    held = msgspec.json.decode(f'{{"secret": "{CONTENT}"}}', type=Holder, dec_hook=decode_hook)
    assert held.secret == Secret(CONTENT)


@pytest.mark.parametrize("wrong", [f'["{CONTENT}"]', f'{{"it": "{CONTENT}"}}', "5", "true"])
def test_decoding_something_else_is_refused_without_showing_it(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="a secret is text") as caught:
        msgspec.json.decode(f'{{"secret": {wrong}}}', type=Holder, dec_hook=decode_hook)
    assert CONTENT not in "".join(traceback.format_exception(caught.value))


def test_the_hooks_know_nothing_else() -> None:
    with pytest.raises(NotImplementedError):
        encode_hook(object())
    with pytest.raises(NotImplementedError):
        decode_hook(Settings, {})


@given(st.text(), st.text())
def test_secrets_are_equal_when_their_contents_are(one: str, other: str) -> None:
    assert (Secret(one) == Secret(other)) == (one == other)
    assert Secret(one) == Secret(one)
    assert hash(Secret(one)) == hash(Secret(one))


def test_a_secret_is_equal_to_no_text() -> None:
    assert Secret(CONTENT) != CONTENT
    assert CONTENT not in [Secret(CONTENT)]


def test_an_undecodable_environment_value_can_be_compared() -> None:
    """Bytes that are not UTF-8 arrive as surrogates."""
    assert Secret("\udcff") == Secret("\udcff")
    assert Secret("\udcff") != Secret("ÿ")


def test_an_empty_secret_is_false() -> None:
    assert not Secret("")
    assert Secret(" ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nats://broker:4222", "nats://broker:4222"),
        ("nats://token@broker:4222", f"nats://{REDACTED}@broker:4222"),
        ("at https://ann:pass@host/path, twice", f"at https://{REDACTED}@host/path, twice"),
        ("nats://a:p/w@one,nats://b:x@two", f"nats://{REDACTED}@two"),
        ("someone@example.org", "someone@example.org"),
        ("", ""),
    ],
)
def test_credentials_in_addresses_are_hidden(text: str, shown: str) -> None:
    assert hide_credentials(text) == shown
