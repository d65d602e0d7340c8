"""The options of `wrap`: read by hand, and the same as click's help tells."""

import click
import pytest

from extproxy.cli.wrap import wrap
from extproxy.errors import UsageError
from extproxy.proxy.options import OPTIONS, read_options


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("-- ./ext --view off", "./ext --view off"),
        ("./ext -o x", "./ext -o x"),
        ("-- -strange", "-strange"),
        ("-o f -- -- x", "-- x"),
        ("--view=off ./ext", "./ext"),
        ("- x", "- x"),
    ],
)
def test_the_command_begins_where_our_options_end(line: str, command: str) -> None:
    assert read_options(line.split()).command == command.split()


@pytest.mark.parametrize("line", ["-o f.ndjson x", "-of.ndjson x", "--output f.ndjson x", "--output=f.ndjson -- x"])
def test_a_value_may_be_written_in_every_usual_way(line: str) -> None:
    assert read_options(line.split()).output == "f.ndjson"


def test_switches_and_values_are_read() -> None:
    settings = read_options(["-v", "--protocol", "zot-ext", "--view", "off", "x"])
    assert (settings.verbose, settings.protocol, settings.view) == (1, "zot-ext", "off")
    assert read_options(["-h"]).help


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--color x", "no option --color"),
        ("-o", "needs a value"),
        ("", "needs a command"),
        ("-v --", "needs a command"),
        ("--verbose=3 x", "takes no value"),
        ("-x y", "no option -x"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_refused_in_one_sentence(line: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_options(line.split())


def test_the_help_of_click_and_the_table_are_the_same() -> None:
    with wrap.make_context("wrap", [], resilient_parsing=True) as context:
        shown = [parameter for parameter in wrap.get_params(context) if isinstance(parameter, click.Option)]
    assert [tuple(option.opts) for option in shown] == [option.names for option in OPTIONS]
    for option, table in zip(shown, OPTIONS, strict=True):
        assert option.help == table.help
        assert option.is_flag == (table.metavar is None)
        assert table.metavar is None or option.metavar == table.metavar
