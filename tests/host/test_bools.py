"""Bools that arrive as bytes other than 0 and 1: every one but 0 is true, and nothing is undefined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.c_program import run_c
from support.model_writer import ModelWriter
from tflmgen.compiler import compile_model
from tflmgen.emulators.open_session import open_session
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.hardware.board import load_board
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions
from tflmgen.project.assemble import write
from tflmgen.project.firmware_build import compile_for, project_of

BYTES = (0, 1, 2, 255)
EXPECTED = "0111 1000 0 1 0111 0111 10:20:20:20 3"
"""Of x = BYTES and a true condition; see `OUTPUTS`."""
OUTPUTS = ("same", "not", "all", "any", "and", "equal", "select", "sum")


def model() -> bytes:
    """Operators of each kind on bools x, in the branch that `condition` takes; the other one gives other values."""
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs = [g.tensor("condition", "bool", [1]), g.tensor("x", "bool", [4])]
    kinds = {"all": "bool", "any": "bool", "select": "int32", "sum": "int32"}
    shapes = {"all": [1], "any": [1], "sum": [1]}

    def results() -> list[int]:
        return [s.tensor(name, kinds.get(name, "bool"), shapes.get(name, [4])) for name in OUTPUTS]

    s = g
    g.outputs = results()
    g.operator("IF", g.inputs, g.outputs, {"then_subgraph_index": 1, "else_subgraph_index": 2})
    for branch in ("yes", "no"):
        s = w.subgraph(branch)
        x = s.tensor("x", "bool", [4])
        s.inputs, outputs = [x], results()
        s.outputs = [x, *outputs[1:]]
        true = s.constant("true", np.frombuffer(b"\x01\x02\x80\xff", np.uint8), 6, shape=[4])
        axis, keep = s.constant("axis", np.array([0], np.int32)), {"keep_dims": True}
        ten, twenty = (s.constant(f"c{n}", np.full(4, n, np.int32)) for n in (10, 20))
        numbers = s.tensor("numbers", "int32", [4])
        if branch == "no":
            x = s.tensor("inverse", "bool", [4])
            s.operator("LOGICAL_NOT", [s.inputs[0]], [x])
            s.outputs[0] = x
        s.operator("LOGICAL_NOT", [x], [outputs[1]])
        s.operator("REDUCE_ALL", [x, axis], [outputs[2]], keep)
        s.operator("REDUCE_ANY", [x, axis], [outputs[3]], keep)
        s.operator("LOGICAL_AND", [x, true], [outputs[4]])
        s.operator("EQUAL", [x, true], [outputs[5]])
        s.operator("SELECT_V2", [x, twenty, ten], [outputs[6]])
        s.operator("CAST", [x], [numbers], {"in_data_type": 6, "out_data_type": 2})
        s.operator("SUM", [numbers, axis], [outputs[7]], keep)
    return w.finish()


def test_any_byte_but_0_is_true_in_the_c_api(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model())
    main = """
        #include <stdio.h>
        #include <string.h>
        #include "m.h"
        static void bits(const void *bools)
        {
            for (int i = 0; i < 4; ++i) {
                printf("%u", ((const uint8_t *)bools)[i]);
            }
            printf(" ");
        }
        int main(void)
        {
            const uint8_t x[4] = {0, 1, 2, 255}, condition[3] = {1, 2, 255};
            for (int i = 0; i < 3; ++i) {
                memcpy(m_input_condition(), condition + i, 1);
                memcpy(m_input_x(), x, sizeof x);
                m_invoke();
                bits(m_output_same());
                bits(m_output_not());
                printf("%u %u ", *(const uint8_t *)m_output_all(), *(const uint8_t *)m_output_any());
                bits(m_output_and());
                bits(m_output_equal());
                const int32_t *s = m_output_select();
                printf("%d:%d:%d:%d %d\\n", (int)s[0], (int)s[1], (int)s[2], (int)s[3], (int)*m_output_sum());
            }
            return 0;
        }
    """
    sources = compile_model(path, Target("host"), BuildOptions()).sources
    assert run_c(main, sources, tmp_path).splitlines() == [EXPECTED] * 3


def test_any_byte_but_0_is_true_over_the_protocol(tmp_path: Path) -> None:
    board, options, path = load_board("host"), BuildOptions(), tmp_path / "m.tflite"
    path.write_bytes(model())
    compilation = compile_for(path, board, options)
    write(project_of(compilation, board, options), tmp_path / "project")
    with open_session(board, tmp_path / "project", None, sanitize=True) as session:
        outputs = [session.invoke(0, [bytes([c]), bytes(BYTES)]).outputs for c in (1, 2, 255)]
        assert outputs[0] == outputs[1] == outputs[2] == session.invoke(0, [b"\1", b"\0\1\1\1"]).outputs
        assert outputs[0] != session.invoke(0, [b"\0", bytes(BYTES)]).outputs
    assert outputs[0][:2] == (b"\0\1\1\1", b"\1\0\0\0")


def test_constants_of_a_file_are_0_and_1() -> None:
    w = ModelWriter()
    g = w.subgraph("main")
    g.outputs = [g.constant("c", np.frombuffer(bytes(BYTES), np.uint8), 6)]
    assert parse_model(w.finish(), "m").subgraphs[0].tensors[0].data == b"\0\1\1\1"


def keeping_model() -> bytes:
    """y = not v; then v becomes x. v begins as false and true."""
    w = ModelWriter()
    g, s = w.subgraph("main"), w.subgraph("start")
    handle, x, old, y = g.tensor("handle", "resource", []), *(g.tensor(n, "bool", [2]) for n in ("x", "old", "y"))
    g.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    g.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    g.operator("READ_VARIABLE", [handle], [old])
    g.operator("LOGICAL_NOT", [old], [y])
    g.operator("ASSIGN_VARIABLE", [handle, x], [])
    g.inputs, g.outputs = [x], [y]
    resource = s.tensor("handle", "resource", [])
    s.operator("VAR_HANDLE", [], [resource], {"shared_name": "v"})
    s.operator("ASSIGN_VARIABLE", [resource, s.constant("begin", np.array([False, True]))], [])
    return w.finish()


def test_any_byte_but_0_is_true_in_a_loaded_state(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(keeping_model())
    main = """
        #include <stdio.h>
        #include <string.h>
        #include "m.h"
        static uint8_t blob[M_STATE_BLOB_BYTES], saved[M_STATE_BLOB_BYTES];
        int main(void)
        {
            m_state_save(blob);
            blob[M_STATE_BLOB_BYTES - M_STATE_BYTES + 1] = 254;
            printf("%d ", m_state_load(blob));
            m_state_save(saved);
            memset(m_input(), 0, M_INPUT_BYTES);
            m_invoke();
            const uint8_t *y = (const uint8_t *)m_output();
            printf("%u %u%u", saved[M_STATE_BLOB_BYTES - M_STATE_BYTES + 1], y[0], y[1]);
            return 0;
        }
    """
    assert run_c(main, compile_model(path, Target("host"), BuildOptions()).sources, tmp_path) == "0 1 10"
