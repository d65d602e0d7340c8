"""What a check has found."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """How bad it is."""

    FINE = "fine"
    WARNING = "warning"
    """It may keep the command from starting, under some hosts."""
    PROBLEM = "problem"
    """It keeps the command from starting, or from being understood."""


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    check: str
    """What was looked at, one word."""
    level: Level
    text: str
    """What was found, for people."""
    todo: str = ""
    """What to do about it."""


def fine(check: str, text: str) -> Check:
    return Check(check, Level.FINE, text)


def warning(check: str, text: str, todo: str) -> Check:
    return Check(check, Level.WARNING, text, todo)


def problem(check: str, text: str, todo: str) -> Check:
    return Check(check, Level.PROBLEM, text, todo)
