"""docs/settings.md names each setting and its default, and its example can be read."""

from __future__ import annotations

import re

from support import ROOT

from extproxy import config

PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_the_table_has_every_setting():
    table = PAGE.partition("| setting |")[2].partition("\n\n")[0]
    named = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"\w+", row)]
    assert sorted(named) == sorted(config.Config.__struct_fields__)


def test_the_defaults_are_those_of_the_code():
    assert f"{config.Config().max_sessions}, and " in PAGE
    assert f"{config.Config().max_bytes:,} (1 GiB)" in PAGE


def test_the_example_can_be_read_in_either_file(tmp_path):
    [example] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "extproxy.toml").write_text(example)
    read = config.load(str(tmp_path))
    assert (read.protocol, read.max_sessions, read.verify.command) == ("kettle", 500, ("node", "dist/server.js"))
    assert len(read.recording) == 1
    (tmp_path / "extproxy.toml").unlink()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.extproxy]\n" + re.sub(r"^(\[+)(\w)", r"\1tool.extproxy.\2", example, flags=re.MULTILINE)
    )
    assert config.load(str(tmp_path)) == read
