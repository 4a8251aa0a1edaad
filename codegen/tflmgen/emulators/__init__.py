"""Running firmware: on this computer, in QEMU or Renode, or on an attached board, behind one session.

In: a compiled model and sets of inputs. Out: outputs, counts of instructions per step, stack depth.
Decided here: which emulator runs a board, and how its counts are attributed to steps.
"""

from tflmgen.emulators.cycle_models import CycleModel, cycle_model_of
from tflmgen.emulators.execute import STATUS, Result, StatusError, run_set, run_sets
from tflmgen.emulators.firmware_session import check_session_options, running
from tflmgen.emulators.frozen_inputs import Frozen, freeze_inputs
from tflmgen.emulators.host import EXACT
from tflmgen.emulators.invoke_cost import Cycles, Tally, Waits
from tflmgen.emulators.port_watcher import PortWatcher
from tflmgen.emulators.serial_port import find_port, open_serial
from tflmgen.emulators.session import Invocation, Session
from tflmgen.emulators.step_counts import Blocks, blocks_of

__all__ = [
    "EXACT",
    "STATUS",
    "Blocks",
    "CycleModel",
    "Cycles",
    "Frozen",
    "Invocation",
    "PortWatcher",
    "Result",
    "Session",
    "StatusError",
    "Tally",
    "Waits",
    "blocks_of",
    "check_session_options",
    "cycle_model_of",
    "find_port",
    "freeze_inputs",
    "open_serial",
    "run_set",
    "run_sets",
    "running",
]
