"""A session as text: pure, so a recording looks the same as the live session did."""

from extproxy.render.view import View, is_plain_end

__all__ = ["View", "is_plain_end"]
