"""ONNX models as TFLite ones: reading, lowering of each operator, and layouts. Needs the package `onnx`."""
