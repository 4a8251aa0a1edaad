"""The proof of a Program: every read finds its value intact. Shares no code with what proposed it."""
