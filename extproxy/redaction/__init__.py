"""Secrets: what they look like, and taking them out of recordings while the other bytes stay as they are."""
