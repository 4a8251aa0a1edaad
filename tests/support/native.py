"""Runs generated libraries on the host: many models in one program, under sanitizers, in a process of its own.

program = build_native({"m0": sources, "m1": others})
outputs = run_native(program, [Invocation(0, 0, (x, y)), ...], [signatures of m0, signatures of m1])
"""

from __future__ import annotations

import math
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.backend.c_library import Sources
from tflmgen.ir.graph.module import EntryPoint, Port

from support.build_cache import cached, digest, version

Array = NDArray[Any]

FIRMWARE = Path(__file__).parents[2] / "firmware"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SANITIZED = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of an entry point: which model, which of its signatures, the inputs in the signature's order.

    `status` is what it is to return; outputs come with 0 alone.
    """

    model: int
    signature: int
    inputs: tuple[Array, ...]
    status: int = 0


RESET = 0xFFFFFFFF
"""As an Invocation's signature: back to the initial state; no inputs, no outputs."""


class NativeError(AssertionError):
    """The program died; `model` is the one that ran last."""

    def __init__(self, model: int, text: str) -> None:
        self.model = model
        super().__init__(f"model {model}: {text}")


def build_native(models: Mapping[str, Sources], compiler: str = "gcc", flags: Sequence[str] = SANITIZED) -> Path:
    """The path of a program with all `models` (C name -> library); built once for the same sources and flags."""
    texts = {
        path: text for sources in models.values() for path, text in sources.files.items() if path.endswith((".c", ".h"))
    }
    texts["main.c"] = _main(list(models))
    command = [compiler, *WARNINGS, *flags]
    headers = digest((FIRMWARE / "kernels", FIRMWARE / "runtime"), ".h")

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="tflmgen-tests-") as sources:
            compile_in(Path(sources), texts, command, folder / "program")

    return cached((command, version(compiler), sorted(texts.items()), headers), make) / "program"


def compile_in(folder: Path, texts: Mapping[str, str], command: Sequence[str], program: Path) -> None:
    """Writes the files with their headers into `folder`, and compiles them there to `program`."""
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    include = folder / "include"
    include.mkdir(exist_ok=True)
    if not (include / "tflmgen").exists():
        (include / "tflmgen").symlink_to(FIRMWARE / "kernels")
    words = [*command, f"-I{include}", f"-I{FIRMWARE / 'runtime'}", *(path for path in texts if path.endswith(".c"))]
    built = subprocess.run([*words, "-o", program, "-lm"], cwd=folder, capture_output=True, check=False)
    assert built.returncode == 0, built.stderr.decode(errors="replace")[:4000]


def run_native(
    program: Path, invocations: Sequence[Invocation], signatures: Sequence[Sequence[EntryPoint]]
) -> list[tuple[Array, ...]]:
    """The outputs of each invocation, run in order in one process. `signatures[m]` are those of model m.

    Raises NativeError where the program dies, as it does of whatever a sanitizer finds.
    """
    stream = b"".join(
        struct.pack("<III", invocation.model, invocation.signature, invocation.status)
        + b"".join(
            _input(a, p) for a, p in zip(invocation.inputs, _ports(invocation, signatures, "inputs"), strict=True)
        )
        for invocation in invocations
    )
    ran = subprocess.run([program], input=stream, capture_output=True, check=False)
    if ran.returncode:
        text = ran.stderr.decode(errors="replace")
        raise NativeError(_last_model(text), f"exit code {ran.returncode}\n{text[-3000:]}")
    return list(_outputs(ran.stdout, invocations, signatures))


def _ports(invocation: Invocation, signatures: Sequence[Sequence[EntryPoint]], role: str) -> tuple[Port, ...]:
    if invocation.signature == RESET or (role == "outputs" and invocation.status):
        return ()
    signature = signatures[invocation.model][invocation.signature]
    return signature.inputs if role == "inputs" else signature.outputs


def _input(array: Array, port: Port) -> bytes:
    """The dimensions of a tensor that vary, and its bytes."""
    dims = port.type.dynamic_dims(array.shape)
    return struct.pack(f"<{len(dims)}i", *dims) + np.ascontiguousarray(array).tobytes()


def _last_model(text: str) -> int:
    numbers = [int(line[1:]) for line in text.splitlines() if line[:1] == "@" and line[1:].isdigit()]
    return numbers[-1] if numbers else -1


def _outputs(
    raw: bytes, invocations: Sequence[Invocation], signatures: Sequence[Sequence[EntryPoint]]
) -> Iterator[tuple[Array, ...]]:
    at = 0
    for invocation in invocations:
        arrays = []
        for port in _ports(invocation, signatures, "outputs"):
            count = len(port.type.dynamic_axes)
            shape = port.type.actual_shape(struct.unpack_from(f"<{count}i", raw, at))
            at += 4 * count
            size = math.prod(shape) * port.type.dtype.bits // 8
            arrays.append(np.frombuffer(raw[at : at + size], port.type.dtype.numpy).reshape(shape))
            at += size
        yield tuple(arrays)
    assert at == len(raw), "the program wrote more than its outputs"


def _main(names: Sequence[str]) -> str:
    includes = "#include <stdio.h>\n#include <string.h>\n"
    includes += "".join(f'#include "include/{name}.h"\n' for name in names)
    models = ", ".join(f"&{name}_model" for name in names)
    return f"{includes}static const tflmgen_model *const models[] = {{{models}}};\n{_LOOP}"


_LOOP = """
#ifdef TEST_ARENA
/* What an application defines for models that share their memory. */
extern uint8_t tflmgen_shared_arena[];
uint8_t tflmgen_shared_arena[TEST_ARENA] __attribute__((aligned(16)));
#endif

int main(void)
{
    uint32_t which[3];
    while (fread(which, sizeof which, 1, stdin) == 1) {
        fprintf(stderr, "@%u\\n", (unsigned)which[0]);
        if (which[1] == UINT32_MAX) {
            models[which[0]]->reset();
            continue;
        }
        const tflmgen_signature *signature = &models[which[0]]->signatures[which[1]];
        for (unsigned i = 0; i < signature->input_count; ++i) {
            const tflmgen_tensor *tensor = &signature->inputs[i];
            uint32_t bytes = tensor->bytes;
            if (tensor->dim != NULL) {
                memset(tensor->data(), 0xA5, bytes);
                bytes = tensor->row_bytes;
                for (uint32_t k = 0; tensor->dim(k, 0) >= 0; ++k) {
                    int32_t size;
                    if (fread(&size, sizeof size, 1, stdin) != 1) {
                        return 2;
                    }
                    tensor->dim(k, size);
                    bytes *= (uint32_t)size;
                }
            }
            for (; bytes > tensor->bytes; --bytes) {
                (void)fgetc(stdin);
            }
            if (fread(tensor->data(), 1, bytes, stdin) != bytes) {
                return 2;
            }
        }
        const uint32_t status = (uint32_t)signature->invoke();
        if (status != which[2]) {
            fprintf(stderr, "status %u\\n", (unsigned)status);
            return 3;
        }
        if (status != TFLMGEN_OK) {
            continue;
        }
        for (unsigned i = 0; i < signature->output_count; ++i) {
            const tflmgen_tensor *tensor = &signature->outputs[i];
            uint32_t bytes = tensor->bytes;
            if (tensor->dim != NULL) {
                bytes = tensor->row_bytes;
                for (uint32_t k = 0; tensor->dim(k, 0) >= 0; ++k) {
                    const int32_t size = tensor->dim(k, 0);
                    fwrite(&size, sizeof size, 1, stdout);
                    bytes *= (uint32_t)size;
                }
            }
            fwrite(tensor->data(), 1, bytes, stdout);
        }
    }
    return 0;
}
"""
