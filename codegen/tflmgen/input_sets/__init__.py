"""Sets of inputs: .npz, .csv, .wav and pictures as arrays, seeded sets, and labels of samples.

In: files of users, and the inputs of signatures. Out: arrays that fit the inputs, or a VectorsError.
Decided here: formats of input files, how values become elements, and which shapes dynamic inputs have.
"""

from tflmgen.input_sets.array_file import Array, ArrayFile, VectorsError
from tflmgen.input_sets.input_bounds import shapes_of_inputs
from tflmgen.input_sets.input_files import arrays_by_name, files_of_inputs, has_inputs_only, read_input_sets
from tflmgen.input_sets.npz import Vectors, VectorSet, choose_signature, set_caption, vector_set_of, write_outputs
from tflmgen.input_sets.sample_labels import labels_of_samples
from tflmgen.input_sets.seeded import generator_inputs, seeded_sets
from tflmgen.input_sets.wav_file import read_sound

__all__ = [
    "Array",
    "ArrayFile",
    "VectorSet",
    "Vectors",
    "VectorsError",
    "arrays_by_name",
    "choose_signature",
    "files_of_inputs",
    "generator_inputs",
    "has_inputs_only",
    "labels_of_samples",
    "read_input_sets",
    "read_sound",
    "seeded_sets",
    "set_caption",
    "shapes_of_inputs",
    "vector_set_of",
    "write_outputs",
]
