"""What is made up anew every time, by its looks; and what only looks like it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.compare.shapes import SUSPECT, declared, in_text, under

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        (UUID, "uuid", UUID),
        (f"session {UUID.upper()}.", "uuid", UUID.upper()),
        ("at 2026-11-29T21:30:00.123456Z today", "time", "2026-11-29T21:30:00.123456Z"),
        ("2026-11-29 21:30:00,123 INFO", "time", "2026-11-29 21:30:00,123"),
        ("2026/11/29 21:30:00 started", "time", "2026/11/29 21:30:00"),
        ("2026-11-29T21:30+01:00", "time", "2026-11-29T21:30+01:00"),
        ("20261129T213000Z", "time", "20261129T213000Z"),
        ("Sun, 29 Nov 2026 21:30:00 GMT", "time", "Sun, 29 Nov 2026 21:30:00 GMT"),
        ("wrote /tmp/tmpab12cd34.", "path", "/tmp/tmpab12cd34"),
        ("wrote /tmp/tmpab12cd34/report.json", "path", "/tmp/tmpab12cd34"),
        ("file:///private/var/folders/x1/T/a/out.txt", "path", "/private/var/folders/x1/T/a"),
        ("/tmp/build/7f3a9c01/12345678", "path", "/tmp/build/7f3a9c01/12345678"),
        (r"C:\Users\me\AppData\Local\Temp\x1y2\a.txt", "path", r"C:\Users\me\AppData\Local\Temp\x1y2"),
        ("in /home/me/project/a.py", "home", "/home/me"),
        ("/root/x", "home", "/root"),
        ("http://localhost:35411/x", "port", "35411"),
        ("127.0.0.1:8080", "port", "8080"),
        ("[::1]:8080", "port", "8080"),
        ("Listening on port 43211", "port", "43211"),
        ("started, pid 4711", "pid", "4711"),
        ("<object at 0x7f12ab34cd56>", "address", "0x7f12ab34cd56"),
    ],
)
def test_what_is_made_up_is_found_in_texts(text, kind, found):
    assert [(text[start:end], each) for start, end, each in in_text(text)] == [(found, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "2025-11-25",  # a protocol's version
        "21:30",
        "1.2.3-20261129",
        "00000000-0000-0000-0000-000000000000",
        f"x{UUID}",
        "https://example.com/tmp/x",
        "/srv/tmp/x",
        "/tmp",
        "/etc/home/me",
        "/rooted",
        "https://example.com:8443/",
        "Listening on port 8080",
        "#ff00ff 0xdeadbeef",
        "a3f5c7e9d1b2a3f5c7e9d1b2a3f5c7e9d1b2a3f5",
        "rapid 4711",
    ],
)
def test_what_only_looks_made_up_is_not_found(text):
    assert list(in_text(text)) == []


def test_an_image_in_base64_has_no_paths_in_it():
    assert list(in_text("QUJD/tmp/" + "QUJD" * 500)) == []
    assert len(list(in_text("/tmp/" + "QUJD" * 400))) == 1


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("createdAt", 1_795_989_003, "time"),
        ("emittedAtMs", 1_795_989_003_361, "time"),
        ("timestamp", 1_795_989_003_361_000_000, "time"),
        ("ts", 1_795_989_003.25, "time"),
        ("updated_at", "1795989003361", "time"),
        ("pid", 4711, "pid"),
        ("processId", 4711, "pid"),
        ("parent_pid", "4711", "pid"),
        ("port", 35411, "port"),
        ("tool_id", "toolu_01A2b3C4d5E6f7G8h9", "id"),
        ("messageId", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "id"),
    ],
)
def test_a_name_can_say_that_a_value_is_made_up(name, value, kind):
    assert under(name, value) == kind


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 1_795_989_003_361),
        ("count", 1_795_989_003),
        ("expires", 3600),
        ("time", 12),
        ("time", "12:00"),
        ("timeout", 1_795_989_003),
        ("format", 35411),
        ("port", 5432),
        ("pid", 0),
        ("pid", True),
        ("rapid", 4711),
        ("id", "weather"),
        ("id", "sess-1"),
        ("commit_id", "a3f5c7e9d1b2a3f5c7e9d1b2a3f5c7e9d1b2a3f5"),
        ("text", "toolu_01A2b3C4d5E6f7G8h9"),
    ],
)
def test_other_names_and_values_are_no_matter(name, value):
    assert under(name, value) == ""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("session_id", "id"), ("startedAt", "time"), ("agent_pid", "pid"), ("cwd", "path"), ("data_dir", "path"),
        ("nextCursor", "cursor"), ("zot_version", "zot_version"), ("a b\n", "a_b"), ("", "value"), ("日", "value"),
    ],
)  # fmt: skip
def test_what_a_rule_calls_volatile_is_named_by_its_member(name, kind):
    assert declared(name) == kind


PARTS = st.sampled_from(
    [UUID, "2026-11-29T21:30:00Z", "/tmp/a/b.txt", "/home/me", "127.0.0.1:35411", "pid 4711", " ", "x"]
)


@given(st.lists(PARTS | st.text(max_size=8), max_size=8).map("".join))
def test_whatever_is_found_the_quick_look_at_the_frame_sees_too(text):
    found = list(in_text(text))
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert [start for start, _, _ in found] == sorted(start for start, _, _ in found)
    if found:
        assert SUSPECT.search(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))
