"""Results whose number the data decide, and what follows them in a graph: equal to ONNX Runtime on random data.

Each model runs compiled, on sets that give other numbers of rows, none among them where ONNX Runtime takes none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from numpy.typing import NDArray
from support.commands import tflmgen

HEAD = '<ir_version: 9, opset_import: ["" : 18]> g '
NUMBERS = """
<float zero = {0}, float third = {0.3}, float[1] overlap = {0.4}, int64 one = {1}, int64[1] at0 = {0},
 int64[1] at1 = {1}, int64[1] at2 = {2},
 int64[1] minus = {-1}, int64[1] three = {3}, int64[1] four = {4}, int64[2] two_ones = {2, 1},
 int64[4] pads = {1, 0, 2, 0}, int64[1] many = {9223372036854775807}, int64 none = {0}, int64 step = {4},
 int64 frame = {8}>
"""
MODELS = {
    "masks": """(float[6,4] x, float[6] s) => (float[n,4] y, float[n] z, int64[1,m] q) {
        m = Greater(s, zero) i = NonZero(m) t = Transpose(i) y = GatherND(x, t) z = GatherND(s, t) q = NonZero(z) }""",
    "compress": """(float[3,5] x, bool[5] m, bool[7] f) => (float[3,n] y, float[k] z, float total) {
        y = Compress<axis = 1>(x, m) z = Compress(x, f) total = ReduceSum<keepdims = 0>(z) }""",
    "unique": """(int64[3,4] x) => (int64[n] a, int64[n] b, int64[12] c, int64[n] d, int64[n] e, int64[12] f,
        int64[n] h) {
        a, b, c, d = Unique(x) e, none1, f, h = Unique<sorted = 0>(x) }""",
    "top k": """(float[9] x, bool[9] m) => (float[k] v, int64[k] i, float[n] s) {
        g = Compress<axis = 0>(x, m) n = Shape(g) k = Min(n, three) v, i = TopK(g, k)
        s, j = TopK<largest = 0>(x, n) }""",
    "slices": """(float[9,3] x, bool[9] m) => (float[n,3] a, float[k,3] b, float[l,3] c, float[o,3] d, float[p,2] e) {
        g = Compress<axis = 0>(x, m) a = Slice(g, at0, three, at0) b = Slice(g, three, many, at0)
        c = Slice(g, at0, minus, at0) n = Shape<start = 0, end = 1>(g) d = Slice(x, at0, n, at0)
        e = Slice(g, at1, many, at1) }""",
    "shapes": """(float[5,6] x, bool[5] m) => (float[n,2,3] a, float[k,2] b, int64[n] r, float[n,6] e, int64 q,
        float[n,6] c, float[o,6] t, float[p,6] w, float[l,6] j, int64[6] best) {
        g = Compress<axis = 0>(x, m) s = Shape(g) n = Gather<axis = 0>(s, at0)
        two3 = Constant<value = int64[2] {2, 3}>()
        to = Concat<axis = 0>(n, two3)
        a = Reshape(g, to) n3 = Mul(n, three) to2 = Concat<axis = 0>(n3, minus)
        b = Reshape(g, to2) ns = Squeeze(n) r = Range(none, ns, one) e0 = Expand(third, s) e = Mul(e0, g) q = Size(g)
        mean = ReduceMean(g, at0) c = Sub(g, mean) t = Tile(g, two_ones) w = Pad(g, pads) j = Concat<axis = 0>(g, x)
        best = ArgMax<axis = 0, keepdims = 0>(x) }""",
    "regions": """(float[1,3,8,8] x, float[4,4] b, bool[4] m, float[2,3,2,2] w) => (float[n,2] y) {
        r = Compress<axis = 0>(b, m) n = Shape<end = 1>(r) i = ConstantOfShape<value = int64[1] {0}>(n)
        p = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = 2>(x, r, i) c = Conv(p, w)
        y = Flatten(c) }""",
    "sums and spectra": """(float[5,16] x, bool[5] m) => (float[n,16] a, float[n,16] b, float[n,9,2] c,
        float[n,3,5,2] d) {
        g = Compress<axis = 0>(x, m) a = CumSum(g, none) b = CumSum<reverse = 1, exclusive = 1>(g, one)
        u = Unsqueeze(g, at2) c = DFT<axis = 1, onesided = 1>(u) d = STFT(g, step, , frame) }""",
    "stores": """(float[4,3] x, bool[4,3] m) => (float[4,3] y) {
        i = NonZero(m) t = Transpose(i) n = Shape<end = 1>(t) u = Expand(third, n) y = ScatterND(x, t, u) }""",
    "stores at masks": """(float[4,3] x, bool[4,3] m, bool[4] f, float[3] w, int64[4,3] i) =>
        (float[4,3] a, int64[4,3] b, float[4,3] c, float[4,3] d, float[4,3] e) {
        n = NonZero(m) t = Transpose(n) r = Reshape(m, minus) k = Cast<to = 7>(r) s = ReduceSum<keepdims = 1>(k)
        u = Expand(third, s) a = ScatterND(x, t, u) mi = NonZero(i) ti = Transpose(mi) v = GatherND(i, ti)
        v2 = Add(v, one) b = ScatterND(i, ti, v2) f1 = Unsqueeze(f, at1) sx = Shape(x) f2 = Expand(f1, sx)
        nf = NonZero(f2) tf = Transpose(nf) kf = Cast<to = 7>(f) sf = ReduceSum<keepdims = 1>(kf)
        cf = Concat<axis = 0>(sf, three) uf = Expand(third, cf) uf1 = Reshape(uf, minus) c = ScatterND(x, tf, uf1)
        wf = Expand(w, cf) wf1 = Reshape(wf, minus) d = ScatterND(x, tf, wf1)
        g = GatherND(x, t) g2 = Mul(g, third) g3 = Expand(g2, s) e = ScatterND(x, t, g3) }""",
    "padded to a size": """(float[6,3] x, bool[6] m) => (float[4,3] y, float[6] z) {
        g = Compress<axis = 0>(x, m) n = Shape<end = 1>(g) t = Slice(g, at0, four, at0) k = Min(n, four)
        d = Sub(four, k) p = Concat<axis = 0>(at0, at0, d, at0) y = Pad(t, p, third)
        q = Compress(m, m) c = Cast<to = 1>(q) l = Shape(c) six = Constant<value = int64[1] {6}>() e = Sub(six, l)
        o = Concat<axis = 0>(at0, e) z = Pad(c, o) }""",
    "unique slices": """(int64[6,2] x, int64[7,3] f, float[2,5,2] v) => (int64[n,2] a, int64[n] b, int64[6] c,
        int64[n] d, int64[n,2] e, int64[6] h, int64[k,3] o, float[2,l,2] r, int64[k] s) {
        a, b, c, d = Unique<axis = 0>(x) e, none1, h, none2 = Unique<axis = 0, sorted = 0>(x)
        o = Unique<axis = 0>(f) w = Round(v) r = Unique<axis = 1>(w) o2, none3, none4, s = Unique<axis = 0>(f) }""",
    "branches": """(float[4,3] x, bool[4] m) => (float[n,3] y, float[n,3] z) {
        g = Compress<axis = 0>(x, m) q = Size(g) e = Equal(q, none)
        y = If(e) <then_branch = a () => (float[0,3] p) { p = Constant<value = float[0,3] {}>() },
                   else_branch = b () => (float[k,3] p) { p = Mul(g, g) }>
        z = Loop(three, , g) <body = l (int64 i, bool c, float[k,3] v) => (bool d, float[k,3] w)
            { d = Identity(c) w = Add(v, g) }> }""",
    "detections": """(float[14,4] b, float[14] s, int64[14] l) => (float[n,4] ob, float[n] os, int64[n] ol) {
        m = Greater(s, third) i = NonZero(m) k = Reshape(i, minus) b1 = Gather(b, k) s1 = Gather(s, k) l1 = Gather(l, k)
        most = ReduceMax<keepdims = 0>(b) f = Cast<to = 1>(l1) o = Mul(f, most) o1 = Unsqueeze(o, at1) b2 = Add(b1, o1)
        b3 = Unsqueeze(b2, at0) s2 = Unsqueeze(s1, at0) s3 = Unsqueeze(s2, at0)
        y = NonMaxSuppression(b3, s3, many, overlap) j = Slice(y, at2, three, at1) p = Squeeze(j, at1)
        top = Slice(p, at0, four, at0) ob = Gather(b1, top) os = Gather(s1, top) ol = Gather(l1, top) }""",
}
Feeds = dict[str, NDArray[Any]]


def _random(model: onnx.ModelProto, rng: np.random.Generator, share: float) -> Feeds:
    """Random inputs, with so many of the Booleans and scores set."""
    feeds: Feeds = {}
    for entry in model.graph.input:
        proto = entry.type.tensor_type
        shape = [size.dim_value for size in proto.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(proto.elem_type)
        if entry.name == "b":
            feeds[entry.name] = np.sort(rng.uniform(0, 4, (shape[0], 2, 2)), axis=1).reshape(shape).astype(dtype)
        elif dtype.kind == "b":
            feeds[entry.name] = rng.random(shape) < share
            feeds[entry.name].flat[0] |= share > 0
        else:
            values = rng.standard_normal(shape) + share if dtype.kind == "f" else rng.integers(0, 4, shape)
            feeds[entry.name] = values.astype(dtype)
    return feeds


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_those_of_onnx_runtime(name: str, tmp_path: Path) -> None:
    signature, _, nodes = MODELS[name].partition(") {")
    model = onnx.parser.parse_model(f"{HEAD}{signature}) {NUMBERS} {{{nodes}")
    onnx.save(model, tmp_path / "m.onnx")
    rng = np.random.default_rng(sorted(MODELS).index(name))
    shares = (0.4, 0.9) if name in ("shapes", "slices", "regions") else (0.4, 0.9, 0.0)
    sets = [_random(model, rng, share) for share in shares]
    arrays = {f"s{n}_in_{k}": array for n, feeds in enumerate(sets) for k, array in enumerate(feeds.values())}
    np.savez(tmp_path / "v.npz", allow_pickle=False, **arrays)
    words = ("--inputs", tmp_path / "v.npz", "--outputs", tmp_path / "out.npz", "--board", "host")
    done = tflmgen("run", tmp_path / "m.onnx", *words)
    assert done.code == 0, done.err
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    with np.load(tmp_path / "out.npz") as outputs:
        for n, feeds in enumerate(sets):
            for k, expected in enumerate(session.run(None, feeds)):
                actual = outputs[f"s{n}_out_{k}"]
                assert actual.shape == np.shape(expected), (n, k)
                np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5, err_msg=f"set {n}, output {k}")
