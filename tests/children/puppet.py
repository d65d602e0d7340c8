"""A child that does what a test tells it to, over the socket that is its argument.

An order is a JSON object a line, `{"do": NAME, …}`; each is answered by
`{"answer": …}`. A caught signal is told at once by `{"signal": NAME}`.
"""

import base64
import json
import os
import resource
import signal
import socket
import subprocess
import sys

line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.set_inheritable(False)


def say(thing):
    line.sendall(json.dumps(thing).encode() + b"\n")


def heard(number, _frame):
    say({"signal": signal.Signals(number).name})


def write(fd, data):
    left = memoryview(base64.b64decode(data))
    while left:
        left = left[os.write(fd, left) :]


def read(size):
    data = bytearray()
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return base64.b64encode(data).decode()


def close(fd):
    os.close(fd)


def catch(names):
    for name in names:
        signal.signal(signal.Signals[name], heard)


def ignore(names):
    for name in names:
        signal.signal(signal.Signals[name], signal.SIG_IGN)


def run(command, wait):
    process = subprocess.Popen(command)
    if wait:
        process.wait()
    return process.pid


def about():
    return {"pid": os.getpid(), "ppid": os.getppid(), "pgid": os.getpgid(0), "sid": os.getsid(0)}


def leave(status):
    os._exit(status)


def die(name):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = signal.Signals[name]
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


orders = {f.__name__: f for f in (write, read, close, catch, ignore, run, about, leave, die)}
for order in line.makefile("rb"):
    arguments = json.loads(order)
    say({"answer": orders[arguments.pop("do")](**arguments)})
