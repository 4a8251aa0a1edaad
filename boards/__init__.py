"""Boards, a folder each: data that tflmgen.project reads."""
