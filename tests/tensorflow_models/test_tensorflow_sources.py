"""TensorFlow's sources become .tflite files that compute the same. They need TensorFlow, in its own environment."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus
from support.repository import ROOT
from support.sampling import sampled
from support.tensorflow_conversions import converted
from support.tensorflow_environment import VARIABLE, file_beside, interpreter, requires_tensorflow
from tflmgen.conversion import ConversionSettings, source_conversion
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import ModelError
from tflmgen.frontend import import_model
from tflmgen.frontend.tflite import FileTensor, Model, parse_model
from tflmgen.ir.graph import Op, walk
from tflmgen.reference import Interpreter

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

MODELS = file_beside("tensorflow_models.py")
PROGRAMS = file_beside("tensorflow_programs.py")
VERSION_1 = file_beside("version_1_graphs.py")
STRUCTURES = {
    "case": {"IF": 3},
    "case_exclusive": {"IF": 2},
    "constants": {"IF": 1},
    "same_predicate": {"IF": 3},
    "two_results": {"IF": 2},
    "nested": {"IF": 1, "WHILE": 2},
    "rotated": {"WHILE": 1},
    "two_exits": {"WHILE": 1},
    "growing": {"WHILE": 1},
    "growing_rows": {"IF": 1, "WHILE": 1},
    "mapped": {"WHILE": 2},
    "array_in_cond": {"IF": 1, "WHILE": 1},
    "cond_in_array": {"IF": 1, "WHILE": 1},
    "library": {"IF": 2, "WHILE": 2},
    "library_array": {"IF": 1, "WHILE": 3},
    "library_in_branches": {"IF": 2, "WHILE": 2},
    "mixed": {"IF": 3, "WHILE": 2},
    "merge_of_three": {"IF": 2},
    "opposite_predicate": {"IF": 1},
    "two_predicates": {"IF": 1},
    "rest": {"IF": 2, "TANH": 1},
    "waiting_through_a_loop": {"IF": 2, "WHILE": 1, "TANH": 1},
    "crossed": {"IF": 3},
    "gradient": {"WHILE": 2},
    "gradient_of_nested": {"IF": 2, "WHILE": 4},
    "consecutive": {"IF": 3, "TANH": 1, "MUL": 2},
}
"""How often If and While, and operators of branches, are in each graph."""
ARRAYS = {"mapped": 2, "array_in_cond": 1, "cond_in_array": 1, "library_array": 2, "library_in_branches": 1}
"""Arrays of which loops write one row after another."""


@pytest.mark.parametrize(
    ("name", "has", "mend"),
    [
        ("product_of_inputs", {"BATCH_MATMUL", "RELU"}, "activations kept"),
        ("product_in_a_loop", {"WHILE", "BATCH_MATMUL", "RELU6"}, "activations kept"),
        ("choice", {"IF"}, "Case written as If"),
        ("counted_up", {"WHILE", "LESS"}, "For written as While"),
        ("counted_down", {"WHILE", "GREATER"}, "For written as While"),
        ("counted_up_or_down", {"WHILE", "LOGICAL_OR"}, "For written as While"),
        ("choice_by_number", {"IF", "NOT_EQUAL"}, "2 If on a number compared with 0"),
        ("checked_shape", {"WHILE", "ADD"}, ""),
        ("angles", {"ATAN2", "IF", "BROADCAST_TO"}, "2 Atan2 with operands of one shape"),
    ],
)
def test_what_the_converter_breaks_is_mended(
    tensorflow: TensorFlowProcess, name: str, has: set[str], mend: str
) -> None:
    result = converted(tensorflow, f"{MODELS}:{name}")
    assert has <= set(result.model.operator_names)
    assert any(mend in text for text in result.mends) or not mend
    assert result.proof.equal >= 12
    taken, count = result.proof.branches
    assert taken == count


def test_what_tensorflow_refuses_is_said_with_its_place(tensorflow: TensorFlowProcess) -> None:
    with pytest.raises(ModelError, match=r"(?s)shape.*tensorflow_models\.py") as raised:
        converted(tensorflow, f"{MODELS}:growing_variable")
    assert "input_signature" not in str(raised.value)
    sentence = r"cannot be traced: AttributeError: .* 'no_such_function' \(File .*tensorflow_models\.py"
    with pytest.raises(ModelError, match=sentence):
        converted(tensorflow, f"{MODELS}:unknown_function")


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("range_loop", {"WHILE": 1}),
        ("stateless", {"IF": 1, "WHILE": 1}),
        ("calls", {"IF": 1, "WHILE": 1, "READ_VARIABLE": 0}),
        ("variables_in_branches", {"IF": 1, "ASSIGN_VARIABLE": 4}),
        ("embedding_layer", {"GATHER": 1}),
        ("layer_norm", {"MEAN": 2, "RSQRT": 1}),
    ],
)
def test_control_flow_arrives_once(tensorflow: TensorFlowProcess, name: str, has: dict[str, int]) -> None:
    """Nothing is unrolled or written twice."""
    result = converted(tensorflow, f"{MODELS}:{name}")
    operators = [op.name for graph in result.model.subgraphs for op in graph.operators]
    assert {key: operators.count(key) for key in has} == has
    assert (result.proof.equal, result.proof.undecided, result.proof.unsupported) == (12, 0, "")
    taken, count = result.proof.branches
    assert taken == count


@pytest.mark.parametrize(
    "name",
    [
        *("rows", "lstm", "gru_rows", "gru_reset_before", "simple_rnn", "bidirectional", "conv_lstm", "masked"),
        *("stateful_lstm", "custom_cell", "transformer_block", "residual_net", "separable_net"),
    ],
)
def test_layers_of_keras_equal_keras(tensorflow: TensorFlowProcess, name: str) -> None:
    result = converted(tensorflow, f"{MODELS}:{name}")
    assert not result.proof.unsupported
    assert result.proof.equal + result.proof.undecided >= 12
    assert result.proof.equal >= 6
    assert max(result.proof.errors.values()) <= 1e-4


def test_saved_models_of_keras_and_of_several_signatures(tensorflow: TensorFlowProcess, tmp_path: Path) -> None:
    """Keras exports a batch of any size, and weights that TensorFlow's converter leaves to nobody to initialise."""
    names = ("lstm", "gru_rows", "signatures")
    words = [interpreter() or "", str(MODELS), *(f"{name}={tmp_path / name}" for name in names)]
    subprocess.run(words, check=True, capture_output=True)
    for name in names[:2]:
        result = converted(tensorflow, tmp_path / name)
        assert any("open batches" in mend for mend in result.mends)
        assert (result.proof.equal, result.proof.undecided, result.proof.unsupported) == (12, 0, "")
        assert "WHILE" in result.model.operator_names
        assert not {"VAR_HANDLE", "READ_VARIABLE"} & set(result.model.operator_names)
    result = converted(tensorflow, tmp_path / "signatures")
    assert sorted(signature.key for signature in result.model.signatures) == ["add", "read"]
    assert (result.proof.equal, result.proof.unsupported) == (24, "")
    read = next(signature for signature in result.model.signatures if signature.key == "read")
    operators = result.model.subgraphs[read.subgraph].operators
    assert [op.name for op in operators].count("READ_VARIABLE") == 1


@requires_corpus
@pytest.mark.parametrize("name", ["v1_cond", "v1_while", "v1_dynamic_rnn"])
def test_graphs_of_tensorflow_1_equal_their_recorded_outputs(tensorflow: TensorFlowProcess, name: str) -> None:
    result = converted(tensorflow, CORPUS / "tf1" / f"{name}.pb")
    with np.load(CORPUS / "tf1" / f"{name}.pb.npz") as data:
        (signature,) = result.model.signatures
        assert [port for port, _ in signature.inputs] == list(data["in_names"])
        assert [port for port, _ in signature.outputs] == list(data["out_names"])
        for k in range(int(data["n_sets"])):
            operands = [data[f"s{k}_in_{i}"] for i in range(len(signature.inputs))]
            outputs = Interpreter(result.model).invoke(signature, operands)
            for j, output in enumerate(outputs):
                np.testing.assert_allclose(output, data[f"s{k}_out_{j}"], rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all graphs and SavedModels of TensorFlow 1."""
    folder = tmp_path_factory.mktemp("version_1")
    names = (
        *STRUCTURES,
        "dead_result",
        "gradient_of_rows",
        "scattered",
        "no_predicate",
        "saved_reads",
        "saved_counts",
        "saved_scatters",
        "saved_trains",
    )
    subprocess.run([interpreter() or "", str(VERSION_1), str(folder), *names], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", sampled([*STRUCTURES], 3))
def test_control_flow_of_version_1_is_if_and_while(tensorflow: TensorFlowProcess, version_1: Path, name: str) -> None:
    """No Select computes both sides, nothing is written twice; arrays that loops fill get their rows one by one."""
    result = converted(tensorflow, version_1 / f"{name}.pb", ConversionSettings(outputs=("y",)))
    operators = [op.name for graph in result.model.subgraphs for op in graph.operators]
    wanted = {"IF": 0, "WHILE": 0, "SELECT": 0, "SELECT_V2": 0} | STRUCTURES[name]
    assert {key: operators.count(key) for key in wanted} == wanted
    assert (result.proof.equal, result.proof.undefined, result.proof.unsupported) == (12, 0, "")
    taken, count = result.proof.branches
    assert taken == count - (2 if name == "same_predicate" else 0)
    assert _stored_rows(result.model) == ARRAYS.get(name, 0)


def _stored_rows(model: Model) -> int:
    """How many arrays get rows, and no other way: a slice of a list would have as many rows as the index says."""
    functions = import_model(model).functions
    operators = [node.operator for f in functions for node in walk(f.body) if isinstance(node, Op)]
    stores = operators.count("ROW_STORE")
    assert not stores or "SLICE" not in operators
    return stores


def test_a_value_under_a_predicate_of_its_own_is_in_the_branch(tensorflow: TensorFlowProcess, version_1: Path) -> None:
    result = converted(tensorflow, version_1 / "two_predicates.pb")
    operators = {op.name for op in result.model.subgraphs[0].operators}
    assert "IF" in operators
    assert not operators & {"ADD", "MUL"}


def test_results_that_nobody_names_are_outside_of_branches_and_loops(
    tensorflow: TensorFlowProcess, version_1: Path
) -> None:
    """A cond in a loop leaves the sides of its predicate unread, and the loop its counter."""
    result = converted(tensorflow, version_1 / "cond_in_array.pb")
    assert [port for port, _ in result.model.signatures[0].outputs] == ["while/Exit", "y"]
    assert (result.proof.equal, result.proof.unsupported) == (12, "")


def test_a_result_that_some_inputs_leave_undefined(tensorflow: TensorFlowProcess, version_1: Path) -> None:
    """Where TensorFlow has a result, it is equal; where it has none, nothing is to be compared."""
    result = converted(tensorflow, version_1 / "dead_result.pb", ConversionSettings(outputs=("y",)))
    assert result.proof.equal + result.proof.undefined == 12
    assert result.proof.equal > 0
    assert result.proof.undefined > 0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_predicate.pb", "none that tf.cond and tf.while_loop make: no predicate decides 'Merge'"),
        ("gradient_of_rows.pb", "gradients of TensorArrays of TensorFlow 1 are not read"),
        ("scattered.pb", "TFLite has no operator for tf.TensorArrayV3 in 'TensorArray'"),
        ("saved_scatters", "signature 'scattered' changes a variable of TensorFlow 1 at 'ScatterSub'"),
        ("saved_counts", "signature 'counted' changes a variable of TensorFlow 1 at 'AssignAdd'"),
    ],
)
def test_what_of_version_1_is_refused(tensorflow: TensorFlowProcess, version_1: Path, name: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=re.escape(sentence)):
        converted(tensorflow, version_1 / name)


def test_a_saved_model_of_tensorflow_1_with_reference_variables(tensorflow: TensorFlowProcess, version_1: Path) -> None:
    result = converted(tensorflow, version_1 / "saved_reads")
    assert sorted(signature.key for signature in result.model.signatures) == ["chosen", "looped"]
    assert (result.proof.equal, result.proof.unsupported) == (24, "")
    chosen = converted(
        tensorflow, version_1 / "saved_reads", ConversionSettings(signature="chosen", shapes={"x": (4, 3)})
    )
    assert [tensor.shape for tensor in _inputs_of(chosen.model)] == [(), (4, 3)]
    assert (chosen.proof.equal, chosen.proof.unsupported) == (12, "")


def test_a_training_step_of_tensorflow_1(tensorflow: TensorFlowProcess, version_1: Path) -> None:
    """Its loop's gradient keeps values on stacks; three steps in a row are compared."""
    result = converted(tensorflow, version_1 / "saved_trains")
    assert sorted(signature.key for signature in result.model.signatures) == ["infer", "train"]
    assert (result.proof.equal, result.proof.unsupported) == (24, "")


def _inputs_of(model: Model) -> list[FileTensor]:
    signature = model.signatures[0]
    return [model.subgraphs[signature.subgraph].tensors[index] for _, index in signature.inputs]


def _programs(folder: Path, seeds: Sequence[int]) -> Iterator[tuple[Path | str, ConversionSettings]]:
    words = [interpreter() or "", str(PROGRAMS), str(folder), *map(str, seeds)]
    subprocess.run(words, check=True, capture_output=True)
    for seed in seeds:
        yield folder / f"graph_{seed}.pb", ConversionSettings(outputs=("a", "b", "c"))
        module = folder / f"program_{seed}.py"
        lines = f"import sys\nsys.path.insert(0, {str(PROGRAMS.parent)!r})\nimport tensorflow_programs\n"
        module.write_text(f"{lines}\ndef main():\n    return tensorflow_programs.program({seed})\n")
        yield f"{module}:main", ConversionSettings()


@pytest.mark.parametrize("seeds", [(3, 4), pytest.param(range(50), marks=pytest.mark.sweep)])
def test_random_programs_with_control_flow_of_both_versions_equal_tensorflow(
    tensorflow: TensorFlowProcess, tmp_path: Path, seeds: Sequence[int]
) -> None:
    equal, refused = 0, []
    for source, choices in _programs(tmp_path, seeds):
        try:
            result = converted(tensorflow, source, choices)
        except ModelError as error:
            refused.append(str(error))
            continue
        assert result.proof.equal + result.proof.undecided >= 1
        equal += 1
    assert (equal, refused) == (2 * len(seeds), [])


def test_a_cond_of_version_1_is_one_if_whose_loops_are_its_own(tensorflow: TensorFlowProcess, tmp_path: Path) -> None:
    """Program 19: two conds of three results, one of them with a loop over a TensorArray, which TensorFlow refuses."""
    source, choices = next(iter(_programs(tmp_path, [19])))
    result = converted(tensorflow, source, choices)
    operators = [op.name for graph in result.model.subgraphs for op in graph.operators]
    assert (operators.count("IF"), operators.count("WHILE")) == (2, 3)
    assert result.proof.equal >= 12


def test_a_difference_is_refused_with_the_first_tensor(
    tensorflow: TensorFlowProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose RELU has become ABS, as if the converter had done it."""

    def damaged(data: bytes, name: str) -> Model:
        model = parse_model(data, name)
        (graph,) = model.subgraphs
        wrong = [replace(op, name="ABS", options=None) if op.name == "RELU" else op for op in graph.operators]
        return replace(model, subgraphs=(replace(graph, operators=tuple(wrong)),))

    monkeypatch.setattr(source_conversion, "parse_model", damaged)
    with pytest.raises(ModelError) as refused:
        converted(tensorflow, f"{MODELS}:product_of_inputs")
    assert (
        "the converted model is not the source as TensorFlow runs it: input set 'random': output 'output_0' differs by"
        in str(refused.value)
    )
    assert "; the first tensor that differs is '" in str(refused.value)


def test_a_keras_file_with_a_cell_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is refused with advice; with the cell's file it converts, and the next command uses the result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    subprocess.run([interpreter() or "", str(MODELS), "custom_cell=net.keras"], check=True, capture_output=True)
    refused = tflmgen("convert", "net.keras")
    assert refused.code == 1
    assert "--keras-objects FILE.py" in refused.err
    assert not Path("net.tflite").exists()
    done = tflmgen("convert", "net.keras", "--keras-objects", str(MODELS))
    assert done.code == 0, done.err
    assert "Compared with TensorFlow: 12 input sets equal" in done.out
    assert "net.tflite is net.keras, converted before." in tflmgen("inspect", "net.keras").out
    Path("broken.py").write_text("import keras\n\nraise ValueError('no cells today')\n")
    assert "converted before." in tflmgen("inspect", "net.keras", "--keras-objects", str(MODELS)).out
    broken = tflmgen("convert", "net.keras", "--keras-objects", "broken.py")
    assert broken.code == 1
    assert "broken.py: line 3 raises ValueError: no cells today" in broken.err


def test_what_the_converter_says_is_located() -> None:
    """No operation is known that fails so and is not mended: the text is what Atan2 gave."""
    script = "from tflmgen.tensorflow_worker.tflite_conversion import _explained; print(_explained(sys.argv[1])[0])"
    text = """error: loc(fused["Atan2:", "Atan2"]): 'tfl.atan2' op requires the same type"""
    words = [interpreter() or "", "-c", f"import sys; {script}", text]
    done = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "codegen")}
    )
    assert done.stdout.strip() == "TensorFlow's converter fails in 'Atan2': 'tfl.atan2' op requires the same type"


def test_one_command_from_keras_to_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The converted file is kept and used again; a file that is no conversion is left alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    subprocess.run([interpreter() or "", str(MODELS), f"lstm={tmp_path}/net.keras"], check=True, capture_output=True)
    first = tflmgen("test", "net.keras", "--board", "host")
    assert first.code == 0, first.err
    assert "Wrote net.tflite." in first.out
    assert "net.tflite is net.keras, converted before." in tflmgen("inspect", "net.keras").out
    data = (CORPUS / "tf1" / "v1_cond_tfl.tflite").read_bytes() if CORPUS.is_dir() else b"mine"
    Path("net.tflite").write_bytes(data)
    refused = tflmgen("inspect", "net.keras")
    assert refused.code == 2
    assert "net.tflite is in the way of what net.keras becomes" in refused.err
    assert Path("net.tflite").read_bytes() == data
