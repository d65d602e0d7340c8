"""The options of `wrap`, in one table.

`wrap` is on the path of every host that starts an extension, so its few
options are read by hand from this table before anything heavy is imported.
The help of `extproxy wrap --help` is made from the same table.
"""

from __future__ import annotations

from extproxy.errors import UsageError


class Option:
    """One option: its names, what stands for its value (None for a switch), its help, whether it may be repeated."""

    __slots__ = ("help", "many", "metavar", "names")

    def __init__(self, names: tuple[str, ...], metavar: str | None, text: str, *, many: bool = False) -> None:
        self.names = names
        self.metavar = metavar
        self.help = text
        self.many = many

    @property
    def key(self) -> str:
        return self.names[-1].lstrip("-").replace("-", "_")


OPTIONS = (
    Option(("-o", "--output"), "FILE", "Record to FILE. A name that is taken gets -2, -3, and so on."),
    Option(
        ("--protocol",),
        "NAME[@VERSION]",
        "What the frames mean: a protocol's name or its file. Without it, it is found out.",
    ),
    Option(
        ("--view",),
        "WHERE",
        "Where to draw: auto (standard error when it is a terminal), off, stderr, a file or a terminal.",
    ),
    Option(("-v", "--verbose"), None, "Open the bodies of messages in the view."),
    Option(("--no-redact",), None, "Keep secrets in the recording and the view. Without it they are replaced."),
    Option(
        ("--redact",),
        "PATH|/REGEX/",
        "Replace this too: a place (params.account) or what matches. May be repeated.",
        many=True,
    ),
    Option(("-h", "--help"), None, "Show this message and exit."),
)

_BY_NAME = {name: option for option in OPTIONS for name in option.names}


class Settings:
    """What the command line of `wrap` asked for."""

    __slots__ = ("command", "help", "no_redact", "output", "protocol", "redact", "verbose", "view")

    def __init__(self) -> None:
        self.output: str | None = None
        self.protocol: str | None = None
        self.no_redact = False
        self.redact: list[str] = []
        self.view = "auto"
        self.verbose = 0
        self.help = False
        self.command: list[str] = []


def read_options(arguments: list[str]) -> Settings:
    """The settings in `arguments`: our options, perhaps `--`, then the command with all that is its own.

    UsageError when an option is unknown, lacks its value, or no command is there.
    """
    settings = Settings()
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, value = _split(word)
        option = _BY_NAME.get(name)
        if option is None:
            raise UsageError(f"wrap has no option {name}: put -- before the command, or see extproxy wrap --help")
        if option.metavar is None:
            if value is not None:
                raise UsageError(f"wrap's option {name} takes no value")
            _switch(settings, option.key)
            continue
        if value is None:
            if not rest:
                raise UsageError(f"wrap's option {name} needs a value: {name} {option.metavar}")
            value = rest.pop(0)
        if option.many:
            getattr(settings, option.key).append(value)
        else:
            setattr(settings, option.key, value)
    settings.command = rest
    if not rest and not settings.help:
        raise UsageError("wrap needs a command to run: extproxy wrap -- COMMAND [ARGUMENT...]")
    return settings


def _split(word: str) -> tuple[str, str | None]:
    """An option's name and the value written onto it: `--view=off`, `-oFILE`."""
    if word.startswith("--"):
        name, given, value = word.partition("=")
        return name, value if given else None
    option = _BY_NAME.get(word[:2])
    if option is not None and option.metavar is not None and len(word) > 2:
        return word[:2], word[2:]
    return word, None


def _switch(settings: Settings, key: str) -> None:
    if key == "verbose":
        settings.verbose += 1
    else:
        setattr(settings, key, True)
