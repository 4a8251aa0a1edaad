"""All lowerings: each module of this package that is named lower_* enters its own into the table."""

from importlib import import_module
from pkgutil import iter_modules

import tflmgen.frontend.onnx
from tflmgen.frontend.onnx.lowerings import LOWERINGS

for _module in iter_modules(tflmgen.frontend.onnx.__path__, "tflmgen.frontend.onnx."):
    if _module.name.rpartition(".")[2].startswith("lower_"):
        import_module(_module.name)

__all__ = ["LOWERINGS"]
