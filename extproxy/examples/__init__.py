"""Programs to try things with: two extensions that do the same, and a host that drives them.

`weather.py` and `weather.mjs` speak zot's extension protocol, and say the same
bytes. `host.py` plays zot: `python -m extproxy.examples.host -- COMMAND…`.
Everything in them is made up and the same on every run.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
WEATHER_PYTHON = HERE / "weather.py"
"""The extension in Python: run it with any Python 3.11 or newer."""
WEATHER_NODE = HERE / "weather.mjs"
"""The same in JavaScript: run it with Node 18 or newer."""
