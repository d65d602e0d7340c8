"""What is said at the end of a run: about its recordings, to GitHub, in a job summary."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from msgspec import Struct, convert

from extproxy import config, store
from extproxy.errors import ExtproxyError
from extproxy.export.markdown import escape
from extproxy.known import known
from extproxy.safe import safe
from extproxy.session import Session
from extproxy.testing.places import recordings_in, shown
from extproxy.testing.using import age_of, root_of
from extproxy.testing.verifying import Told

LARGEST: Final = 20_000_000
"""Recordings of more bytes are not searched for secrets: `extproxy check --secrets` does it."""


class Test(Struct):
    """What a test told."""

    __test__ = False

    test: str
    passed: bool
    used: list[str]
    made: list[str]
    kept: list[str]
    told: list[Told]


def report(pytest_config: pytest.Config, told: Sequence[Any], terminal: Any, *, whole: bool) -> None:
    """Say it all. `whole` is False when tests were left out, or did not come to use what they use."""
    tests = [convert(each, Test) for each in told]
    root = root_of(pytest_config)
    used = list(dict.fromkeys(path for test in tests for path in test.used))
    folder = os.path.join(root, pytest_config.getini("extproxy_recordings"))
    whole = whole and _all_asked_for(pytest_config)
    warnings = list(_warnings(root, used, folder, whole))
    lines = [f"made: {path}" for test in tests for path in test.made]
    lines += [f"kept: {path}, the session of {test.test}" for test in tests for path in test.kept]
    lines += [f"{path}: {text}" for path, text in warnings]
    if lines:
        terminal.section("extproxy recordings")
        for line in lines:
            terminal.write_line(safe(line))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        terminal.ensure_newline()
        for line in github(tests, warnings):
            terminal.write_line(line)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write("\n".join([*markdown(tests, warnings), ""]))


def _all_asked_for(pytest_config: pytest.Config) -> bool:
    """Whether the run was meant to be all tests of the project."""
    options = pytest_config.option
    if any(getattr(options, name, None) for name in ("keyword", "markexpr", "lf", "deselect", "collectonly")):
        return False
    root = os.path.realpath(root_of(pytest_config))
    asked = pytest_config.args_source is not pytest.Config.ArgsSource.ARGS
    return asked or any(os.path.realpath(each) == root for each in pytest_config.args)


def _warnings(root: str, used: list[str], folder: str, whole: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with recordings: the path, a sentence."""
    if whole:
        known_paths = {os.path.realpath(path) for path in used}
        for path in recordings_in(folder):
            if os.path.realpath(path) not in known_paths:
                yield shown(path, root), "unused: no test uses it"
    try:
        days = config.load(root).max_age
    except ExtproxyError:
        return  # each test has told it
    for path in used:
        if not os.path.exists(path):
            continue
        age = age_of(path)
        if days is not None and age is not None and age > days:
            yield shown(path, root), f"stale: {int(age)} days old, max_age is {days}: make it anew"
        if (count := _secrets(path, root)) > 0:
            what = "a secret" if count == 1 else f"{count} secrets"
            yield shown(path, root), f"unscrubbed: it holds {what}; extproxy redact {shown(path, root)} takes them out"


def _secrets(path: str, root: str) -> int:
    from extproxy.redaction.cleaning import secrets_in

    if os.path.getsize(path) > LARGEST:
        return 0
    try:
        registry = known(root)
        return sum(1 for _ in secrets_in(lambda: store.events(path), Session(registry), registry))
    except ExtproxyError:
        return 0


# ---- GitHub


def github(tests: Sequence[Test], warnings: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines that the runner of GitHub Actions shows in the diff of a pull request."""
    for test in tests:
        for told in test.told:
            if told.text:
                where = f"file={_property(told.path)},line={told.line}"
                title = _property(f"not as recorded: {told.title}")
                yield f"::error {where},title={title}::{_data(told.text)}"
    for path, text in warnings:
        yield f"::warning file={_property(path)},title={_property(text.partition(':')[0])}::{_data(text)}"


def _data(text: str) -> str:
    lines = "\n".join(map(safe, text.split("\n")))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(tests: Sequence[Test], warnings: Sequence[tuple[str, str]]) -> Iterator[str]:
    """A job summary."""
    told = [each for test in tests for each in test.told]
    yield "## extproxy recordings"
    yield ""
    failed = sum(not test.passed for test in tests)
    yield f"{len(tests)} tests with recordings, {failed} failed."
    if told:
        yield ""
        yield "| recording | protocol | exchanges | not as recorded | first |"
        yield "|---|---|---:|---:|---|"
        for each in told:
            cells = [escape(each.path), escape(each.protocol), str(each.exchanges), str(each.wrong), escape(each.title)]
            yield f"| {' | '.join(cells)} |"
    for each in told:
        if each.text:
            yield ""
            yield f"<details open><summary>{escape(each.path)}</summary>"
            yield ""
            # Four spaces and no fence: nothing in the text can end it.
            yield from (f"    {safe(line)}" for line in each.text.split("\n"))
            yield ""
            yield "</details>"
    if warnings:
        yield ""
        yield from (f"- {escape(path)}: {escape(text)}" for path, text in warnings)
    kept = [(test.test, path) for test in tests for path in test.kept]
    if kept:
        yield ""
        yield from (f"- kept: {escape(path)}, the session of {escape(test)}" for test, path in kept)
