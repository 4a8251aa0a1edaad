"""An example of each operation of TensorFlow's registry that a microcontroller could compute, for TensorFlow's Python.

`tests/tensorflow_operations_page.py` converts them; names that are asked for are functions, made when they are.
"""

# mypy: ignore-errors
import tensorflow as tf
from tensorflow_operations_of_rows import ROW_EXAMPLES
from tensorflow_operations_of_tensors import ELEMENT_EXAMPLES

R = tf.raw_ops
EXAMPLES = {**ELEMENT_EXAMPLES, **ROW_EXAMPLES}


def __getattr__(name):
    if name not in EXAMPLES:
        raise AttributeError(name)
    call = EXAMPLES[name]
    takes_one = call.__code__.co_argcount - len(call.__defaults__ or ()) == 1
    specs = [tf.TensorSpec((2, 3, 4), tf.float32, name=n) for n in "xy"][: 1 if takes_one else 2]

    def run(*tensors):
        results = tf.nest.flatten(call(*tensors))
        return [R.Imag(input=r) + R.Real(input=r) if r.dtype == tf.complex64 else r for r in results]

    return tf.function(run, autograph=False, input_signature=specs)


REGISTRY = [name for name in dir(R) if name[0].isupper()]
