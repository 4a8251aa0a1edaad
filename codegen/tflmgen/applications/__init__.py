"""Applications: several models, front ends and glue as one Model of the file format, before anything is planned.

In: paths of models or of an application. Out: a Model with what all of them compute.
Decided here: names of models in one library, when stages of an application run, and what built-ins compute.
"""

from tflmgen.applications.link_models import link
from tflmgen.applications.program_source import is_application, library_stem, model_keys, read_program

__all__ = ["is_application", "library_stem", "link", "model_keys", "read_program"]
