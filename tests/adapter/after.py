"""Becomes `extproxy COMMAND…` once a recording is all written: after.py RECORDING COMMAND…

On a busy machine `wrap` may have ended before its recording: it waits for that for a second only.
"""

import os
import sys
import time

from extproxy import store
from extproxy.errors import RecordingError

PATIENCE = 10.0


def is_written(recording: str) -> bool:
    """Whether nobody writes a recording any more; one that is empty has not been begun."""
    try:
        return os.path.getsize(recording) > 0 and not store.stored(recording).running
    except (OSError, RecordingError):
        return True


def wait_for(recording: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_written(recording) and time.monotonic() < end:
        time.sleep(0.01)


if __name__ == "__main__":
    recording, *command = sys.argv[1:]
    wait_for(recording)
    os.execv(sys.executable, [sys.executable, "-m", "extproxy", *command])
