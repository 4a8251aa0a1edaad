"""JSON schemas of what tflmgen reads and prints."""
