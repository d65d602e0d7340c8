"""Becomes `extproxy show RECORDING --raw --from SIDE`: raw.py RECORDING DIRECTION, where that is h2e or e2h."""

import os
import sys

from after import wait_for

SIDES = {"h2e": "host", "e2h": "child"}
recording, direction = sys.argv[1:]
show = [sys.executable, "-m", "extproxy", "show", recording, "--raw", "--from", SIDES[direction]]
wait_for(recording)
os.execv(sys.executable, show)
