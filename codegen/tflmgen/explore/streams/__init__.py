"""Chains of operators computed a few rows at a time, so that large activations never exist whole."""
