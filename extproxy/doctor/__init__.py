"""What keeps a command from starting under a host, found out without a host."""
