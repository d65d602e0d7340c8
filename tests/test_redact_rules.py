"""What users want taken out, and what tells who somebody is."""

from __future__ import annotations

import pytest

from extproxy.errors import UsageError
from extproxy.redaction.rules import Places, personal, read_rules


def test_a_rule_is_a_place_or_a_pattern():
    rules = read_rules(["params.account", "content[].text", "/acct_[0-9]+/"])
    assert rules.paths == (("params", "account"), ("content", None, "text"))
    assert [pattern.pattern for pattern in rules.patterns] == ["acct_[0-9]+"]


@pytest.mark.parametrize("given", ["/(/", "/a*/", "a..b", ""])
def test_one_that_cannot_be_read_is_refused_with_its_text(given):
    with pytest.raises(UsageError, match="--redact"):
        read_rules([given])


@pytest.mark.parametrize(
    ("path", "steps", "covered"),
    [
        (("a",), ("a",), True),
        (("a",), ("a", "b", 0), True),
        (("a", "b"), ("a",), False),
        (("a", None, "b"), ("a", 3, "b"), True),
        (("a", None), ("a", "b"), False),
        ((None,), (0, "x"), True),
        ((), ("x",), True),
    ],
)
def test_a_path_covers_what_is_at_it_and_below(path, steps, covered):
    assert Places([path]).cover(steps) is covered
    assert not Places([]).cover(steps)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/joe/x and /home/joe", "<home>/x and <home>"),
        ("file:///Users/ann/y", "file://<home>/y"),
        ("C:\\Users\\ann\\y", "<home>\\y"),
        ("%2Fhome%2Fjoe", "%2Fhome%2F<user>"),
        ("joe@box.local and Joe", "<user>@<host> and <user>"),
        ("joey /homework/joe2 inbox", "joey /homework/joe2 inbox"),
        ("/data/joe/x", "/data/<user>/x"),
    ],
)
def test_home_folders_and_names_become_words(text, left):
    for pattern, word in personal("/home/joe", ["joe", "root", "me"], ["box", "box.local", "localhost"]):
        text = pattern.sub(word, text)
    assert text == left


def test_the_home_of_root_is_one_too_and_its_name_is_none():
    rules = personal("/root", ["root"], [])
    text = "/root/x /rootfs root"
    for pattern, word in rules:
        text = pattern.sub(word, text)
    assert text == "<home>/x /rootfs root"
