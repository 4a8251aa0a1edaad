"""Makes docs/use/tensorflow-operations.md from TensorFlow's registry: `python tests/tensorflow_operations_page.py`.

Each example of support/tensorflow_operations.py is converted, compared with TensorFlow and compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.tensorflow_environment import VARIABLE, file_beside, interpreter
from support.tensorflow_operation_classes import CLASSES, class_of
from tflmgen.compiler import compile_model
from tflmgen.conversion import ConversionSettings, TensorFlowSource
from tflmgen.conversion.source_conversion import convert_in
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import TflmgenError
from tflmgen.ir.kernel import Target
from tflmgen.options import BuildOptions, Validate

PAGE = Path(__file__).parents[1] / "docs" / "use" / "tensorflow-operations.md"
EXAMPLES = file_beside("tensorflow_operations.py")

_HEAD = """# TensorFlow's operations

This page is made by `python tests/tensorflow_operations_page.py` from the registry of TensorFlow {version},
`tf.raw_ops`. An example of each operation that a microcontroller could compute is converted, compared with TensorFlow
on twelve input sets, and compiled: {native} convert as they are, {written} are
[written with others](convert.md#what-is-mended). The other {out} of {all} operations belong to classes with a reason
each. An operation converts for the types and constant parameters of its example and their like; it says what it
refuses.

## Operations that convert

{converted}

Written with others:

{rewritten}

## Operations that stay out, or are no computation

"""


def registry() -> tuple[str, list[str], list[str]]:
    """Version of TensorFlow, names of its operations, and those of examples."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tensorflow as tf, tensorflow_operations as t;"
        "print('\\n'.join([tf.__version__, ' '.join(t.REGISTRY), ' '.join(t.EXAMPLES)]))"
    )
    words = [interpreter() or "", "-c", code, str(EXAMPLES.parent)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return text[-3], text[-2].split(), text[-1].split()


def outcomes(names: Sequence[str]) -> Iterator[tuple[str, bool | str]]:
    """(name, whether it is written with others), or why it does not convert."""
    os.environ[VARIABLE] = interpreter() or ""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "example.tflite"
        with TensorFlowProcess(str(EXAMPLES)) as process:
            for name in names:
                try:
                    source = TensorFlowSource(EXAMPLES, "python", name)
                    conversion = convert_in(process, source, ConversionSettings(), lambda _: None)
                    file.write_bytes(conversion.data)
                    compile_model(file, Target(core="host"), BuildOptions(validate=Validate.OFF))
                except TflmgenError as error:
                    yield name, str(error)
                else:
                    yield name, any("written with others" in sentence for sentence in conversion.mends)


def page(version: str, names: Sequence[str], verdicts: dict[str, bool | str]) -> str:
    """The page's text."""
    native, written = ([name for name in names if verdicts.get(name) is verdict] for verdict in (False, True))
    rest = [name for name in names if not isinstance(verdicts.get(name), bool)]
    head = _HEAD.format(
        version=version,
        native=len(native),
        written=len(written),
        out=len(rest),
        all=len(names),
        converted=_lines(native),
        rewritten=_lines(written),
    )
    parts = []
    for number, (title, sentence, _) in enumerate(CLASSES):
        own = [name for name in rest if class_of(name) == number]
        if own:
            parts.append(f"### {title}\n\n{textwrap.fill(sentence, 120)} ({len(own)})\n\n{_lines(own)}\n")
    return head + "\n".join(parts)


def _lines(names: Sequence[str]) -> str:
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 120, break_on_hyphens=False)


if __name__ == "__main__":
    _version, _names, _examples = registry()
    _verdicts = dict(outcomes(_examples))
    for _name in _names:
        if not isinstance(_verdicts.get(_name), bool) and class_of(_name) is None:
            print(f"{_name} is in no class: {_verdicts.get(_name, 'it has no example')}")
    PAGE.write_text(page(_version, _names, _verdicts), encoding="utf-8")
