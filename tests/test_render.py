"""How a session looks."""

from __future__ import annotations

import json
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import MS, event, finding, frame, message, other, reply, request, stderr, text
from rich.cells import cell_len
from support import RECORDINGS

from extproxy import store
from extproxy.events import Closed, Detected, Eof, Exit, Frame, Header, Lost, Note, Side, Signal, Unread
from extproxy.findings import Severity
from extproxy.protocols import Protocol, built_in
from extproxy.render import View
from extproxy.render.body import body
from extproxy.render.line import id_text
from extproxy.render.look import Look, duration
from extproxy.session import Entry, Session, Summary

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def drawn(*entries: Entry, width: int = 0, colour: bool = False, unicode: bool = True, verbosity: int = 0) -> str:
    out: list[str] = []
    view = View(out.append, lambda: width, colour=colour, unicode=unicode, verbosity=verbosity)
    for entry in entries:
        view.entry(entry)
    view.flush()
    return "".join(out)


def recorded(name: str, width: int, verbosity: int = 0, colour: bool = False, unicode: bool = True) -> str:
    out: list[str] = []
    session = Session(built_in())
    view = View(
        out.append,
        lambda: width,
        colour=colour,
        unicode=unicode,
        verbosity=verbosity,
        protocol=lambda: session.protocol,
    )
    at = 0
    for what in store.events(str(RECORDINGS / f"{name}.extproxy.ndjson")):
        at = getattr(what, "at", 0)
        view.entry(session.feed(what))
    view.findings(session.finish(at))
    view.close(session.summary(at), f"recordings/{name}.ndjson")
    return "".join(out)


@pytest.mark.parametrize(
    ("name", "width"), [("zot-tricky", 80), ("zot-tricky", 120), ("zot-tricky", 200), ("zot-guard", 120)]
)
def test_a_session_reads_well_on_a_screen(name, width, snapshot):
    shown = recorded(name, width)
    assert max(map(cell_len, shown.splitlines()[:-9])) <= width
    assert shown == snapshot


def test_a_session_reads_well_with_bodies(snapshot):
    assert recorded("zot-weather", 100, verbosity=1) == snapshot


def test_a_session_reads_well_in_a_pipe(snapshot):
    assert recorded("mcp-crash-at-start", 0) == snapshot


def test_colour_adds_nothing_but_colour():
    plain = recorded("zot-tricky", 120)
    coloured = recorded("zot-tricky", 120, colour=True)
    assert "\x1b[" in coloured
    assert [line.rstrip() for line in ANSI.sub("", coloured).splitlines()] == plain.splitlines()


def test_without_unicode_everything_is_ascii(snapshot):
    shown = recorded("zot-weather", 100, unicode=False)
    assert shown.isascii()
    assert shown == snapshot


# ---- lines


def test_each_side_has_its_lane_and_each_kind_its_sign():
    ask = request(1, Side.HOST, 0, {"type": "tool_call", "id": "a"}, summary="weather")
    lines = drawn(
        ask,
        reply(ask, 2, 12 * MS, {"type": "tool_result", "id": "a"}, summary="sunny"),
        event(3, Side.CHILD, 13 * MS, {"type": "notify"}, summary="hello"),
        stderr(4, 14 * MS, "warning"),
    ).splitlines()
    assert lines == [
        "   1    0.000  host →        ? tool_call                 a  weather",
        "   2    0.012       ← child  ✓ tool_result               a  12 ms  sunny",
        "   3    0.013       ← child  · notify                    hello",
        "   4    0.014        stderr  warning",
    ]


def test_a_failed_reply_is_marked_with_and_without_colour():
    ask = request(1, Side.HOST, 0, {"type": "tool_call", "id": 1})
    failed = reply(ask, 2, MS, {"type": "tool_result", "id": 1}, error=True, summary="no such city")
    assert "✗ tool_result" in drawn(failed)
    assert "\x1b[1;31mtool_result" in drawn(failed, colour=True)


def test_findings_stand_below_their_line_and_say_which_other_line_they_are_about():
    entry = event(
        7,
        Side.CHILD,
        0,
        {"type": "x"},
        (
            finding(7, "The field is missing.", Severity.HINT, "missing-field", "/schema"),
            finding(3, "No answer came.", Severity.ERROR, "no-reply"),
        ),
    )
    lines = drawn(entry).splitlines()
    assert lines[1].strip() == "└ hint: The field is missing.  at /schema  [missing-field]"
    assert lines[2].strip() == "└ error: No answer came.  (about #3)  [no-reply]"


def test_a_finding_is_never_cut_on_a_narrow_screen():
    long = "The answer comes 5.6 s after request 41; after 5 s the host lets it pass and ignores a later answer."
    shown = drawn(event(7, Side.CHILD, 0, {"type": "x"}, (finding(7, long),)), width=80)
    assert max(map(len, shown.splitlines())) <= 80
    assert long in " ".join(shown.split())


def test_a_batch_is_a_line_a_message():
    content = [{"type": "a", "id": 1}, {"type": "b", "id": 2}]
    batch = Entry(
        5,
        frame(Side.HOST, 0, json.dumps(content)),
        tuple(message(5, Side.HOST, 0, value, "request", index=i) for i, value in enumerate(content)),
    )
    lines = drawn(batch).splitlines()
    assert [line.split()[-2:] for line in lines] == [["a", "1"], ["b", "2"]]
    assert lines[1].startswith(" " * 15 + "host →")


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (Eof(Side.HOST, 0), "host →        ─ end of stream"),
        (Eof(Side.CHILD, 0, True), "stderr  ─ end of stream"),
        (Signal(0, "SIGTERM"), "signal SIGTERM passed on to child"),
        (Exit(0, 0), "child exited with status 0"),
        (Exit(0, "SIGSEGV"), "child was killed by SIGSEGV"),
        (Exit(0, None), "child ended; its exit status is not known"),
        (Detected(0, "zot-ext", "1"), "protocol zot-ext 1"),
        (Note(0, "now I press the button"), "note: now I press the button"),
        (Lost(0, 10, 2000, 0, "no room"), "gap: 10 B of host and 2.0 kB of child passed here and was not recorded"),
        (Unread(0, 7, "the last line is incomplete", "torn"), "line 7 of the recording: the last line is incomplete"),
        (Closed(0, "killed", 1, 2), "the proxy was killed"),
        (Closed(0, "end", 1, 2, 5, None), "5 B of host never reached child"),
    ],
)  # fmt: skip
def test_everything_else_is_a_quiet_line(what, says):
    assert says in drawn(other(9, what))


def test_a_plain_end_is_left_to_the_closing_block():
    assert drawn(other(9, Closed(0, "end", 1, 2, 0, 0))) == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        ("7", '"7"'),
        (7.0, "7.0"),
        ("toolu_1", "toolu_1"),
        ("", '""'),
        (None, "null"),
        ("null", '"null"'),
        (True, "true"),
        (18446744073709551616, "18446744073709551616"),
        ("a b", '"a b"'),
        ("1e5", '"1e5"'),
        ("-7", '"-7"'),
        ("[1]", '"[1]"'),
        ("511b9fd3-fee0-4409-be24-46de4c717e6a", "511b9fd3-fee0-4409-be24-46de4c717e6a"),
    ],
)
def test_ids_that_differ_look_different(value, shown):
    assert id_text(value) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0 µs"),
        (80_000, "80 µs"),
        (999_600, "1.0 ms"),
        (4_249_000, "4.2 ms"),
        (87_400_000, "87 ms"),
        (999_600_000, "1.00 s"),
        (5_600_000_000, "5.60 s"),
        (125_000_000_000, "2 min 05 s"),
        (3_720_000_000_000, "1 h 02 min"),
    ],
)
def test_times_are_told_as_people_say_them(nanoseconds, shown):
    assert duration(nanoseconds) == shown


# ---- noise


def test_a_long_id_is_cut_to_its_end_on_a_narrow_screen_and_left_out_beside_a_long_name():
    def asked(name: str, number: object) -> str:
        return drawn(request(1, Side.HOST, 0, {"type": name, "id": number}, summary="weather"), width=80)

    assert '? tool_call         "…835810"  weather' in asked("tool_call", "214336835810")
    assert "? tool_call         …4c717e6a  weather" in asked("tool_call", "511b9fd3-fee0-4409-be24-46de4c717e6a")
    assert "control_request:can_use_tool  weather" in asked("control_request:can_use_tool", "511b9fd3-fee0-4409-be24")
    assert "control_request:can_use_tool  7  weather" in asked("control_request:can_use_tool", 7)


def test_colours_of_stderr_do_not_hide_what_it_says():
    line = stderr(1, 0, b"\x1b[2m12:00\x1b[0m \x1b[31mERROR\x1b[0m no key\x1b]0;title\x07")
    assert drawn(line).endswith("12:00 ERROR no key\\x1b]0;title\\x07\n")
    assert "\\x1b[31mERROR" in drawn(line, verbosity=1)


def test_above_an_opened_body_its_line_is_cut_to_the_screen():
    entry = event(1, Side.CHILD, 0, {"type": "tools", "list": "x" * 500})
    first, *opened = drawn(entry, width=80, verbosity=1).splitlines()
    assert cell_len(first) <= 80
    assert any("x" * 500 in line for line in opened)


def numbered(count: int, make) -> list[Entry]:
    return [make(n, n * MS) for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("make", "first", "last"),
    [
        (lambda n, at: text(n, at, "", "blank line"), [1], []),
        (lambda n, at: text(n, at, f"log {n}"), [1, 2, 3, 4, 5, 6, 7, 8], [28, 29, 30]),
        (lambda n, at: stderr(n, at, f"log {n}"), [1, 2, 3, 4, 5, 6, 7, 8], [27, 28, 29, 30]),
        (lambda n, at: event(n, Side.CHILD, at, {"type": "delta", "n": n}), [1, 2, 3], [30]),
    ],
)
def test_a_run_of_noise_shows_its_begin_and_end_and_how_much_is_hidden(make, first, last):
    lines = drawn(*numbered(30, make)).splitlines()
    hidden = 30 - len(first) - len(last)
    assert lines.pop(len(first)).strip() == f"… {hidden} more lines like this, -v shows them"
    assert [int(line.split()[0]) for line in lines] == first + last


def test_a_short_run_is_shown_whole_and_verbose_shows_all():
    few = numbered(14, lambda n, at: stderr(n, at, "x"))
    assert len(drawn(*few).splitlines()) == 14
    many = numbered(40, lambda n, at: stderr(n, at, "x"))
    assert len(drawn(*many, verbosity=1).splitlines()) == 40


def test_requests_replies_and_findings_are_never_folded():
    asks = [request(n, Side.HOST, 0, {"type": "tool_call", "id": n}) for n in range(1, 30)]
    answers = [reply(ask, 100 + n, MS, {"type": "tool_result", "id": n}) for n, ask in enumerate(asks)]
    odd = [event(n, Side.CHILD, 0, {"type": "delta"}, (finding(n, "odd"),)) for n in range(200, 230)]
    assert len(drawn(*asks, *answers, *odd).splitlines()) == 29 + 29 + 30 * 2


def test_flush_draws_what_was_held_back_so_that_a_live_view_is_never_behind():
    out: list[str] = []
    view = View(out.append, lambda: 0, colour=False, unicode=True)
    for n in range(1, 11):
        view.entry(stderr(n, 0, f"line {n}"))
    assert "line 10" not in "".join(out)
    view.flush()
    assert "line 10" in "".join(out)


def test_what_the_screen_was_too_slow_for_is_counted():
    out: list[str] = []
    view = View(out.append, lambda: 0, colour=False, unicode=True)
    view.skipped(12)
    assert "12 lines left out" in out[0]


# ---- safety and bounds

ALL_ODD = "".join(chr(c) for c in range(0x110000) if c < 0xA0 or unicodedata.category(chr(c)) in ("Cf", "Zl", "Zp"))


@pytest.mark.parametrize("verbosity", [0, 1, 2])
def test_nothing_odd_reaches_the_screen_whatever_holds_it(verbosity):
    for start in range(0, len(ALL_ODD), 40):
        odd = ALL_ODD[start : start + 40]
        value = {"type": odd, "id": odd, odd: odd}
        ask = request(1, Side.HOST, 0, value, summary=odd, findings=(finding(1, odd, code=odd, path=odd),))
        shown = drawn(
            other(0, Header(command=(odd,), cwd=odd, parent=odd, started=odd)),
            ask,
            Entry(2, frame(Side.CHILD, 0, json.dumps(value, ensure_ascii=False)), ask.messages),
            text(3, 0, odd, odd),
            stderr(4, 0, odd),
            other(5, Note(0, odd)),
            other(6, Signal(0, odd)),
            other(7, Exit(0, odd)),
            other(8, Detected(0, odd, odd)),
            other(9, Lost(0, 1, 1, 1, odd)),
            other(10, Unread(0, 1, odd)),
            other(11, Closed(0, odd, 1, 1)),
            verbosity=verbosity,
        )
        assert not set(shown) & set(ALL_ODD) - set(map(chr, range(0x20, 0x7F))) - {"\n"}


def test_names_of_sides_and_the_recording_are_made_safe_too():
    out: list[str] = []
    sides = {Side.HOST: "\x1b[31m", Side.CHILD: "\u202e"}
    odd = Protocol("odd", sides=sides)
    view = View(out.append, lambda: 0, colour=False, unicode=True, protocol=lambda: odd)
    view.entry(event(1, Side.CHILD, 0, {"type": "x"}))
    view.close(Summary("\x1b", "\x9b", 0, {}, 0, 0, 0, [], [], {"\x07": 1}), "/tmp/\x1b]0;x\x07")
    assert "".join(out).replace("\n", "").isprintable()


def test_markup_is_text():
    for markup in ("[/]", "[bold]x", "[link=http://x]y[/link]", "\\[", ":smile:"):
        assert markup in drawn(text(1, 0, markup), colour=True)
        assert markup in drawn(event(1, Side.HOST, 0, {"type": "x"}, summary=markup), colour=True)


@given(st.binary(max_size=300), st.sampled_from([0, 1, 20, 40, 80]), st.booleans(), st.integers(0, 2))
def test_any_bytes_can_be_drawn_on_one_line(content, width, colour, verbosity):
    shown = drawn(text(1, 0, content), width=width, colour=colour, verbosity=verbosity)
    assert shown.count("\n") == 1
    if width and not verbosity:
        assert cell_len(ANSI.sub("", shown).rstrip("\n")) <= width


@given(st.text(max_size=120), st.integers(1, 120))
def test_a_line_is_never_wider_than_the_screen(summary, width):
    shown = drawn(event(1, Side.HOST, 0, {"type": "x"}, summary=summary), width=width)
    assert cell_len(shown.rstrip("\n")) <= width


def test_a_long_text_stays_on_one_line_in_a_pipe():
    assert "w" * 300 in drawn(event(1, Side.CHILD, 0, {"type": "notify", "x": "w" * 300}))


@pytest.mark.parametrize("verbosity", [0, 1, 2])
def test_a_huge_frame_costs_little_and_says_how_large_it_is(verbosity):
    content = b'{"type":"image","data":"' + b"QUJD" * 262_144 + b'","after":1}'
    huge = Entry(1, Frame(Side.CHILD, 0, content), (message(1, Side.CHILD, 0, {"type": "image", "data": ""}),))
    started = time.process_time()
    shown = drawn(huge, verbosity=verbosity)
    assert time.process_time() - started < 0.2
    assert "1.0 MB" in shown
    assert len(shown) < (10_000, 10_000, 70_000)[verbosity]
    assert len(drawn(Entry(1, Frame(Side.CHILD, 0, b"x" * 1_048_576), problem="not JSON"))) < 10_000


# ---- bodies


def opened(content: str, verbosity: int = 1, unicode: bool = True) -> list[str]:
    look = Look(False, unicode)
    return [look.line(row).rstrip("\n") for row in body(content.encode(), verbosity, look)]


def test_a_body_keeps_the_spelling_of_the_wire():
    content = r'{"b":18446744073709551616,"a":[1.0,1E+2,-0.0,1e400],"s":"\u00e9\/é\ud83c\udf78","a":null}'
    shown = opened(content)
    assert shown == [
        "{",
        '  "b": 18446744073709551616,',
        '  "a": [1.0, 1E+2, -0.0, 1e400],',
        r'  "s": "\u00e9\/é\ud83c\udf78",',
        '  "a": null',
        "}",
    ]


# Strings that hold JSON are opened; that is another test.
PLAIN = st.text(max_size=20).filter(lambda text: text.strip()[:1] not in ("{", "["))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1, "\t"]))
def test_opening_a_body_only_adds_white_space(value, indent):
    content = json.dumps(value, indent=indent)
    assert json.loads("\n".join(opened(content, 2))) == value


def test_json_in_a_string_is_opened_behind_a_mark_also_within_another():
    deep = json.dumps({"deep": [1, "x" * 80]})
    shown = opened(json.dumps({"text": json.dumps({"rows": [1.0, 2], "note": deep}, indent=4), "b": 2}))
    assert shown == [
        "{",
        '  "text": JSON in a string: {',
        '    "rows": [1.0, 2],',
        '    "note": JSON in a string: {',
        '      "deep": [',
        "        1,",
        f'        "{"x" * 80}"',
        "      ]",
        "    }",
        "  },",
        '  "b": 2',
        "}",
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"a": "{}", "b": "[]"}',
        '{"a": "{broken}", "b": "[see below]"}',
        r'{"a": "{\"b\": \ud800}"}',
        r'{"{\"a\":1}": 2}',
    ],
)
def test_a_string_that_holds_no_json_and_a_key_stay_as_they_are(content):
    assert opened(content) == [content]


def test_json_in_strings_is_opened_only_so_deep_and_so_far():
    value: object = [1]
    for _ in range(12):
        value = [json.dumps(value)]
    shown = "".join(opened(json.dumps(value), 2))
    assert shown.count("JSON in a string: ") == 4
    many = json.dumps({"text": json.dumps([{"number": n, "text": "some text " * 8} for n in range(300)])})
    assert len(opened(many)) <= 61
    odd = opened(json.dumps({"text": json.dumps({"a": "\x1b[31m\u202e"}, ensure_ascii=False)}, ensure_ascii=False))
    assert "".join(odd).isprintable()


def test_a_body_is_bounded_and_tells_what_is_missing():
    many = json.dumps(
        [{"number": n, "text": "some text to fill the line, and more of it to be long"} for n in range(2000)]
    )
    shown = opened(many)
    assert len(shown) <= 61
    assert shown[-1] == f"… {len(many) / 1000:.1f} kB in all, -vv shows more"
    assert len(opened(many, 2)) > 500
    assert opened(json.dumps({"a": "x" * 5000, "b": 1}))[1].endswith("… (5.0 kB),")
    assert '  "b": 1' in opened(json.dumps({"a": "x" * 5000, "b": 1}))
