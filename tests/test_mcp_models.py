"""What extproxy says of frames of MCP, beside what the models of the Python SDK say of them.

Real frames and changed ones; what the SDK says of each is recorded, and asked anew by
`peers/test_mcp_sdk.py`. Where the two differ, `data/mcp/differences.toml` says why.
"""

from __future__ import annotations

from collections import Counter

import pytest
from mcp_frames import Case, cases, differences, recorded
from mcp_ours import verdict

CASES = cases()


@pytest.fixture(scope="module")
def differing() -> list[tuple[Case, str, str]]:
    said = recorded()
    pairs = [(case, verdict(case), said[case.name]) for case in CASES]
    return [(case, ours, sdk) for case, ours, sdk in pairs if ours != sdk]


def test_the_sdk_was_asked_of_each_case_and_of_no_other():
    assert {case.name for case in CASES} == set(recorded())
    assert len({case.name for case in CASES}) == len(CASES) > 2_000
    assert {case.version for case in CASES} == {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}


def test_both_kinds_of_verdicts_are_many():
    counts = Counter(recorded().values())
    assert min(counts["accepted"], counts["refused"]) > 500


def test_real_frames_are_accepted_by_both():
    said = recorded()
    originals = [case for case in CASES if " " not in case.name and "tasks/" not in case.method]
    assert len(originals) > 200
    assert {verdict(case) for case in originals} == {said[case.name] for case in originals} == {"accepted"}


def test_where_the_two_differ_the_reason_is_known(differing):
    known = differences()
    untold = [
        (case.name, case.method, ours, sdk)
        for case, ours, sdk in differing
        if sum(each.explains(case, ours, sdk) for each in known) != 1
    ]
    assert untold == []


def test_no_reason_stands_there_for_nothing(differing):
    idle = [each for each in differences() if not any(each.explains(*one) for one in differing)]
    assert idle == []


def test_what_differs_is_a_small_part(differing):
    assert len(differing) < len(CASES) / 7
