"""The version of tflmgen."""

VERSION = "0.1.0"
"""Quoted by generated files, reports and caches."""
