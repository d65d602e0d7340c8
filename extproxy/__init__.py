"""See, keep and replay what programs say to each other over newline-delimited JSON."""

__version__ = "0.1.0"
