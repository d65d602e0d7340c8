"""Says numbered frames without end while it keeps what it hears in the file SINK; ends with its stdin.

usage: flood.py SINK SIZE
"""

import os
import sys
import threading

sink, size = sys.argv[1], int(sys.argv[2])


def keep():
    fd = os.open(sink, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    while data := os.read(0, 1 << 16):
        os.write(fd, data)
    os._exit(0)


threading.Thread(target=keep, daemon=True).start()
n = 0
while True:
    frame = b'{"child":%d,"pad":"%s"}\n' % (n, b"." * size)
    n += 1
    try:
        while frame:
            frame = frame[os.write(1, frame) :]
    except OSError:
        threading.Event().wait()  # nobody reads: what is left is to hear the end of stdin
