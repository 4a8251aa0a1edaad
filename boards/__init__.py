"""Resources of tflmgen: see docs/understand/architecture.md."""
