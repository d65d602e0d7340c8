"""The child stands where it would stand without us: signals, descriptors, environment, limits."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import resource
import signal
import subprocess
import termios

import pytest
from support import PLAIN_PYTHON, no_traceback, state, until

SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"]


@pytest.mark.parametrize("to", ["process", "group"])
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_reaches_the_child_exactly_once(lab, name, to):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet().catch(*SIGNALS, "SIGALRM")
    send = process.signal if to == "process" else process.signal_group
    send(signal.Signals[name])
    assert puppet.wait_signal() == name
    process.signal(signal.SIGALRM)  # whatever was sent twice comes before this
    assert puppet.wait_signal() == "SIGALRM"
    process.send(b"{}\n")
    assert puppet.read(3) == b"{}\n"
    assert puppet.signals == [name, "SIGALRM"]
    puppet.exit(9)
    assert process.finish(close=False).status == 9
    assert [line["signal"] for line in lab.lines() if "signal" in line] == [name, "SIGALRM"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_that_ends_the_child_ends_us_with_its_status(lab, name):
    puppet = lab.puppet()
    process = lab.wrap(["sleep", "1000"])
    lab.lines_when_there()
    process.signal(signal.Signals[name])
    assert process.finish(close=False).status == 128 + signal.Signals[name]
    puppet.clear()
    (end,) = [line["exit"] for line in lab.lines() if "exit" in line]
    assert end == {"signal": name}


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1"])
def test_a_signal_that_the_host_had_us_ignore_stays_ignored(lab, name):
    number = signal.Signals[name]
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    puppet.meet().catch("SIGALRM")
    process.signal(number)
    process.signal(signal.SIGALRM)
    assert puppet.wait_signal() == "SIGALRM"
    process.send(b"{}\n")
    assert puppet.read(3) == b"{}\n"
    puppet.exit(0)
    assert process.finish(close=False).status == 0


def test_nohup_keeps_the_session(lab):
    puppet = lab.puppet()
    process = lab.start(["nohup", *lab.wrapped(puppet.command)])
    puppet.meet().catch("SIGALRM")
    process.signal(signal.SIGHUP)
    process.signal(signal.SIGALRM)
    assert puppet.wait_signal() == "SIGALRM"
    puppet.exit(0)
    assert process.finish(close=False).status == 0


def ignoring(*names):
    def prepare():
        for name in names:
            signal.signal(signal.Signals[name], signal.SIG_IGN)

    return prepare


def blocking(*names):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.Signals[name] for name in names})


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(None, id="as usual"),
        pytest.param(ignoring("SIGHUP"), id="SIGHUP ignored"),
        pytest.param(ignoring("SIGINT", "SIGQUIT"), id="SIGINT and SIGQUIT ignored, as a shell's & does"),
        pytest.param(ignoring("SIGCHLD"), id="SIGCHLD ignored"),
        pytest.param(ignoring("SIGTSTP", "SIGTTOU"), id="job control ignored"),
        pytest.param(blocking("SIGUSR1", "SIGTERM"), id="two blocked"),
    ],
)
def test_dispositions_and_masks_reach_the_child_as_given(lab, prepare):
    command = ["grep", "^Sig[BIC]", "/proc/self/status"]
    alone = lab.run(command, preexec_fn=prepare)
    behind = lab.wrap(command, preexec_fn=prepare).finish()
    assert dispositions(behind.out) == dispositions(alone.out)
    assert behind.status == 0


def dispositions(status):
    """Blocked, ignored and caught signals, without 32 and 33: glibc keeps these for its threads."""
    fields = (line.split() for line in status.splitlines())
    return {name: int(mask, 16) & ~(0b11 << 31) for name, mask in fields}


def test_a_signal_to_every_process_of_the_session_leaves_a_whole_recording(lab):
    process = lab.wrap(["cat"])
    process.send(b"{}\n")
    assert process.out.line() == b"{}\n"
    for pid in lab.processes():  # as `pkill -f` does, or a service that is stopped
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    assert process.finish(close=False).status == 128 + signal.SIGTERM
    assert lab.lines()[-1]["closed"] == "end"
    assert lab.raw("child") == b"{}\n"


def test_a_child_that_wants_the_terminal_is_told(lab):
    screen, end = pty.openpty()
    try:
        process = lab.wrap(
            [*PLAIN_PYTHON, "-c", "open('/dev/tty').readline()"],
            preexec_fn=lambda: fcntl.ioctl(end, termios.TIOCSCTTY, 0),
            start_new_session=True,
            process_group=None,
        )
        process.err.wait_for(b"has stopped: it wants the terminal")
        process.signal(signal.SIGKILL)
        process.wait()
    finally:
        os.close(screen)
        os.close(end)


def test_a_broken_pipe_ends_the_child_as_it_ends_any_program(lab):
    result = lab.wrap(["sh", "-c", "yes | head -n 1; kill -PIPE $$"]).finish()
    assert result.out == b"y\n"
    assert result.status == 128 + signal.SIGPIPE


def test_job_control_stops_and_continues_the_child(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    pid = puppet.meet().about()["pid"]
    process.signal(signal.SIGTSTP)
    until(lambda: state(pid) == "T", "waiting for the child to stop")
    until(lambda: state(process.pid) == "T", "waiting for the forwarder to stop")
    process.signal(signal.SIGCONT)
    until(lambda: state(pid) != "T", "waiting for the child to go on")
    process.send(b"{}\n")
    assert puppet.read(3) == b"{}\n"
    puppet.exit(0)
    assert process.finish(close=False).status == 0


def test_a_child_that_handles_job_control_gets_each_signal_once(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet().catch("SIGTSTP", "SIGCONT", "SIGALRM")
    for name in ("SIGTSTP", "SIGCONT", "SIGALRM"):
        process.signal(signal.Signals[name])
        assert puppet.wait_signal() == name
    assert puppet.signals == ["SIGTSTP", "SIGCONT", "SIGALRM"]
    puppet.exit(0)
    assert process.finish(close=False).status == 0


def test_the_child_has_a_group_of_its_own_in_our_session(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    about = puppet.meet().about()
    assert about["pgid"] == about["pid"]
    assert about["sid"] == os.getsid(process.pid)
    assert about["ppid"] == process.pid
    puppet.exit(0)
    process.finish(close=False)


# ---- descriptors


LIST = [*PLAIN_PYTHON, "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"]


def test_the_child_has_no_descriptor_of_ours(lab):
    alone = lab.run(LIST)
    behind = lab.wrap(LIST).finish()
    assert behind.out == alone.out


def test_the_child_has_the_descriptors_that_the_host_passed(lab):
    read, write = os.pipe()
    try:
        alone = lab.run(LIST, pass_fds=[write])
        behind = lab.wrap(LIST, pass_fds=[write]).finish()
        assert behind.out == alone.out
        say = [*PLAIN_PYTHON, "-c", f"import os; os.write({write}, b'beside the wire')"]
        assert lab.wrap(say, pass_fds=[write], recording=lab.folder / "2").finish().status == 0
        os.close(write)
        write = -1
        with open(read, "rb", closefd=False) as pipe:
            assert pipe.read() == b"beside the wire"  # to the end of file: nobody of ours kept it open
    finally:
        for end in (read, write):
            with contextlib.suppress(OSError):
                os.close(end)


def closing(*descriptors):
    def prepare():
        for descriptor in descriptors:
            os.close(descriptor)

    return prepare


def test_a_closed_stdin_is_the_end_of_file_for_the_child(lab):
    result = lab.wrap(["sh", "-c", "cat; echo '{}'; exit 5"], preexec_fn=closing(0)).finish()
    assert (result.out, result.status) == (b"{}\n", 5)
    assert said_by_child(lab) == [{}]
    assert no_traceback(result)


def test_a_closed_stderr_harms_nothing(lab):
    result = lab.wrap(["sh", "-c", "echo oh >&2; cat; exit 5"], preexec_fn=closing(2)).finish(b"{}\n")
    assert (result.out, result.status) == (b"{}\n", 5)
    assert [line["text"] for line in lab.lines() if line.get("stream") == "stderr" and "text" in line] == ["oh"]


@pytest.mark.parametrize("closed", [(1,), (0, 1), (0, 1, 2)])
def test_closed_standard_descriptors_keep_the_childs_status_and_its_words(lab, closed):
    result = lab.wrap(["sh", "-c", "echo '{}'; exit 5"], preexec_fn=closing(*closed)).finish()
    assert result.status == 5
    assert said_by_child(lab) == [{}]
    assert no_traceback(result)


def test_what_goes_to_one_pipe_keeps_its_order_and_nothing_of_ours_comes_between(lab):
    says = "for n in 1 2 3 4 5 6 7 8 9; do echo [$n]; echo log $n >&2; done; sleep 1000 & exit 3"
    result = lab.wrap(["sh", "-c", says], stderr=subprocess.STDOUT).finish()
    assert result.out == b"".join(b"[%d]\nlog %d\n" % (n, n) for n in range(1, 10))
    assert result.status == 3
    assert lab.raw("child") == result.out
    assert ["left behind" in line["note"] for line in lab.lines() if "note" in line] == [True]


def test_too_few_descriptors_are_told_in_a_sentence(lab):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))

    result = lab.wrap(["cat"], preexec_fn=prepare).finish()
    assert result.status == 126
    assert result.err == b"extproxy: cat cannot be run: Too many open files\n"


def test_too_few_threads_are_told_in_a_sentence_and_the_child_is_not_left_behind(lab):
    size = 1 << 47  # of a thread's stack: more than there are addresses

    def prepare():
        resource.setrlimit(resource.RLIMIT_STACK, (size, resource.RLIM_INFINITY))

    result = lab.wrap(["sleep", "60"], preexec_fn=prepare).finish()
    assert result.status == 126
    assert result.err.startswith(b"extproxy: sleep cannot be run behind extproxy: the system allows no more threads")
    assert result.err.count(b"\n") == 1
    until(lambda: not lab.processes(), "waiting for everything to end")


def said_by_child(lab):
    return [line["frame"] for line in lab.lines() if "frame" in line and line["from"] == "child"]


# ---- scripts, environment, folder, limits


@pytest.mark.parametrize("how", ["by its name", "by its path", "with SIGCHLD ignored", "with EXTPROXY=off"])
def test_a_script_without_a_first_line_is_run_by_the_shell_as_hosts_do(lab, how):
    script = lab.folder / "launch"
    script.write_text('printf "<%s>" "$@"; exit 4\n')
    script.chmod(0o755)
    result = lab.wrap(
        ["launch" if how == "by its name" else str(script), "a b", ""],
        env={"PATH": f"{lab.folder}:/usr/bin:/bin", "EXTPROXY": "off" if how == "with EXTPROXY=off" else None},
        preexec_fn=ignoring("SIGCHLD") if how == "with SIGCHLD ignored" else None,
    ).finish()
    assert (result.out, result.status) == (b"<a b><>", 4)


@pytest.mark.parametrize("content", [b"\x7fELF\0\0", b""])
def test_what_is_no_script_is_not_given_to_the_shell(lab, content):
    file = lab.folder / "program"
    file.write_bytes(content)
    file.chmod(0o755)
    result = lab.wrap([str(file)]).finish()
    assert result.status == 126
    assert b"it is no program" in result.err


@pytest.mark.parametrize(
    "change",
    [
        {"LANG": None},
        {"LANG": "C"},
        {"LANG": None, "LC_CTYPE": "POSIX"},
        {"EMPTY": "", "LINES": "a\nb", "BYTES": os.fsdecode(b"\xff\xfe"), "_": "x"},
        {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "latin-1"},
    ],
    ids=str,
)
def test_the_environment_is_the_hosts_byte_for_byte(lab, change):
    command = ["cat", "/proc/self/environ"]
    alone = lab.run(command, env=change)
    behind = lab.wrap(command, env=change).finish()
    assert behind.out == alone.out
    assert b"LC_CTYPE=C.UTF-8" not in behind.out


def test_folder_mask_priority_and_limits_are_the_hosts(lab):
    folder = lab.folder / "a b \udcff"
    folder.mkdir()
    command = ["sh", "-c", "pwd; umask; nice; ulimit -a"]

    def prepare():
        os.umask(0o027)
        os.nice(3)

    alone = lab.run(command, cwd=folder, preexec_fn=prepare)
    behind = lab.wrap(command, cwd=folder, preexec_fn=prepare).finish()
    assert behind.out == alone.out
    assert behind.status == 0
    assert lab.lines()[0]["cwd"].endswith("a b \ufffd")


def test_arguments_reach_the_child_as_given(lab):
    words = ["", " ", "--", "-o", "a\nb", "\udcff", "*", "ü", "--help"]
    command = ["sh", "-c", 'printf "%s\\0" "$0" "$@"', *words]
    behind = lab.wrap(command).finish()
    assert behind.out == b"".join(os.fsencode(word) + b"\0" for word in words)
    assert behind.status == 0
    assert len(lab.lines()[0]["command"]) == len(command)
