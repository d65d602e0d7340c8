"""Where `extproxy` and `python -m extproxy` begin.

`wrap` goes its own short way: it starts the child before anything heavy is
imported. Every other command is click's.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` alone would cost more than all that `wrap` needs before its child runs
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
    if sys.argv[1:2] == ["wrap"]:
        from extproxy.proxy.forwarder import main as wrap

        wrap(sys.argv[2:], _click)
    _click()


def _click() -> NoReturn:
    from extproxy.cli.main import main as run

    run()
    raise SystemExit(0)


if __name__ == "__main__":
    main()
