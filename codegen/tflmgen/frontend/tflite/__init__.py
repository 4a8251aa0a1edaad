"""A .tflite file as a Model, typed and range-checked: reader, writer and builder; the only users of FlatBuffers."""
