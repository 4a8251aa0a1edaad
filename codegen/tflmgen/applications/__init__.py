"""Applications: several models, front ends and glue as one Model of the file format, before anything is planned.

In: paths of models. Out: a Model with what all of them compute.
Decided here: names of models in one library; indices, variables and constants of several files side by side.
"""

from tflmgen.applications.link_models import link
from tflmgen.applications.program_source import library_stem, model_keys, read_program

__all__ = ["library_stem", "link", "model_keys", "read_program"]
