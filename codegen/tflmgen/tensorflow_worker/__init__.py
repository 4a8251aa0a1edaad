"""The process that runs TensorFlow: loads a source, converts it, and runs it for comparison.

In: requests of one line of JSON, and arrays in files. Out: answers of one line, a .tflite file and arrays.
Decided here: what TensorFlow's converter is given, and what of its own rewrites is done before it.

It runs in an interpreter that has TensorFlow, and needs nothing of tflmgen's other rooms and packages.
"""

__all__: list[str] = []
