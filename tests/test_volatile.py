"""Rules of a project and of a command line."""

from __future__ import annotations

import pytest

from extproxy.compare.volatile import Rules, from_table, rules
from extproxy.errors import UsageError


def test_rules_are_read_from_paths_and_patterns():
    read = from_table(
        {
            "ignore": ["params._meta"],
            "volatile": ["**.etag", "content[].text"],
            "keep": ["args.when"],
            "replace": [{"pattern": r"build-\d+", "name": "build"}],
        }
    )
    assert read.ignore == (("params", "_meta"),)
    assert read.volatile == (("**", "etag"), ("content", None, "text"))
    assert read.keep == (("args", "when"),)
    assert [(each.pattern.pattern, each.name) for each in read.replace] == [(r"build-\d+", "build")]


def test_rules_of_a_project_and_of_a_command_line_add_up():
    assert rules(["a"]) + rules(["b"], ["c"]) == Rules((("a",), ("b",)), (("c",),))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([], "must be a table"),
        ({"skip": []}, "has no 'skip'"),
        ({"ignore": "a"}, "ignore must be an array"),
        ({"volatile": [1]}, "volatile must be an array of paths"),
        ({"keep": ["a..b"]}, "cannot read the path"),
        ({"ignore": [""]}, "an empty path"),
        ({"ignore": ["**.a.b"]}, "the name of one member"),
        ({"ignore": ["**.[]"]}, "the name of one member"),
        ({"replace": ["x"]}, "needs a pattern and a name"),
        ({"replace": [{"pattern": "x"}]}, "needs a pattern and a name"),
        ({"replace": [{"pattern": "(", "name": "x"}]}, "cannot be read"),
        ({"replace": [{"pattern": 1, "name": "x"}]}, "cannot be read"),
        ({"replace": [{"pattern": "x", "name": "<x>"}]}, "a word of letters"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(table, reason):
    with pytest.raises(UsageError, match=reason.replace("(", r"\(")):
        from_table(table)
