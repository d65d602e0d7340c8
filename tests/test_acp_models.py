"""What extproxy says of frames of ACP, beside what the Python SDK's models and the published schemas say of them.

Real frames, frames of every message of both versions, and changed ones; what the
others say of each is recorded, and asked anew by `peers/test_acp_sdk.py`. Where
they differ, `data/acp/differences.toml` says why.
"""

from __future__ import annotations

from collections import Counter

import pytest
from acp_frames import cases, differences, recorded
from acp_ours import findings, verdict

CASES = cases()
OURS = {case.name: verdict(case) for case in CASES}
SAID = {reader: recorded(reader) for reader in ("sdk", "schema")}


def differing(reader: str):
    said = SAID[reader]
    found = [(case, OURS[case.name], said[case.name]) for case in CASES if case.name in said]
    return [(case, ours, theirs) for case, ours, theirs in found if ours != theirs and not mended(reader, case, theirs)]


def mended(reader: str, case, theirs: str) -> bool:
    """Whether the SDK takes what the schema of the protocol refuses, as we do: it is lenient by design."""
    return reader == "sdk" and (OURS[case.name], theirs, SAID["schema"][case.name]) == (
        "refused",
        "accepted",
        "refused",
    )


def test_each_was_asked_of_every_case():
    assert set(SAID["schema"]) == {case.name for case in CASES}
    assert set(SAID["sdk"]) == {case.name for case in CASES if case.version == "1"}
    assert len(SAID["schema"]) == len(CASES) > 3_000


@pytest.mark.parametrize("reader", ["sdk", "schema"])
def test_both_kinds_of_verdicts_are_many(reader):
    counts = Counter(SAID[reader].values())
    assert min(counts["accepted"], counts["refused"]) > 500


@pytest.mark.parametrize("reader", ["sdk", "schema"])
def test_where_one_differs_the_reason_is_known(reader):
    known = differences(reader)
    untold = [
        (case.name, case.method, ours, theirs)
        for case, ours, theirs in differing(reader)
        if sum(each.explains(case, ours, theirs) for each in known) != 1
    ]
    assert untold == []


@pytest.mark.parametrize("reader", ["sdk", "schema"])
def test_no_reason_stands_there_for_nothing(reader):
    found = differing(reader)
    assert [each for each in differences(reader) if not any(each.explains(*one) for one in found)] == []


def test_what_differs_from_the_schemas_is_a_small_part():
    assert len(differing("schema")) < len(CASES) / 30


def test_every_message_of_both_versions_is_accepted_with_all_its_members():
    originals = [case for case in CASES if case.name.startswith("frames:") and " " not in case.name]
    assert Counter(case.version for case in originals) == {"1": 63, "2": 54}
    told = {case.name: found for case in originals if (found := {each.code for each in findings(case)})}
    # In a session of one frame some are too early, and the client has declared nothing.
    assert {code for found in told.values() for code in found} <= {"too-early", "undeclared"}
