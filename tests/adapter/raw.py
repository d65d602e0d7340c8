"""Becomes `extproxy show RECORDING --raw --from SIDE`: raw.py RECORDING DIRECTION, where that is h2e or e2h."""

import os
import sys

SIDES = {"h2e": "host", "e2h": "child"}
recording, direction = sys.argv[1:]
show = [sys.executable, "-m", "extproxy", "show", recording, "--raw", "--from", SIDES[direction]]
os.execv(sys.executable, show)
