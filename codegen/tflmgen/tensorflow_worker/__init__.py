"""The processes that run TensorFlow, which loads and converts a source and runs it for comparison, and TFLite Micro.

In: requests of one line of JSON, and arrays in files. Out: answers of one line, a .tflite file and arrays.
Decided here: what TensorFlow's converter is given, and what of its own rewrites is done before it.

They run in an interpreter that has TensorFlow, or TFLite Micro, and need nothing of tflmgen's other rooms and packages.
"""

__all__: list[str] = []
