"""`unstarve export` of ONNX files that the onnx package wrote: ONNX Runtime computes the same from both, within 1e-5 of
the largest value. Files that cannot be read give one clear error."""

import numpy as np
import pytest
from export_support import assert_close, checked, exported, kinds, outputs, run_export

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

DRAWS = np.random.default_rng(4)


def normal(*shape):
    return DRAWS.normal(size=shape).astype(np.float32)


def typed(name, array):
    """A tensor in the typed fields of the format instead of raw data."""
    return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape,
                              array.flatten().tolist())


def save(path, nodes, constants=(), shape=("N", 3, 16, 16), opset=17, outputs=("y",), element=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, "tested", [helper.make_tensor_value_info("x", element, shape)],
                              [helper.make_tensor_value_info(name, element, None) for name in outputs],
                              list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], name=f"node_{output}", **attributes)


def constant(output, array):
    return helper.make_node("Constant", [], [output], value=numpy_helper.from_array(array, output))


def agree(path, out, shape=(2, 3, 16, 16)):
    images = normal(*shape)
    assert_close(outputs(out, images), outputs(path, images), rtol=1e-5)


@pytest.mark.parametrize("opset", [13, 14, 17, 18, 20, 22, 25])
@pytest.mark.parametrize("make", [typed, lambda name, array: numpy_helper.from_array(array, name)],
                         ids=["typed_fields", "raw_data"])
def test_typed_and_raw_weights_optional_inputs_and_constants(opset, make, tmp_path):
    nodes = [
        constant("low", np.array(-1.0, np.float32)),
        constant("pads", np.array([0, 0, 1, 2, 0, 0, 0, 1], np.int64)),
        node("Pad", ["x", "pads"], "padded"),
        node("Conv", ["padded", "w"], "conv", auto_pad="SAME_UPPER", strides=[2, 3]),
        node("BatchNormalization", ["conv", "s", "b", "m", "v"], "norm", momentum=0.8),
        node("Clip", ["norm", "low"], "lower"),
        node("Clip", ["lower", "", "high"], "clipped"),
        node("Dropout", ["clipped"], "dropped"),
        node("MaxPool", ["dropped"], "pooled", kernel_shape=[2, 2], auto_pad="SAME_LOWER"),
        node("Identity", ["wide"], "wide_again"),
        node("Mul", ["pooled", "wide_again"], "scaled"),
        node("Reshape", ["scaled", "shape"], "rows"),
        node("MatMul", ["rows", "turned"], "y"),
        node("Transpose", ["matrix"], "turned"),
    ]
    nodes.insert(-2, nodes.pop())  # topological order
    constants = [make("w", normal(4, 3, 3, 3)), make("s", normal(4)), make("b", normal(4)), make("m", normal(4)),
                 make("v", np.abs(normal(4)) + 0.5), make("high", np.array(1.5, np.float32)),
                 make("wide", normal(4, 1, 1)), make("shape", np.array([-1, 4 * 9 * 7], np.int64)),
                 make("matrix", normal(5, 4 * 9 * 7))]
    path = save(tmp_path / "in.onnx", nodes, constants, opset=opset)
    before = path.read_bytes()
    result = exported(path, tmp_path / "out.onnx")
    agree(path, tmp_path / "out.onnx")
    assert path.read_bytes() == before
    assert [entry["changed"] for entry in result["passes"]] == [2, 1, 1]
    assert "Transpose" not in kinds(tmp_path / "out.onnx")
    assert checked(tmp_path / "out.onnx").opset_import[0].version == 17


def test_quantised_files_keep_their_int8_weights(tmp_path):
    nodes = [
        node("QuantizeLinear", ["x", "sx", "zx"], "qx"),
        node("DequantizeLinear", ["qx", "sx", "zx"], "dx"),
        node("DequantizeLinear", ["qw", "sw", "zw"], "dw", axis=0),
        node("DequantizeLinear", ["qb", "sb"], "db", axis=0),
        node("Conv", ["dx", "dw", "db"], "conv"),
        node("Relu", ["conv"], "y"),
    ]
    scale = np.full(8, 0.02, np.float32)
    constants = [numpy_helper.from_array(array, name) for name, array in (
        ("sx", np.array(0.03, np.float32)), ("zx", np.array(7, np.int8)),
        ("qw", DRAWS.integers(-128, 128, (8, 3, 3, 3)).astype(np.int8)), ("sw", scale), ("zw", np.zeros(8, np.int8)),
        ("qb", DRAWS.integers(-900, 900, 8).astype(np.int32)), ("sb", scale * 0.03))]
    path = save(tmp_path / "in.onnx", nodes, constants)
    result = exported(path, tmp_path / "out.onnx")
    agree(path, tmp_path / "out.onnx")
    assert kinds(tmp_path / "out.onnx") == [node.op_type for node in nodes]
    assert [entry["changed"] for entry in result["passes"]] == [0, 0, 0]


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_halves_in_typed_fields_are_cast(element, tmp_path):
    values = [0.5, -1.25, 2.0**-20 if element == "float16" else 3.0]
    code = TensorProto.FLOAT16 if element == "float16" else TensorProto.BFLOAT16
    half = helper.make_tensor("half", code, [3, 1, 1], values)
    assert half.int32_data
    assert not half.raw_data
    path = save(tmp_path / "in.onnx", [node("Cast", ["half"], "whole", to=TensorProto.FLOAT),
                                       node("Mul", ["x", "whole"], "y")], [half])
    assert exported(path, tmp_path / "out.onnx")["passes"][1]["changed"] == 1
    images = normal(1, 3, 16, 16)
    assert_close(outputs(tmp_path / "out.onnx", images), images * np.float32(values).reshape(3, 1, 1), rtol=1e-6)


def test_unsupported_operators_are_listed_all_together_with_their_nodes(tmp_path):
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["inner"])], "branch", [],
                               [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)])
    nodes = [
        constant("yes", np.array(1, np.float32)),
        node("Cast", ["yes"], "condition", to=TensorProto.BOOL),
        node("If", ["condition"], "chosen", then_branch=branch, else_branch=branch),
        node("Sin", ["chosen"], "sine"),
        node("Sin", ["sine"], "again"),
        helper.make_node("FusedConv", ["again"], ["fused"], name="fast", domain="com.vendor"),
        node("Clip", ["fused", "x"], "y"),
    ]
    graph = helper.make_graph(nodes, "tested", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.vendor", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "in.onnx")
    process = run_export(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert process.returncode == 3
    assert "found 5 unsupported operators: " in process.stderr
    for part in ("Cast to the type code 9 (node 'node_condition')", "If (node 'node_chosen')",
                 "Sin (nodes 'node_sine', 'node_again')", "com.vendor::FusedConv (node 'fast')",
                 "Clip whose lower bound is not constant (node 'node_y')"):
        assert part in process.stderr
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("opset", [13, 14])
@pytest.mark.parametrize("training", [True, False])
def test_a_batch_norm_in_training_mode_is_unsupported(tmp_path, opset, training):
    constants = [numpy_helper.from_array(np.abs(normal(3)), name) for name in ("s", "b", "m", "v")]
    mode = {"training_mode": int(training)} if opset >= 14 else {}
    outputs_ = ["y", "mean", "var", "saved_mean", "saved_var"][:(3 if opset >= 14 else 5) if training else 1]
    norm = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], outputs_, name="norm", **mode)
    path = save(tmp_path / "in.onnx", [norm], constants, opset=opset)
    if not training:
        exported(path, tmp_path / "out.onnx")
        agree(path, tmp_path / "out.onnx")
        return
    process = run_export(path, tmp_path / "out.onnx")
    assert process.returncode == 3
    assert f"BatchNormalization {'with training_mode=1' if opset >= 14 else 'in training mode'} (node 'norm')" in (
        process.stderr)


def simple(tmp_path, **options):
    weight = numpy_helper.from_array(normal(4, 3, 3, 3), "w")
    return save(tmp_path / "in.onnx", [node("Conv", ["x", "w"], "y")], [weight], **options)


def error_of(path, tmp_path, *options):
    process = run_export(path, tmp_path / "out.onnx", *options)
    assert process.returncode in (2, 3), process.stdout
    assert not (tmp_path / "out.onnx").exists()
    assert len(process.stderr.strip().splitlines()) == 1
    return process.stderr


def test_open_dimensions_name_the_value_that_is_needed(tmp_path):
    path = simple(tmp_path, shape=("N", 3, "height", "width"))
    message = error_of(path, tmp_path)
    assert "dimension 2 of input 'x' is open ('height'); expected a number, because only the batch size may be open. " \
           "Pass --image-size" in message
    exported(path, tmp_path / "out.onnx", "--image-size", 20)
    agree(path, tmp_path / "out.onnx", (2, 3, 20, 20))


def test_a_fixed_size_differs_from_the_requested_one(tmp_path):
    assert "input 'x' has images of 16 pixels; expected the requested 20" in \
        error_of(simple(tmp_path), tmp_path, "--image-size", 20)


@pytest.mark.parametrize("opset", [11, 29])
def test_other_opsets_are_rejected(opset, tmp_path):
    assert f"found opset {opset}; expected 13 to 28" in error_of(simple(tmp_path, opset=opset), tmp_path)


def external(tmp_path, **entries):
    """A file whose weights are in weights.bin, with changed entries of their description."""
    model = onnx.load(simple(tmp_path))
    onnx.save(model, tmp_path / "in.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = onnx.load(tmp_path / "in.onnx", load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        entry.value = entries.get(entry.key, entry.value)
    (tmp_path / "in.onnx").write_bytes(model.SerializeToString())
    return tmp_path / "in.onnx"


def test_weights_in_another_file_are_read(tmp_path, monkeypatch):
    path = external(tmp_path)
    exported(path, tmp_path / "out.onnx")
    agree(path, tmp_path / "out.onnx")
    monkeypatch.chdir(tmp_path)
    exported("in.onnx", "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


@pytest.mark.parametrize(("entries", "message"), [
    ({"location": "../weights.bin"}, "is stored in '../weights.bin'; expected a file in the folder of the model"),
    ({"location": "/etc/passwd"}, "is stored in '/etc/passwd'; expected a file in the folder of the model"),
    ({"location": ""}, "is stored in ''; expected a file in the folder of the model"),
    ({"location": "link"}, "is stored in 'link'; expected a file in the folder of the model"),
    ({"location": "none.bin"}, "none.bin"),
    ({"offset": "8"}, "has 432 bytes at 8 of 'weights.bin'; expected a range within its 432 bytes"),
    ({"offset": "18446744073709551615"}, "expected a range within its 432 bytes"),
    ({"length": "18446744073709551615"}, "expected a range within its 432 bytes"),
    ({"length": "400"}, "constant 'w' has 400 bytes; expected the 432 of float32 [4, 3, 3, 3]"),
    ({"length": "-1"}, "has the length '-1'; expected a number of bytes"),
])
def test_wrong_descriptions_of_weights_in_another_file(tmp_path, entries, message):
    path = external(tmp_path, **entries)
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert message in error_of(path, tmp_path)


def integers(name, *values, scalar=False):
    return numpy_helper.from_array(np.array(values[0] if scalar else values, np.int64), name)


def computed_shape(*shape_nodes, reshaped="shape", constants=(), **reshape):
    """Conv, then a Reshape to a shape that nodes compute from that of the Conv."""
    weight = numpy_helper.from_array(normal(4, 3, 3, 3), "w")
    nodes = [node("Conv", ["x", "w"], "conv"), node("Shape", ["conv"], "of"), *shape_nodes,
             node("Reshape", ["conv", reshaped], "flat", **reshape), node("Relu", ["flat"], "y")]
    return {"nodes": nodes, "constants": [weight, *constants]}


FLATTEN = {
    # As torch.onnx writes x.view(x.size(0), -1), x.view(-1, x.size(1) * ...), and newer versions of it.
    "gather": computed_shape(
        node("Gather", ["of", "i"], "batch"), node("Unsqueeze", ["batch", "axis"], "vector"),
        node("Concat", ["vector", "rest"], "shape", axis=0),
        constants=[integers("i", 0, scalar=True), integers("axis", 0), integers("rest", -1)]),
    "channels": computed_shape(
        node("Gather", ["of", "i"], "two"), node("Concat", ["two", "rest"], "shape", axis=0),
        constants=[integers("i", 0, -3), integers("rest", 196)]),
    "slice": computed_shape(
        node("Slice", ["of", "begin", "end"], "first"), node("Cast", ["first"], "cast", to=TensorProto.INT64),
        node("Squeeze", ["cast"], "scalar"), node("Unsqueeze", ["scalar", "axis"], "vector"),
        node("Concat", ["vector", "rest"], "shape", axis=0),
        constants=[integers("begin", 0), integers("end", 1), integers("axis", 0), integers("rest", 784)]),
    "unchanged": computed_shape(reshaped="of"),
    "part": computed_shape(node("Shape", ["conv"], "part", start=0, end=-2),
                           node("Concat", ["part", "rest"], "shape", axis=0), constants=[integers("rest", -1)]),
    "allowzero": computed_shape(
        node("Shape", ["conv"], "part", end=1), node("Concat", ["part", "rest"], "shape", axis=0),
        constants=[integers("rest", 784)], allowzero=1),
    "constant": computed_shape(reshaped="shape", constants=[integers("shape", -1, 784)], allowzero=1),
}


@pytest.mark.parametrize("batch", ["N", 2])
@pytest.mark.parametrize("name", FLATTEN)
def test_computed_shapes_become_those_of_a_reshape(name, batch, tmp_path):
    path = save(tmp_path / "in.onnx", shape=(batch, 3, 16, 16), opset=18, **FLATTEN[name])
    exported(path, tmp_path / "out.onnx")
    agree(path, tmp_path / "out.onnx")
    assert {"Shape", "Gather", "Slice"}.isdisjoint(kinds(tmp_path / "out.onnx"))


@pytest.mark.parametrize(("parts", "message"), [
    (computed_shape(node("Gather", ["of", "i"], "shape"), constants=[integers("i", 4)]),
     "node 'node_shape' (Gather): found index 4 in the computation of a shape; expected one of 4 dimensions"),
    (computed_shape(node("Concat", ["of"] * 17, "shape", axis=0)), "found 68 values in the computation of a shape"),
    (computed_shape(node("Unsqueeze", ["of", "i"], "shape"), constants=[integers("i", 0)]),
     "found Unsqueeze of 4 values"),
    (computed_shape(node("Add", ["of", "i"], "shape"), constants=[integers("i", 0)]),
     "found 2 unsupported operators: Add of a computed shape (node 'node_shape'); Reshape whose shape is not constant"),
    (computed_shape(node("Shape", ["of"], "shape")), "Shape of a shape (node 'node_shape')"),
    (computed_shape(node("Cast", ["of"], "shape", to=TensorProto.INT32)), "Cast of a shape to another type than int64"),
    (computed_shape(node("Shape", ["conv"], "part", end=1), node("Concat", ["part", "rest"], "shape", axis=0),
                    constants=[integers("rest", 0, -1)], allowzero=1), "found a dimension of 0 in the computation"),
    (computed_shape(constants=[integers("shape", 0, -1)], allowzero=1), "Reshape to a shape with a dimension of 0"),
    (computed_shape(reshaped="of", constants=[]) | {"outputs": ("of",)}, "an output is 'of', which is not computed"),
])
def test_other_computations_of_shapes_are_named(parts, message, tmp_path):
    path = save(tmp_path / "in.onnx", opset=18, **parts)
    assert message in error_of(path, tmp_path)


@pytest.mark.parametrize("batch", ["dynamic", "fixed"])
def test_files_of_the_exporter_of_pytorch(batch, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.features = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, 2, 1), torch.nn.BatchNorm2d(8), torch.nn.ReLU6(), torch.nn.Conv2d(8, 8, 1),
                torch.nn.Hardswish(), torch.nn.Dropout(0.1))
            self.gate = torch.nn.Conv2d(8, 8, 1)
            self.classifier = torch.nn.Linear(8 * 8 * 8, 10)

        def forward(self, x):
            x = self.features(x)
            x = x * self.gate(x.mean((2, 3), keepdim=True)).sigmoid()
            return self.classifier(x.view(x.size(0), -1))

    network = Network().eval()
    images = torch.from_numpy(normal(2, 3, 16, 16))
    shapes = ({0: torch.export.Dim("batch")},) if batch == "dynamic" else None
    torch.onnx.export(network, (images,), tmp_path / "in.onnx", dynamic_shapes=shapes, verbose=False)
    assert (tmp_path / "in.onnx.data").exists()
    exported(tmp_path / "in.onnx", tmp_path / "out.onnx")
    with torch.no_grad():
        assert_close(outputs(tmp_path / "out.onnx", images.numpy()), network(images).numpy())


@pytest.mark.parametrize("keep", [0, 1])
def test_axes_of_a_mean_as_input(keep, tmp_path):
    nodes = [node("ReduceMean", ["x", "axes"], "y", keepdims=keep)]
    path = save(tmp_path / "in.onnx", nodes, [integers("axes", 2, 3)], opset=18)
    exported(path, tmp_path / "out.onnx")
    agree(path, tmp_path / "out.onnx")


def test_truncated_files_give_one_error(tmp_path):
    data = simple(tmp_path).read_bytes()
    for size in [0, 1, 7, *range(20, len(data), 61), len(data) - 1]:
        (tmp_path / "cut.onnx").write_bytes(data[:size])
        assert "read '" in error_of(tmp_path / "cut.onnx", tmp_path)


def test_the_model_is_never_overwritten(tmp_path):
    path = simple(tmp_path)
    before = path.read_bytes()
    (tmp_path / "link.onnx").symlink_to(path)
    for out in (path, tmp_path / "link.onnx"):
        process = run_export(path, out)
        assert process.returncode == 2
        assert "expected another file than the model itself" in process.stderr
        assert path.read_bytes() == before


def test_the_output_is_an_onnx_file_in_an_existing_folder(tmp_path):
    path = simple(tmp_path)
    assert "expected the name of an ONNX file" in run_export(path, tmp_path / "out.pb").stderr
    assert run_export(path, tmp_path / "none" / "out.onnx").returncode == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.onnx"]


def test_the_wrong_number_of_classes_is_rejected(tmp_path):
    assert "its output is [batch, 4, 14, 14]; expected [batch, 10]" in \
        error_of(simple(tmp_path), tmp_path, "--classes", 10)
    assert "--model: found resnet18 for" in error_of(simple(tmp_path), tmp_path, "--model", "resnet18")
