"""Says the bytes of the file OUT, keeps all of stdin in the file SINK, then ends with STATUS.

usage: duplex.py OUT SINK [STATUS]
"""

import os
import sys
import threading

out, sink = sys.argv[1:3]
status = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def keep():
    fd = os.open(sink, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    while data := os.read(0, 1 << 16):
        os.write(fd, data)


keeping = threading.Thread(target=keep)
keeping.start()
with open(out, "rb") as file:
    left = memoryview(file.read())
while left:
    left = left[os.write(1, left) :]
keeping.join()
os._exit(status)
