"""A server as launchers start it: says who it is, echoes, tells of SIGHUP and SIGTERM, ends with 7 after its input.

usage: server.py [WORD...]

`stays`: it goes on after the end of its input; `ticks`, `logs`: it says something ten times a second, on stdout or
stderr; `wordy`: it says much at first, and at SIGTERM.
"""

import os
import signal
import sys

words = sys.argv[1:]


def heard(number, _frame):
    os.write(1, b'{"heard":%d}\n' % number)
    if number == signal.SIGTERM:
        if "wordy" in words:
            os.write(1, b"." * 30_000 + b"\n")
        os._exit(9)


def talk(_number, _frame):
    os.write(1 if "ticks" in words else 2, b"[]\n")


signal.signal(signal.SIGHUP, heard)
signal.signal(signal.SIGTERM, heard)
os.write(1, b'{"pid":%d}\n' % os.getpid())
if "wordy" in words:
    os.write(1, b"." * 60_000 + b"\n")
if "ticks" in words or "logs" in words:
    signal.signal(signal.SIGALRM, talk)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
while line := sys.stdin.buffer.readline():
    os.write(1, line)
while "stays" in words:
    signal.pause()
sys.exit(7)
