"""Terms and options on one command line."""

from __future__ import annotations

import pytest

from extproxy.cli.show import show
from extproxy.cli.terms import split_terms


@pytest.mark.parametrize(
    ("line", "options", "terms"),
    [
        ("", "", ""),
        ("@ type:x -f", "-f", "@ type:x"),
        ("-type:event", "", "-type:event"),
        ("-is:error -v weather", "-v", "-is:error weather"),
        ("--last 3 x", "--last 3", "x"),
        ("--last=3 x", "--last=3", "x"),
        ("-C 3 x", "-C 3", "x"),
        ("-C3 x", "-C3", "x"),
        ("-vfC 3 x", "-vfC 3", "x"),
        ("-vvf x", "-vvf", "x"),
        ("--from child x", "--from child", "x"),
        ("-weather", "", "-weather"),
        ("-from:host", "", "-from:host"),
        ("-args.city=Berlin x", "", "-args.city=Berlin x"),
        ("--get a.b -O pics --pair args.city=Berlin", "--get a.b -O pics --pair", "args.city=Berlin"),
        ("-Opics/ x", "-Opics/", "x"),
        ("-q", "-q", ""),
        ("--unknown x", "--unknown", "x"),
        ("-f -- -v --last", "-f", "-v --last"),
        ("-", "", "-"),
        ("-h", "-h", ""),
        ("--color always --protocol zot-ext @~1", "--color always --protocol zot-ext", "@~1"),
        ("--last", "--last", ""),
    ],
)
def test_options_keep_their_values_and_the_rest_are_terms(line, options, terms):
    assert split_terms(line.split(), show) == (options.split(), terms.split())
