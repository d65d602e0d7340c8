"""The part of Mermaid's language that our diagrams use, to check them without Mermaid."""

from __future__ import annotations

import re

TEXT = r"(?:[^#;<>%$&\x00-\x1f]|#\d+;|<br/>)+"
LINES = re.compile(
    "|".join(
        [
            rf"    participant (?:host|child)(?: as {TEXT})?",
            rf"    (?:host(?:->>|-->>|-\)|--x)child|child(?:->>|-->>|-\)|--x)host): {TEXT}",
            rf"    Note (?:over host,child|right of (?:host|child)): {TEXT}",
        ]
    )
)
MOST = 50_000
"""Characters that Mermaid takes by default."""


def problems(diagram: str) -> list[str]:
    """The lines that Mermaid would not read as we mean them."""
    first, *lines = diagram.removesuffix("\n").split("\n")
    found = [line for line in lines if not LINES.fullmatch(line)]
    found += [line for line in lines if re.search(r": \s*(?:no)?wrap:", line, re.IGNORECASE)]
    found += [line for line in lines if re.search(r"(?:style|classDef).*:\S*#", line)]
    if first != "sequenceDiagram":
        found.append(first)
    if len(diagram) > MOST:
        found.append(f"{len(diagram)} characters")
    return found


def plain(text: str) -> str:
    """What a text reads like once it is drawn."""
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)
