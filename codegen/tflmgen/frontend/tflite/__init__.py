"""The reader: a .tflite file to a Model, typed and range-checked; the only user of FlatBuffers."""
