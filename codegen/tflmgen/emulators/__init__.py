"""Running firmware: on this computer, in QEMU or Renode, or on an attached board, behind one session.

In: a compiled model and sets of inputs. Out: outputs, counts of instructions per step, stack depth.
Decided here: which emulator runs a board, and how its counts are attributed to steps.
"""

from tflmgen.emulators.array_file import ArrayFile, VectorsError
from tflmgen.emulators.cycle_models import CYCLE_MODELS, CycleModel
from tflmgen.emulators.execute import STATUS, Result, StatusError, run_set, run_sets
from tflmgen.emulators.firmware_session import check_session_options, running
from tflmgen.emulators.frozen_inputs import Frozen, freeze_inputs
from tflmgen.emulators.host import EXACT
from tflmgen.emulators.input_bounds import shapes_of_inputs
from tflmgen.emulators.input_files import arrays_by_name, files_of_inputs, has_inputs_only, read_input_sets
from tflmgen.emulators.invoke_cost import NO_CYCLES, NO_WAITS, NOTHING, Cycles, Tally, Waits
from tflmgen.emulators.link import FAULT, REFUSED, REPLY, Decoder, Frame, Request
from tflmgen.emulators.npz import (
    Vectors,
    VectorSet,
    choose_signature,
    set_caption,
    vector_set_of,
    write_outputs,
)
from tflmgen.emulators.seeded import generator_inputs, seeded_sets
from tflmgen.emulators.serial_port import LARGEST_FRAME, find_port, open_serial
from tflmgen.emulators.session import Invocation, Session
from tflmgen.emulators.step_counts import Blocks, blocks_of
from tflmgen.emulators.wav_file import read_sound

__all__ = [
    "CYCLE_MODELS",
    "EXACT",
    "FAULT",
    "LARGEST_FRAME",
    "NOTHING",
    "NO_CYCLES",
    "NO_WAITS",
    "REFUSED",
    "REPLY",
    "STATUS",
    "ArrayFile",
    "Blocks",
    "CycleModel",
    "Cycles",
    "Decoder",
    "Frame",
    "Frozen",
    "Invocation",
    "Request",
    "Result",
    "Session",
    "StatusError",
    "Tally",
    "VectorSet",
    "Vectors",
    "VectorsError",
    "Waits",
    "arrays_by_name",
    "blocks_of",
    "check_session_options",
    "choose_signature",
    "files_of_inputs",
    "find_port",
    "freeze_inputs",
    "generator_inputs",
    "has_inputs_only",
    "open_serial",
    "read_input_sets",
    "read_sound",
    "run_set",
    "run_sets",
    "running",
    "seeded_sets",
    "set_caption",
    "shapes_of_inputs",
    "vector_set_of",
    "write_outputs",
]
