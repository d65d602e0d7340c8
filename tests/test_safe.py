"""Nothing on the wire can act on the terminal that shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.safe import safe, safe_bytes, size

BELOW = [chr(code) for code in range(0xA0)]
HIDDEN = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cf", "Cc", "Zl", "Zp", "Cs")]


def test_no_control_format_separator_or_surrogate_survives():
    shown = safe("".join(HIDDEN))
    assert not set(shown) & set(HIDDEN)
    assert shown.isascii()


@pytest.mark.parametrize("character", BELOW, ids=lambda c: f"{ord(c):02x}")
def test_every_character_below_a0_is_itself_or_an_escape(character):
    shown = safe(f"a{character}b")
    if " " <= character <= "~":
        assert shown == f"a{character}b"
    else:
        assert shown.startswith("a\\")
        assert shown.endswith("b")
        assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202etxt", r"\u202etxt"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u200db", r"a\u200db"),
        ("two\nlines\tand\r", r"two\nlines\tand\r"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\u3164", r"\u3164"),
        ("[bold]x[/]", "[bold]x[/]"),
        ("naïve — 测试 🎉", "naïve — 测试 🎉"),
    ],
)
def test_escapes_are_the_usual_ones_and_text_stays_text(text, shown):
    assert safe(text) == shown


def test_without_unicode_everything_is_ascii():
    assert safe("é → 测", unicode=False) == r"\xe9 \u2192 \u6d4b"


@given(st.text())
def test_the_result_has_one_line_and_is_stable(text):
    shown = safe(text)
    assert len(shown.splitlines()) <= 1
    assert safe(shown) == shown
    shown.encode("utf-8")


@given(st.binary(max_size=64), st.integers(0, 64))
def test_any_bytes_can_be_shown(data, limit):
    shown = safe_bytes(data, limit)
    assert safe(shown) == shown


def test_bytes_that_are_no_utf8_are_escaped_and_a_cut_character_is_not_bad_utf8():
    assert safe_bytes(b"\xff\xfe ok", 100) == r"\xff\xfe ok"
    assert safe_bytes("aé".encode(), 2) == "a"
    assert safe_bytes("aé".encode()[:2], 2) == r"a\xc3"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_048_576, "1.0 MB"),
        (2_500_000_000, "2.5 GB"),
    ],
)
def test_sizes_read_well(count, shown):
    assert size(count) == shown
