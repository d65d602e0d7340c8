"""The pytest plugin: recordings as tests, fixtures, record modes, reports. See docs/testing.md.

pytest imports this in every run of every project that has extproxy installed, so
nothing is imported here that pytest has not imported already; each hook gets the
rest when there is something for it to do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from extproxy.testing.child import Child
    from extproxy.testing.session import RecordedSession
    from extproxy.testing.using import Using

USING: pytest.StashKey[Using] = pytest.StashKey()
"""What a test does with recordings; only tests that do have it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("extproxy", "recordings of extproxy as tests")
    group.addoption(
        "--extproxy-command",
        metavar="COMMAND",
        help="Run each collected recording against this command; without it, what [tool.extproxy] says.",
    )
    group.addoption(
        "--extproxy-record",
        choices=("none", "once", "new", "all"),
        default="none",
        help="Make recordings: once = missing ones, new = also those older than max_age, all = each anew. "
        "With CI set it is none.",
    )
    group.addoption(
        "--extproxy-artifacts",
        metavar="DIR",
        default=".extproxy/failed",
        help="Keep the sessions of failed tests here (.extproxy/failed).",
    )
    group.addoption(
        "--extproxy-timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="How long to wait for each answer (10).",
    )
    parser.addini("extproxy_recordings", "The folder of recordings.", default="recordings")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Run(config), "extproxy-run")


def pytest_collect_file(file_path: Any, parent: pytest.Collector) -> pytest.Collector | None:
    """Recordings that have a command are tests."""
    if file_path.suffix != ".ndjson" or not is_recording(file_path):
        return None
    from extproxy.testing.collecting import collect

    return collect(file_path, parent)


def is_recording(path: Any) -> bool:
    """Whether a file begins as a recording does."""
    try:
        with open(path, "rb") as file:
            return file.read(12) == b'{"extproxy":'
    except OSError:
        return False


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Why two sessions differ: by exchange, message and field."""
    if op != "==" or type(left).__module__ != "extproxy.testing.session" or type(right) is not type(left):
        return None
    from extproxy.testing.session import RecordedSession

    if not isinstance(left, RecordedSession) or not isinstance(right, RecordedSession):
        return None
    return ["the sessions differ:", *left.difference(right, ("left", "right"))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """What a test did with recordings has to be right, too."""
    result = yield
    using = item.stash.get(USING, None)
    if using is not None:
        try:
            using.check()
        except AssertionError as error:
            pytest.fail(str(error), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    using = item.stash.get(USING, None)
    if using is None:
        return (yield)
    if call.when == "call":
        # The properties of a report are those that the item has when it is made.
        item.user_properties.extend(using.properties())
    report = yield
    using.note(report)
    return report


class _Run:
    """The whole run, on the machine's one process that reports: what its tests told of recordings."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: list[dict[str, Any]] = []
        self._left_out = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = report.__dict__.get("extproxy")
        if told is not None:
            self._told.append(told)
        if report.outcome != "passed":
            self._left_out += 1

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._left_out += len(items)

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        if not self._told:
            if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
                from extproxy.testing.collecting import hint

                for line in hint(self._config):
                    terminalreporter.write_line(line)
            return
        from extproxy.testing.reporting import report

        report(self._config, self._told, terminalreporter, whole=not self._left_out)


# ---- fixtures


@pytest.fixture
def _extproxy(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Using]:
    """What this test does with recordings."""
    from extproxy.testing.using import Using

    using = request.node.stash.get(USING, None)
    if using is None:
        using = request.node.stash[USING] = Using(request.node, str(tmp_path))
    yield using
    using.finish()


@pytest.fixture
def wrap_child(_extproxy: Using) -> Callable[..., Child]:
    """Run a child behind the proxy: `wrap_child(command, recording=None, cwd=None, env=None, timeout=None)`.

    With `recording`, a name, the session has to be equal to that recording.
    """
    return _extproxy.wrap_child


@pytest.fixture
def replay_child(_extproxy: Using) -> Callable[..., list[str]]:
    """The command that plays a recorded child, to put where a host wants its extension.

    `replay_child(name, command=None, partial=False)`; with `command` the recording can be made by the test.
    """
    return _extproxy.replay_child


@pytest.fixture
def verify_recording(_extproxy: Using) -> Callable[..., RecordedSession]:
    """Say what a recorded host said to a command: `verify_recording(name, command=None)`; the live session."""
    return _extproxy.verify_recording


@pytest.fixture
def load_recording(_extproxy: Using) -> Callable[[str], RecordedSession]:
    """A recording as a session to assert on: `load_recording(name)`."""
    return _extproxy.load_recording


@pytest.fixture
def transcript(request: pytest.FixtureRequest) -> Any:
    """A snapshot for syrupy of a session, or of its surface: `assert child.session == transcript`."""
    try:
        from extproxy.testing.snapshot import TranscriptExtension
    except ImportError:
        pytest.fail("the fixture transcript needs syrupy: pip install syrupy", pytrace=False)
    return request.getfixturevalue("snapshot").use_extension(TranscriptExtension)
