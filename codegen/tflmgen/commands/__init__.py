"""The commands: each takes what cli.py read from the command line, and prints its result."""
