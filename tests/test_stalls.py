"""What is stuck is told at a few ages, and only while it does not move."""

from extproxy.events import Side, Stall
from extproxy.proxy.stalls import Stalls, Stuck

SECOND = 1_000_000_000


def look(stalls: Stalls, seconds: float, size: int, mark: int, since: float = 0.0) -> list[Stall]:
    at = int(seconds * SECOND)
    return list(stalls.look(at, [Stuck(Side.CHILD, "pending", size, mark, int(since * SECOND))]))


def test_a_line_that_does_not_end_is_told_at_growing_ages() -> None:
    stalls = Stalls()
    told = [at for at in range(100) if look(stalls, at, 7, mark=1, since=1)]
    assert told == [3, 11, 61]


def test_what_moved_since_the_last_look_begins_anew() -> None:
    stalls = Stalls()
    assert not look(stalls, 0, 7, mark=1)
    assert not look(stalls, 1.9, 7, mark=2, since=1.9)
    assert not look(stalls, 3, 7, mark=2, since=3)
    assert look(stalls, 3.9, 9, mark=2, since=3.9) == [
        Stall(Side.CHILD, int(3.9 * SECOND), "pending", 9, int(1.9 * SECOND))
    ]


def test_what_is_no_longer_stuck_is_forgotten() -> None:
    stalls = Stalls()
    look(stalls, 0, 7, mark=1)
    assert not look(stalls, 5, 0, mark=1, since=5)
    assert not look(stalls, 6, 7, mark=1, since=6)
    assert look(stalls, 8, 7, mark=1, since=8)
