"""`extproxy wrap`, as far as click is concerned: its help.

The command itself runs in `extproxy.proxy.forwarder`, which starts the child
before click could even be imported. Both are made from the same table.
"""

from __future__ import annotations

import click

from extproxy.proxy.options import OPTIONS, Option

_HELP = """Run COMMAND behind the proxy; record and show what is said.

Put `extproxy wrap --` before the command of an extension wherever a host
starts it. The host and the extension notice nothing: bytes, end of input,
signals, environment and exit status pass through unchanged.

Without -o the recording goes to the state folder ($EXTPROXY_DIR, else
$XDG_STATE_HOME/extproxy, else ~/.local/state/extproxy); extproxy ls lists
what is there. A recording holds what was said, but for secrets: keys, tokens
and passwords are replaced by <secret 1> and so on, in the recording and the
view, never on the wire. docs/secrets.md says what counts as one.

EXTPROXY=off in the environment (or 0, no, false) takes the proxy out: the
command runs in its place, nothing is recorded.

\b
Exit status: the command's own; 128+n when signal n ended it; 127 when it is
not found, 126 when it cannot be run, 2 when extproxy itself refuses to start.

\b
Examples:
  extproxy wrap -- ./my-extension
  extproxy wrap -o session.ndjson -- npx -y @scope/server
  extproxy wrap --view /tmp/view.txt -- python server.py"""


def _parameter(option: Option) -> click.Option:
    if option.metavar is None:
        return click.Option(option.names, is_flag=True, help=option.help)
    return click.Option(option.names, metavar=option.metavar, multiple=option.many, help=option.help)


wrap = click.Command(
    "wrap",
    params=[
        *(_parameter(option) for option in OPTIONS if option.key != "help"),
        click.Argument(["command"], nargs=-1, required=True, metavar="[--] COMMAND..."),
    ],
    help=_HELP,
    context_settings={"help_option_names": list(OPTIONS[-1].names)},
)
