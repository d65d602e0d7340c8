"""Putting `extproxy wrap` into a host's config and taking it out again: text in, text out."""
