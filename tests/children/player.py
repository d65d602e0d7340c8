"""The child of a capture: says its recorded bytes, each once the bytes before it have come.

usage: player.py CAPTURE SINK. What it got from the host is in SINK at the end.
"""

import base64
import json
import os
import resource
import signal
import sys

capture, sink = sys.argv[1:3]
kept = os.open(sink, os.O_WRONLY | os.O_CREAT, 0o600)
streams = {"child": 1, "stderr": 2}
status = 0


def take(size):
    while size and (data := os.read(0, size)):
        os.write(kept, data)
        size -= len(data)


with open(capture, "rb") as file:
    lines = file.readlines()
for line in lines:
    event = json.loads(line)
    if side := event.get("from"):
        data = event["text"].encode() if "text" in event else base64.b64decode(event["base64"])
        if side == "host":
            take(len(data))
        else:
            left = memoryview(data)
            while left:
                left = left[os.write(streams[side], left) :]
    elif (side := event.get("eof")) in streams:
        os.close(streams[side])
    elif "exit" in event:
        status = event["exit"]
take(1 << 30)  # to the end of file, whatever else comes
if status < 0:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), -status)
    signal.pause()
os._exit(status)
