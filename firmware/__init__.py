"""Resources of tflmgen: see docs/architecture.md."""
