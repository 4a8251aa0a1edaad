"""The commands: each takes what the command line parsed, and prints its result.

In: typed options. Out: text for people or JSON for programs, files, and an exit code.
Decided here: what users see.
"""
