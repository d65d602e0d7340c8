"""What `scripts/bench` measures: one function a measurement, each call makes one round.

The drivers and children are the C programs of bench_c/, so that what is timed is
the proxy and not Python.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "bench_c"
BUILT = HERE.parent / ".bench"
PROGRAMS = ("pingpong", "echo", "flood", "sink", "proxy", "launch", "stamp")

FRAME = 200  # bytes, line feed included
ROUND_TRIPS = 10_000
WARM = 1000  # unmeasured ones before them
GAP_MS = 2  # between paced ones, of which there are a tenth
SETTLE_MS = 500  # between the start and what is measured: starting has a figure of its own
FLOOD_FRAMES = 1_500_000
STARTS_A_ROUND = 10
EXCHANGES = 100_000  # of the recording that is replayed
MARKS = 50  # frames that `show -f` must print in time

Sample = dict[str, float]
"""What one round measured: variant (`direct`, `c`, `extproxy`, …) to figure."""


class BenchError(Exception):
    """A measurement that did not come off; one sentence."""


# ---- running things


def build() -> None:
    """Compile what is older than its source; raises BenchError with the compiler's words."""
    compiler = shutil.which("cc")
    if not compiler:
        raise BenchError("There is no C compiler (cc) here; the yardstick is a C program. Install gcc or clang.")
    BUILT.mkdir(exist_ok=True)
    shared = (SOURCES / "common.h").stat().st_mtime
    for name in PROGRAMS:
        source, built = SOURCES / f"{name}.c", BUILT / name
        if built.exists() and built.stat().st_mtime > max(source.stat().st_mtime, shared):
            continue
        command = [compiler, "-O2", "-pthread", str(source), "-o", str(built)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise BenchError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")


@dataclass
class Bench:
    """The programs and the place that every measurement uses."""

    extproxy: list[str]
    python: str
    folder: Path
    quick: bool
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def program(self, name: str, *args: object) -> list[str]:
        return [str(BUILT / name), *map(str, args)]

    def recording(self) -> str:
        """A new file name: a recording is never overwritten."""
        return str(self.folder / f"{next(self._names)}.ndjson")

    def measure(
        self, variant: str, driver: list[str], child: list[str], frames: int, view: str = "off"
    ) -> dict[str, Any]:
        """Run one of our drivers with a child (`direct`), with it behind the yardstick (`c`) or extproxy.

        What it printed. BenchError unless the recording holds `frames` frames: a
        proxy that stopped recording is fast.
        """
        recording = self.recording()
        wrapper = {
            "direct": [],
            "c": [*self.program("proxy", recording), "--"],
            "extproxy": [*self.extproxy, "wrap", "-o", recording, "--view", view, "--"],
            "kept": [*self.extproxy, "wrap", "--no-redact", "-o", recording, "--view", view, "--"],
        }[variant]
        try:
            result = self.run([*driver, "--", *wrapper, *child])
            if variant != "direct":
                check_recording(Path(recording), frames, closing=variant != "c", said=result["said"])
        finally:
            Path(recording).unlink(missing_ok=True)
        return result

    def run(self, command: list[str], timeout: float = 120) -> dict[str, Any]:
        """What a driver printed; BenchError when it, or what it ran, did not end well."""
        driver = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = driver.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise BenchError(f"no result within {timeout:.0f} s: {' '.join(command)}") from None
        finally:
            end(driver)
        said = err.decode(errors="replace").strip()
        if driver.returncode:
            raise BenchError(f"{said or f'exit status {driver.returncode}'}: {' '.join(command)}")
        result: dict[str, Any] = json.loads(out)
        if result["status"]:
            raise BenchError(f"exit status {result['status']} ({said}): {' '.join(command)}")
        return result | {"said": said}

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        # A session of its own: what must be killed is then one group, and no signal reaches us.
        environment = os.environ | {"EXTPROXY_DIR": str(self.folder / "state")}
        # An installed extproxy is compiled; a checkout is after its first run, unless this forbids it.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.Popen(command, start_new_session=True, env=environment, **options)


def check_recording(path: Path, frames: int, closing: bool, said: str) -> None:
    """BenchError unless all frames are there. `closing`: its last line says so; wait for it.

    `said` is what came on stderr meanwhile; it belongs into the error.
    """
    about = f"; it said: {said}" if said else ""

    def closed() -> bool:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - 400, 0))
            return b'"closed":' in file.read()

    if not path.exists():
        raise BenchError(f"nothing was recorded{about}")
    if closing:
        wait_for(closed, f"the recording was not closed within 10 s{about}")
    found, rest = 0, b""
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            lines, _, rest = (rest + block).rpartition(b"\n")
            found += lines.count(b'"frame":' if closing else b'"f":')
    if found != frames:
        raise BenchError(f"{found} of {frames} frames were recorded{about}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what still runs of a process that we started, and its group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def one_cpu() -> Iterator[None]:
    """What is started inside shares one CPU with us."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@dataclass
class Terminal:
    path: str
    lines: int = 0
    """Line feeds that were written to it."""


@contextlib.contextmanager
def drained_terminal() -> Iterator[Terminal]:
    """A terminal of 120 columns, whose other end is read as fast as it comes."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    done, finish = os.pipe()
    terminal = Terminal(os.ttyname(theirs))

    def drain() -> None:
        while ours in (ready := select.select([ours, done], [], [])[0]) or done not in ready:
            terminal.lines += os.read(ours, 1 << 16).count(b"\n")

    thread = threading.Thread(target=drain)
    thread.start()
    try:
        yield terminal
    finally:
        os.write(finish, b".")
        thread.join()
        for fd in (ours, theirs, done, finish):
            os.close(fd)


# ---- what is measured; each function makes one round


def round_trip(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """A frame to the child and its answer back, one at a time, µs: pinned to one CPU, and not."""
    found: dict[str, Sample] = {"pinned": {}, "pinned p99": {}, "unpinned": {}, "unpinned p99": {}}
    for place in ("pinned", "unpinned"):
        for variant in order:
            with one_cpu() if place == "pinned" else contextlib.nullcontext():
                result = ping(bench, variant)
            found[place][variant] = result["p50"]
            found[f"{place} p99"][variant] = result["p99"]
    return found


def ping(bench: Bench, variant: str, view: str = "off", paced: bool = False) -> dict[str, Any]:
    count, warm, gap = (ROUND_TRIPS // 10, 0, GAP_MS * 1000) if paced else (ROUND_TRIPS, WARM, 0)
    driver = bench.program("pingpong", "-n", count, "-w", warm, "-s", FRAME, "-p", SETTLE_MS, "-g", gap)
    return bench.measure(variant, driver, bench.program("echo"), 2 * (1 + warm + count), view)


def flood(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """Frames from the child as fast as it can, MB/s: some time after the start, and at once."""
    size = FLOOD_FRAMES * FRAME
    found: dict[str, Sample] = {"settled": {}, "at once": {}}
    for when in found:
        settled = when == "settled"
        sink = bench.program("sink", "-e", size, *(["-g", SETTLE_MS] if settled else []))
        child = bench.program("flood", *(["-g"] if settled else []), FLOOD_FRAMES, FRAME)
        for variant in order:
            # The line that makes the child begin is the host's, and no JSON.
            result = bench.measure(variant, sink, child, FLOOD_FRAMES + (settled and variant == "c"))
            expect_whole(result, size)
            found[when][variant] = result["mb_per_s"]
    return found


def redaction(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """The flood from the child, MB/s, with secrets looked for (`extproxy`) and without (`kept`)."""
    size = FLOOD_FRAMES * FRAME
    sample = {}
    for variant in ("kept", "extproxy") if order[0] == "direct" else ("extproxy", "kept"):
        sink = bench.program("sink", "-e", size, "-g", SETTLE_MS)
        result = bench.measure(variant, sink, bench.program("flood", "-g", FLOOD_FRAMES, FRAME), FLOOD_FRAMES)
        expect_whole(result, size)
        sample[variant] = result["mb_per_s"]
    return {"redaction": sample}


def start(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """From exec of the wrapper to the child's first act, ms; and `python -c pass` as a whole."""
    launch = bench.program("launch")
    samples: dict[str, list[float]] = {variant: [] for variant in (*order, "python")}
    for _ in range(STARTS_A_ROUND):
        for variant in order:
            began = bench.measure(variant, launch, bench.program("stamp"), frames=1)["began_ms"]
            if began is None:
                raise BenchError("the child never started")
            samples[variant].append(began)
        samples["python"].append(bench.run([*launch, "--", bench.python, "-c", "pass"])["over_ms"])
    return {"start": {variant: statistics.median(figures) for variant, figures in samples.items()}}


def memory(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """The most memory that the proxy's process ever held, MB, before a reader slower than the child.

    The reader takes at most 64 KiB a millisecond.
    """
    frames = (200 if bench.quick else 1000) * 1_000_000 // FRAME
    sink = bench.program("sink", "-e", frames * FRAME, "-b", 1 << 16, "-d", 1000)
    found: dict[str, Sample] = {"peak": {}, "growth": {}}
    for variant in ("c", "extproxy"):
        result = bench.measure(variant, sink, bench.program("flood", frames, FRAME), frames)
        expect_whole(result, frames * FRAME)
        found["peak"][variant] = result["peak_kib"] * 1024 / 1e6
        found["growth"][variant] = (result["peak_kib"] - result["early_kib"]) * 1024 / 1e6
    return found


def expect_whole(result: dict[str, Any], size: int) -> None:
    if result["bytes"] != size:
        raise BenchError(f"{size} bytes were sent and {result['bytes']} came")


def view(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """The round trip with the view drawing to a terminal, and with the view off, µs.

    As fast as it goes, when a view has to leave most lines out; and paced, when it can draw them all.
    """
    found: dict[str, Sample] = {"fast": {}, "paced": {}}
    for pace, sample in found.items():
        for variant in ["off", "extproxy"] if order[0] == "direct" else ["extproxy", "off"]:
            with drained_terminal() as terminal:
                shown = terminal.path if variant == "extproxy" else "off"
                sample[variant] = ping(bench, "extproxy", shown, paced=pace == "paced")["p50"]
            if variant == "extproxy":
                sample["lines"] = terminal.lines
                if not terminal.lines:
                    raise BenchError("the view drew nothing")
    return found


def follow(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """How long after a frame was sent `show -f` has printed its line, ms: median and worst."""
    recording = bench.recording()
    quiet = {"stderr": subprocess.DEVNULL}
    command = [*bench.extproxy, "wrap", "-o", recording, "--view", "off", "--", *bench.program("echo")]
    wrap = bench.start(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **quiet)
    shower: subprocess.Popen[bytes] | None = None
    try:
        wait_for(lambda: os.path.exists(recording), "extproxy wrap made no recording")
        command = [*bench.extproxy, "show", "-f", recording]
        shower = bench.start(command, stdout=subprocess.PIPE, **quiet)
        assert wrap.stdin
        assert shower.stdout
        lag(wrap.stdin.fileno(), shower.stdout.fileno(), "mark-ready", limit=15)
        lags = []
        for number in range(MARKS):
            # Gaps of many lengths: a follower that looks at intervals must not fall in step with us.
            time.sleep((20 + number * 37 % 101) / 1000)
            lags.append(lag(wrap.stdin.fileno(), shower.stdout.fileno(), f"mark-{number:04}", limit=5))
        wrap.stdin.close()
        wrap.wait(10)
    except BrokenPipeError:
        raise BenchError("extproxy wrap ended while the session was going on") from None
    except subprocess.TimeoutExpired:
        raise BenchError("extproxy wrap did not end with its input") from None
    finally:
        for process in filter(None, (shower, wrap)):
            end(process)
        Path(recording).unlink(missing_ok=True)
    return {"follow": {"extproxy": statistics.median(lags)}, "follow worst": {"extproxy": max(lags)}}


def lag(to: int, shown: int, mark: str, limit: float) -> float:
    """Send a frame with a method of its own; milliseconds until that name is on the screen."""
    frame = {"jsonrpc": "2.0", "method": mark, "params": {"pad": "x" * 100}}
    before = time.monotonic()
    os.write(to, json.dumps(frame).encode() + b"\n")
    seen = b""
    while mark.encode() not in seen:
        left = before + limit - time.monotonic()
        if left <= 0 or not select.select([shown], [], [], left)[0]:
            raise BenchError(f"extproxy show -f did not print a frame within {limit:.0f} s")
        data = os.read(shown, 1 << 16)
        if not data:
            raise BenchError("extproxy show -f ended while the session was going on")
        seen += data
    return (time.monotonic() - before) * 1000


def wait_for(condition: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + 10
    while not condition():
        if time.monotonic() > until:
            raise BenchError(otherwise)
        time.sleep(0.01)


def replay(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """A recording of many exchanges, replayed to a host that asks all of it: how long, and in how much memory."""
    recording, asked, answers = (bench.folder / f"replay.{name}" for name in ("ndjson", "asked", "answers"))
    header = {"extproxy": 1, "version": "0", "started": "2026-11-29T21:30:00.000000Z", "command": ["x"], "cwd": "/"}
    with recording.open("w") as file, asked.open("w") as said:
        file.write(json.dumps(header) + '\n{"t":0.000000,"protocol":"jsonrpc"}\n')
        for n in range(EXCHANGES):
            params = {"name": "weather", "arguments": {"city": "Berlin", "day": n}}
            request = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}
            text = [{"type": "text", "text": f"day {n}: 16 °C, fog"}]
            answer = {"jsonrpc": "2.0", "id": n, "result": {"content": text, "isError": False}}
            for side, frame in (("host", request), ("child", answer)):
                file.write(f'{{"t":{n / 1000:.6f},"from":"{side}","frame":{json.dumps(frame)}}}\n')
            said.write(json.dumps({**request, "id": n + EXCHANGES}) + "\n")
        file.write('{"t":999.000000,"from":"host","eof":true}\n{"t":999.000000,"exit":0}\n')
    begin = time.perf_counter()
    with asked.open("rb") as stdin, answers.open("wb") as stdout:
        process = subprocess.Popen([*bench.extproxy, "replay", str(recording)], stdin=stdin, stdout=stdout)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    lasted = time.perf_counter() - begin
    with answers.open("rb") as file_:
        count = sum(1 for _ in file_)
    for path in (recording, asked, answers):
        path.unlink()
    if status or count != EXCHANGES:
        raise BenchError(f"replay answered {count} of {EXCHANGES} requests and ended with {process.returncode}")
    peak = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {"rate": {"extproxy": EXCHANGES / lasted}, "memory": {"extproxy": peak}}


Measurement = Callable[[Bench, list[str]], dict[str, Sample]]


def frames(bench: Bench, order: list[str]) -> dict[str, Sample]:
    """Decoding and checking one frame, and `json.loads` on the same bytes, µs."""
    command = [bench.python, str(HERE / "measure_frames.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise BenchError(f"{done.stderr.strip().rpartition(chr(10))[2]}: {' '.join(command)}")
    return {"frame": json.loads(done.stdout)}


BENCHES: dict[str, Measurement] = {
    "roundtrip": round_trip,
    "flood": flood,
    "redaction": redaction,
    "start": start,
    "memory": memory,
    "view": view,
    "follow": follow,
    "replay": replay,
    "frames": frames,
}
ONCE = {"memory", "follow", "replay"}  # one round is enough: a peak of a gigabyte, 50 frames, 100,000 exchanges
