"""tflmgen: TensorFlow Lite models with control flow, compiled to C for microcontrollers."""

__version__ = "0.1.0"
