"""Places in a JSON value, as protocol files write them.

`args.city`, `content[0].text`, `content[].text` (every element),
`params._meta["io.example/key"]` (a name with dots or other signs in it).
The empty path is the whole value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Step: TypeAlias = str | int | None
"""A member's name, an element's index, or None for every element."""
Path: TypeAlias = tuple[Step, ...]

_STEP: Final = re.compile(r'\.?([^\s.\[\]"\']+)|\[(\d+)\]|\[\]|\["((?:[^"\\]|\\.)*)"\]')

MISSING: Final = type("Missing", (), {"__repr__": lambda self: "MISSING", "__slots__": ()})()
"""What `get` gives where nothing is: `null` is something."""


def parse_path(text: str) -> Path:
    """The steps of a written path; ValueError with a sentence when it cannot be read."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or (found.group(1) and (at == 0) == (text[at] == ".")):
            raise ValueError(f"cannot read the path {text!r} from {text[at:]!r} on; write it like a.b[0].c")
        name, index, quoted = found.groups()
        if name is not None:
            steps.append(name)
        elif index is not None:
            steps.append(int(index))
        elif quoted is not None:
            steps.append(re.sub(r"\\(.)", r"\1", quoted))
        else:
            steps.append(None)
        at = found.end()
    return tuple(steps)


def print_path(path: Path) -> str:
    """A path as it is written."""
    made = ""
    for step in path:
        if step is None:
            made += "[]"
        elif isinstance(step, int):
            made += f"[{step}]"
        elif re.fullmatch(r"""[^\s.\[\]"']+""", step):
            made += f".{step}" if made else step
        else:
            made += '["' + re.sub(r'(["\\])', r"\\\1", step) + '"]'
    return made


def get(value: Any, path: Path) -> Any:
    """The value at `path`, or MISSING. Where the path says every element, the first one."""
    for step in path:
        kind = value.__class__
        if kind is dict:
            value = value.get(step, MISSING)
        elif kind is list and not isinstance(step, str):
            index = step or 0
            value = value[index] if index < len(value) else MISSING
        else:
            return MISSING
    return value


def every(value: Any, path: Path, at: str = "") -> Iterator[tuple[str, Any]]:
    """All values at `path`, each with its JSON Pointer."""
    for i, step in enumerate(path):
        if step is None:
            if isinstance(value, list):
                for index, element in enumerate(value):
                    yield from every(element, path[i + 1 :], f"{at}/{index}")
            return
        value = get(value, (step,))
        if value is MISSING:
            return
        at += pointer(step)
    yield at, value


def pointer(*steps: str | int) -> str:
    """The JSON Pointer (RFC 6901) of these members and elements."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
