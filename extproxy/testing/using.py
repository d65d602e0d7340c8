"""What one test does with recordings: which it uses, which it makes, what is kept of it when it fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from glob import escape, glob
from typing import Any, Final

import pytest
from msgspec import Struct, to_builtins

from extproxy import config, store
from extproxy.errors import ExtproxyError
from extproxy.events import Header
from extproxy.replay.child import REPORT
from extproxy.store import SUFFIX
from extproxy.testing import places
from extproxy.testing.child import Child
from extproxy.testing.places import DAY, MissingRecordingError, shown, words_of
from extproxy.testing.session import RecordedSession, load
from extproxy.testing.verifying import DifferentError, Told, Verified, settings_of, verify, write

PATIENCE: Final = 5.0
"""Seconds that a host has to end what it started, after its test."""


class Golden(Struct):
    """A recording that becomes the golden one when its test passes."""

    path: str
    made: str


class Using:
    """Made for a test that uses a fixture of ours, or is a recording itself."""

    def __init__(self, item: pytest.Item, folder: str) -> None:
        options = item.config.option
        self._item = item
        self._folder = folder
        """Where what is made stays until the test has passed."""
        self._root = root_of(item.config)
        self._recordings = item.config.getini("extproxy_recordings")
        self._mode = places.mode_of(options.extproxy_record)
        self._timeout: float = options.extproxy_timeout
        self._count = 0
        self._children: list[tuple[Child, str | None]] = []
        self._golden: list[Golden] = []
        self._replays: list[str] = []
        """Recordings that are replayed, by the name beside which a report would be."""
        self._sessions: list[str] = []
        """Recordings of this very test."""
        self._outcomes: list[str] = []
        self._used: dict[str, None] = {}
        self._made: list[str] = []
        self._kept: list[str] = []
        self._told: list[Told] = []

    # ---- what fixtures give

    def wrap_child(
        self,
        command: str | Sequence[str] | None = None,
        *,
        recording: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: dict[str, str] | None = None,
        protocol: str | None = None,
        timeout: float | None = None,
    ) -> Child:
        """See the fixture of this name."""
        __tracebackhide__ = True
        golden = self._path(recording) if recording is not None else None
        words = self._command(command, golden)
        if golden is not None and not self._records(golden):
            self._need(golden, places.make_with_pytest(self._item.nodeid))
        made = self._new("session")
        child = Child(
            words, made, folder=self._root, cwd=None if cwd is None else os.fspath(cwd), env=env,
            protocol=protocol, timeout=self._timeout if timeout is None else timeout,
        )  # fmt: skip
        self._children.append((child, golden))
        return child

    def replay_child(
        self, name: str, command: str | Sequence[str] | None = None, *, partial: bool = False
    ) -> list[str]:
        """See the fixture of this name."""
        __tracebackhide__ = True
        path = self._path(name)
        made = self._new("session")
        wrap = places.extproxy("wrap", "--view", "off", "-o", made, "--")
        if command is not None and self._records(path):
            self._golden.append(Golden(path, made))
            return [*wrap, *words_of(command)]
        cure = places.make_with_host(path, self._root, [])
        self._need(path, cure if command is None else places.make_with_pytest(self._item.nodeid))
        # A place of its own: reports of what does not fit go beside the recording.
        link = os.path.join(self._folder, f"{self._count}-{os.path.basename(path)}")
        try:
            os.symlink(os.path.abspath(path), link)
        except OSError:
            shutil.copyfile(path, link)
        self._replays.append(link)
        return [*wrap, *places.extproxy("replay", *(["--partial"] if partial else []), link)]

    def verify_recording(self, name: str, command: str | Sequence[str] | None = None) -> RecordedSession:
        """See the fixture of this name."""
        __tracebackhide__ = True
        path = self._path(name)
        words = self._command(command, path)
        self._need(path, places.make_with_host(path, self._root, words))
        return self.verified(path, words)

    def load_recording(self, name: str) -> RecordedSession:
        """See the fixture of this name."""
        __tracebackhide__ = True
        path = self._path(name)
        self._need(path, places.make_with_host(path, self._root, []))
        return load(path, self._root)

    def verified(self, path: str, command: Sequence[str]) -> RecordedSession:
        """Verify a recording; the live session. DifferentError tells what differs."""
        __tracebackhide__ = True
        self._used[os.path.abspath(path)] = None
        done: Verified = verify(path, self._root, command, self._timeout)
        made = self._new("session")
        write(done.live, made)
        if done.told.text and self._mode == "all":
            self._update(path, done)
        self._told.append(done.told)
        if done.told.text:
            raise DifferentError(done.told.text)
        return done.live

    def _update(self, path: str, done: Verified) -> None:
        """Take over what the command says now; what cannot be taken over stays a failure."""
        data, left = done.updated()
        if left:
            done.told.text += "\n\ncannot be taken over:\n" + "\n".join(f"  {each}" for each in left)
            return
        self._count += 1
        made = os.path.join(self._folder, f"updated-{self._count}{SUFFIX}")
        with open(made, "wb") as file:
            file.write(data)
        self._golden.append(Golden(path, made))
        done.told.text, done.told.wrong = "", 0

    # ---- where things are

    def _path(self, name: str) -> str:
        return places.path_of(name, self._root, self._recordings)

    def _new(self, what: str) -> str:
        self._count += 1
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, f"{what}-{self._count}{SUFFIX}")
        self._sessions.append(path)
        return path

    def _command(self, command: str | Sequence[str] | None, path: str | None) -> list[str]:
        """What to run."""
        __tracebackhide__ = True
        if command is not None:
            return words_of(command)
        found = command_for(path or "", self._item.config)
        if found is None:
            pytest.fail(f"no command is named: give one, or {NAME_IT}", pytrace=False)
        return found

    def _records(self, path: str) -> bool:
        there = os.path.exists(path)
        return places.records(self._mode, there, there and is_stale(path, self._root))

    def _need(self, path: str, cure: str) -> None:
        """The recording has to be there."""
        __tracebackhide__ = True
        if not os.path.exists(path):
            raise MissingRecordingError(places.missing(path, self._root, cure))
        self._used[os.path.abspath(path)] = None

    # ---- after the test's own code

    def check(self) -> None:
        """What was used has to fit. AssertionError tells what does not."""
        __tracebackhide__ = True
        for child, golden in self._children:
            child.close()
            if golden is not None:
                self._compare(child, golden)
        self._mismatches()

    def _compare(self, child: Child, golden: str) -> None:
        """The session has to be that of the golden recording, where this is not made anew."""
        __tracebackhide__ = True
        there = os.path.exists(golden)
        lines = []
        if there:
            lines = load(golden, self._root).difference(child.session, (shown(golden, self._root), "this test"))
        if self._records(golden):
            # One that says the same stays as it is: a review shows what changed.
            if lines or not there or is_stale(golden, self._root):
                self._golden.append(Golden(golden, child.recording))
        elif lines:
            cure = f"--extproxy-record all takes what is said now into {shown(golden, self._root)}"
            raise DifferentError("\n".join(["the session is not the recorded one:", *lines, cure]))

    def _mismatches(self) -> None:
        __tracebackhide__ = True
        for link in self._replays:
            path = link.removesuffix(".ndjson").removesuffix(".extproxy") + REPORT
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                os.unlink(path)
                raise DifferentError(text.strip())

    def properties(self) -> list[tuple[str, object]]:
        """What JUnit reports tell of the test."""
        made: list[tuple[str, object]] = [("extproxy_recording", shown(path, self._root)) for path in self._used]
        for told in self._told:
            made += [
                ("extproxy_protocol", told.protocol),
                ("extproxy_exchanges", told.exchanges),
                ("extproxy_not_as_recorded", told.wrong),
            ]
        return made

    def note(self, report: pytest.TestReport) -> None:
        """A part of the test is over."""
        self._outcomes.append(report.outcome if not hasattr(report, "wasxfail") else "skipped")
        if report.when == "teardown":
            # Plain values: they go from a worker of xdist to the process that reports.
            report.__dict__["extproxy"] = {
                "test": report.nodeid,
                "passed": set(self._outcomes) == {"passed"},
                "used": list(self._used),
                "made": self._made,
                "kept": self._kept,
                "told": to_builtins(self._told),
            }

    def finish(self) -> None:
        """The test is over: what it made becomes golden, or is kept to look at."""
        failed = "failed" in self._outcomes
        for child, _ in self._children:
            child.kill()
        try:
            if not failed:
                self._mismatches()
        except BaseException:
            failed = True
            raise
        finally:
            self._wait()
            if failed:
                self._keep()
            elif self._outcomes and set(self._outcomes) == {"passed"}:
                for each in self._golden:
                    self._take(each)

    def _wait(self) -> None:
        """What a host started may still be about to end."""
        end = time.monotonic() + PATIENCE
        for path in self._sessions:
            while time.monotonic() < end and os.path.exists(path) and _runs(path):
                time.sleep(0.02)

    def _take(self, golden: Golden) -> None:
        if not os.path.exists(golden.made):
            return  # nobody started it
        os.makedirs(os.path.dirname(golden.path), exist_ok=True)
        new = f"{golden.path}.new-{os.getpid()}"
        shutil.copyfile(golden.made, new)
        os.replace(new, golden.path)
        self._made.append(shown(golden.path, self._root))
        self._used[os.path.abspath(golden.path)] = None

    def _keep(self) -> None:
        folder = os.path.join(self._root, self._item.config.option.extproxy_artifacts)
        name = places.slug(self._item.nodeid)
        number = 0
        for made in self._sessions:
            for path in sorted(glob(f"{escape(made.removesuffix(SUFFIX))}*{escape(SUFFIX)}")):
                number += 1
                target = os.path.join(folder, f"{name}{f'-{number}' if number > 1 else ''}{SUFFIX}")
                with contextlib.suppress(OSError):
                    os.makedirs(folder, exist_ok=True)
                    shutil.copyfile(path, target)
                    self._kept.append(shown(target, self._root))


NAME_IT: Final = (
    "use --extproxy-command './my-ext', or name it in extproxy.toml: [verify] and below it command = [\"./my-ext\"]"
)


def command_for(path: str, pytest_config: pytest.Config) -> list[str] | None:
    """What to run for a recording; None when nothing says it."""
    given = pytest_config.option.extproxy_command
    return words_of(given) if given else list(settings_of(path, root_of(pytest_config)).command) or None


def root_of(pytest_config: pytest.Config) -> str:
    """The project's folder, where paths begin and commands run. pytest's own is the tests' folder at times."""
    start = str(pytest_config.invocation_params.dir)
    return places.root_of(start, start)


def is_stale(path: str, root: str, now: Callable[[], float] = time.time) -> bool:
    """Whether a recording is older than the project's `max_age`."""
    days = config.load(root).max_age
    age = age_of(path, now)
    return days is not None and age is not None and age > days


def age_of(path: str, now: Callable[[], float] = time.time) -> float | None:
    """Days since a recording began; None when it does not tell."""
    try:
        header: Any = next(iter(store.events(path)))
        assert isinstance(header, Header)
        return (now() - datetime.fromisoformat(header.started).astimezone(UTC).timestamp()) / DAY
    except (ExtproxyError, ValueError):
        return None


def _runs(path: str) -> bool:
    try:
        return store.stored(path).running
    except ExtproxyError:
        return False
