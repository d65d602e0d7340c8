"""For tests of extensions and hosts: a pytest plugin with fixtures, and snapshots for syrupy. See docs/testing.md."""
