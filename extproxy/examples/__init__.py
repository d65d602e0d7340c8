"""Programs to try things with: two extensions that do the same, a model provider, and the hosts that drive them.

`weather.py` and `weather.mjs` speak zot's extension protocol, and say the same
bytes. `host.py` plays zot: `python -m extproxy.examples.host -- COMMAND…`.
`provider.py` speaks the pi provider protocol, with a model that has learned its
lines. `session.py` plays pi: `python -m extproxy.examples.session -- COMMAND…`.
Everything in them is made up and the same on every run.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
WEATHER_PYTHON = HERE / "weather.py"
"""The extension in Python: run it with any Python 3.11 or newer."""
WEATHER_NODE = HERE / "weather.mjs"
"""The same in JavaScript: run it with Node 18 or newer."""
PROVIDER = HERE / "provider.py"
"""The provider: run it with any Python 3.11 or newer."""
