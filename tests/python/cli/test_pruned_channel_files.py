"""Files of networks with pruned channels: what is loaded where, and errors for damaged or inconsistent ones.

The file contains the structure of the network, `unstarve.graph`, next to the tensors.
"""

import base64
import json
import os
import random
import subprocess

import pytest
from export_support import require_openvino, run_export
from safetensors_file import SafetensorsFile
from train_support import finish, start_training, trained

DATA = "synthetic:classes=4,images=96,size=16,seed=2"
RUN = [DATA, "--model", "cifar_net", "--batch", "32", "--precision", "float32", "--operator-threads", "1", "--seed",
       "3", "--learning-rate", "0.01"]
LAYER = "features.3.0.weight"


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A checkpoint from which half of the multiply-adds were removed."""
    folder = tmp_path_factory.mktemp("half")
    trained(*RUN, "--epochs", "1", "--out", folder / "dense.safetensors")
    trained(*RUN, "--prune", "0.5", "--prune-pattern", "channels", "--weights", folder / "dense.safetensors",
            "--epochs", "1", "--out", folder / "half.safetensors")
    return folder / "half.safetensors"


def run(command, *arguments):
    return subprocess.run([os.environ["UNSTARVE"], command, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300)


def graph_of(file):
    onnx = pytest.importorskip("onnx")
    return onnx.load_from_string(base64.b64decode(file.metadata["unstarve.graph"]))


def store_graph(file, graph):
    file.metadata["unstarve.graph"] = base64.b64encode(graph.SerializeToString()).decode()


def set_graph(text):
    return lambda file: file.metadata.update({"unstarve.graph": text})


def cut_graph(file):
    text = file.metadata["unstarve.graph"]
    file.metadata["unstarve.graph"] = text[:len(text) // 8 * 4]


def rename_weights(file):
    graph = graph_of(file)
    next(value for value in graph.graph.input if value.name == LAYER).name = "other.weight"
    for node in graph.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = "other.weight" if name == LAYER else name
    store_graph(file, graph)


def fewer_channels_in_graph(file):
    graph = graph_of(file)
    value = next(value for value in graph.graph.input if value.name == LAYER)
    value.type.tensor_type.shape.dim[0].dim_value -= 8
    store_graph(file, graph)


def unknown_operators(file):
    graph = graph_of(file)
    graph.graph.node[1].op_type, graph.graph.node[2].op_type = "Foo", "Bar"
    store_graph(file, graph)


def without_node(file):
    graph = graph_of(file)
    del graph.graph.node[3]
    store_graph(file, graph)


def without_output(file):
    graph = graph_of(file)
    del graph.graph.output[:]
    store_graph(file, graph)


def fewer_channels_in_tensor(file):
    dtype, (out, *others), values = file.tensors[LAYER]
    file.tensors[LAYER] = dtype, [out - 8, *others], values[:len(values) // out * (out - 8)]


def integers(file):
    file.tensors[LAYER] = "I32", *file.tensors[LAYER][1:]


def without(name):
    return lambda file: file.tensors.pop(name)


INCONSISTENT = {
    "no base64": (set_graph("!"), "found text in unstarve.graph that is not base64; expected an ONNX file"),
    "empty": (set_graph(""), "read 'unstarve.graph': found no graph; expected an ONNX model"),
    "no ONNX": (set_graph("Z2FyYmFnZQ=="), "read 'unstarve.graph': "),
    "cut": (cut_graph, "a field declares"),
    "other name": (rename_weights, "found no tensor 'other.weight' of the graph in unstarve.graph"),
    "fewer channels": (fewer_channels_in_graph, "expected the shape ["),
    "operators": (unknown_operators, "found 2 unsupported operators: Bar (node 'relu'); Foo (node 'batch_norm')"),
    "no node": (without_node, "which is not computed before; expected an input, a constant or the first output"),
    "no output": (without_output, "the graph has no output"),
    "no structure": (lambda file: file.metadata.pop("unstarve.graph"), 'has shape [16, 3, 4, 4]; expected [32, 3, 4'),
    "fewer values": (fewer_channels_in_tensor, f"'{LAYER}': found float32 [88, 40, 3, 3]; expected float32 [96, 40"),
    "integers": (integers, f"weights '{LAYER}': found int32 [96, 40, 3, 3]; expected float32 [96, 40, 3, 3]"),
    "no weights": (without(LAYER), f"found no tensor '{LAYER}' of the graph in unstarve.graph; expected it"),
    "no statistics": (without("features.0.1.running_var"), "found no tensor 'features.0.1.running_var' of the graph"),
}


@pytest.mark.parametrize(("damage", "message"), INCONSISTENT.values(), ids=INCONSISTENT)
def test_an_inconsistent_structure_is_rejected(half, tmp_path, damage, message):
    file = SafetensorsFile(half)
    damage(file)
    path = file.write(tmp_path / "damaged.safetensors")
    for option in ("--resume", "--weights"):
        code, _, errors = finish(start_training(*RUN, "--epochs", "4", option, path))
        assert code == 3 and message in errors and "damaged.safetensors" in errors, errors
    done = run_export(path, tmp_path / "model.onnx")
    assert done.returncode == 3 and message in done.stderr and "damaged.safetensors" in done.stderr, done.stderr
    assert not (tmp_path / "model.onnx").exists()


def test_an_additional_tensor_is_rejected_by_training(half, tmp_path):
    file = SafetensorsFile(half)
    file.tensors["extra.weight"] = "F32", [2], b"\0" * 8
    path = file.write(tmp_path / "more.safetensors")
    for option in ("--resume", "--weights"):
        code, _, errors = finish(start_training(*RUN, "--epochs", "4", option, path))
        assert code == 3 and 'more.safetensors: tensor "extra.weight" does not belong to the model' in errors, errors


@pytest.mark.parametrize(("text", "message"), [
    ('["a"]', 'invalid header: an array near "__metadata__"'), ("null", 'invalid header: null near "__metadata__"'),
    ('{"n": 5}', 'invalid header: the number 5 near "n"'), ('{"n": {"a": "b"}}', 'invalid header: an object near "n"'),
    ('{"a": "1", "a": "2"}', 'invalid header: a duplicate metadata key near "a"'),
    ('{"a": "b}', "the header is not valid JSON at byte")])
def test_wrong_metadata_are_rejected(half, tmp_path, text, message):
    path = SafetensorsFile(half).write(tmp_path / "damaged.safetensors", text)
    code, _, errors = finish(start_training(*RUN, "--epochs", "4", "--resume", path))
    assert code == 3 and f"reading safetensors {path}: {message}" in errors, errors
    done = run_export(path, tmp_path / "model.onnx", "--json")
    assert done.returncode == 3 and message in json.loads(done.stdout)["error"]["message"], done.stdout


def test_changed_bytes_of_the_structure_are_found(half, tmp_path):
    """Among them are bytes that would only change a stride, and bytes that are no UTF-8 in a name."""
    data = half.read_bytes()
    begin = data.index(b'"unstarve.graph":"') + len(b'"unstarve.graph":"')
    end = data.index(b'"', begin)
    draws = random.Random(5)
    for _ in range(12):
        damaged = bytearray(data)
        damaged[draws.randrange(begin, end)] ^= 1 << draws.randrange(7)
        (tmp_path / "damaged.safetensors").write_bytes(damaged)
        done = run_export(tmp_path / "damaged.safetensors", tmp_path / "model.onnx", "--json")
        assert done.returncode == 3, done.stderr
        message = json.loads(done.stdout)["error"]["message"]
        assert any(text in message for text in ("damaged.safetensors: damaged: the checksum of the metadata is",
                                                "invalid header", "not valid JSON")), message


def test_a_changed_tensor_is_found_in_the_named_file(half, tmp_path):
    data = bytearray(half.read_bytes())
    data[-5] ^= 4
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(data)
    done = run_export(path, tmp_path / "model.onnx")
    assert done.returncode == 3
    assert f"reading safetensors {path}: damaged: the checksum of the tensors is" in done.stderr


@pytest.mark.parametrize("option", ["--resume", "--weights"])
def test_another_network_is_rejected(half, option):
    other = ["cifar_speed" if word == "cifar_net" else word for word in RUN]
    code, _, errors = finish(start_training(*other, "--epochs", "4", option, half))
    assert code == 2 and f"--model: found cifar_speed; expected cifar_net, the network of {half}" in errors, errors


def test_a_learning_rate_is_found_for_fewer_channels(half):
    done = run("lr-find", *RUN[:-2], "--weights", half, "--steps", "10", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == "cifar_net"


def test_a_file_is_compressed(half, tmp_path):
    require_openvino()
    done = run("compress", half, "--data", DATA, "--val", DATA, "--image-size", "16", "--images", "32", "--pairs", "6",
               "--engine", "openvino", "--max-accuracy-loss", "0.2", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert os.path.getsize(tmp_path / "model.onnx") < 0.6 * SafetensorsFile(half).size("features.", "fc.")


def test_a_file_is_compared_with_other_networks(half):
    require_openvino()
    done = run("models", "--weights", half, "--size", "16", "--seconds", "0.5", "--engine", "openvino", "--json")
    assert done.returncode == 0, done.stderr
    [network] = json.loads(done.stdout)["networks"]
    assert network["network"] == "cifar_net"
    assert network["weight_bytes"] == pytest.approx(SafetensorsFile(half).size("features.", "fc."), rel=0.01)


def test_a_file_of_training_is_no_model_for_infer(half, tmp_path):
    done = run("infer", half, DATA, "--out", tmp_path / "classes.csv")
    assert done.returncode == 2
    assert 'half.safetensors: found the extension ".safetensors"; expected an ONNX file' in done.stderr


@pytest.mark.parametrize("command", ["compress", "models", "train"])
def test_a_report_does_not_replace_a_file_that_the_command_reads(half, tmp_path, command):
    model = tmp_path / "model.safetensors"
    model.write_bytes(half.read_bytes())
    arguments = {"compress": [model, "--data", DATA, "--out", tmp_path / "small"],
                 "models": ["--weights", f"net={model}", half], "train": [*RUN, "--weights", model]}[command]
    done = run(command, *arguments, "--report", model)
    assert (done.returncode, done.stderr) == \
        (2, f"unstarve: --report: found {model}, which this command reads; expected another file\n")
    assert model.read_bytes() == half.read_bytes()


def test_weights_of_a_training_do_not_replace_those_it_starts_from(half, tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_bytes(half.read_bytes())
    done = run("train", *RUN, "--weights", model, "--out", model)
    assert (done.returncode, done.stderr) == \
        (2, f"unstarve: --out: found {model}, which this command reads; expected another file\n")
    assert model.read_bytes() == half.read_bytes()
