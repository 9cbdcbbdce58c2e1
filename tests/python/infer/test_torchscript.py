"""`unstarve export` of TorchScript files: ONNX Runtime agrees with the module within 2e-5 of the largest value."""

import pytest
from export_support import assert_close, exported, kinds, outputs, run_export

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


class Residual(nn.Module):
    """With operators in place, as torchvision writes them."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=2, dilation=2)

    def forward(self, x):
        y = self.relu(self.norm(self.conv1(x)))
        y = self.conv2(y)
        y += x
        return self.relu(y)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, (3, 5), stride=(2, 1), padding="valid")
        self.block = Residual()
        self.pools = nn.ModuleList([nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1)])
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = self.block(F.relu6(self.stem(x)))
        x = torch.cat([pool(x) for pool in self.pools], 1)
        x = F.adaptive_avg_pool2d(x, (1, 1))
        x = x.view(x.size(0), -1)
        return F.softmax(self.head(self.drop(x)), 1)


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding="same")
        self.same = nn.Conv2d(4, 4, (2, 4), padding="same")
        self.linear = nn.Linear(4, 6)

    def forward(self, x):
        x = F.pad(self.conv(x), [1, 2, 0, 1], mode="reflect")
        x = F.hardswish(x) + F.silu(x) - F.gelu(x) * F.hardsigmoid(x) + torch.sigmoid(x) / 3
        x = F.hardtanh(self.same(x), -0.5, 0.75).clamp(min=-0.25)
        x = 2.0 * F.avg_pool2d(F.pad(x, [1, 1, 1, 1], value=0.5), 2, count_include_pad=False)
        x = self.linear(x.permute(0, 2, 3, 1))  # of a tensor with 4 dimensions
        x = torch.transpose(x, 1, 3).contiguous().mean([2, 3], keepdim=True).squeeze(3).unsqueeze(1)
        return torch.flatten(x, 1) + 1


def statistics(module):
    """A module in evaluation mode whose batch norms have the statistics of random images."""
    torch.manual_seed(3)
    module.train()
    with torch.no_grad():
        for _ in range(3):
            module(torch.randn(4, 3, 20, 20))
    return module.eval()


@pytest.mark.parametrize("kind", ["traced", "scripted"])
@pytest.mark.parametrize("module", [Images, Activations])
def test_modules_agree_before_and_after_the_passes(module, kind, tmp_path):
    torch.manual_seed(1)
    network = statistics(module())
    images = torch.randn(2, 3, 20, 20)
    with torch.no_grad():
        expected = network(images).numpy()
        script = torch.jit.trace(network, images) if kind == "traced" else torch.jit.script(network)
    torch.jit.save(script, tmp_path / "m.pt")
    for name, options in (("all", []), ("none", ["--passes", "remove_identities=off,fold_constants=off,"
                                                 "fold_batch_norm=off"])):
        out = tmp_path / f"{name}.onnx"
        exported(tmp_path / "m.pt", out, "--image-size", 20, *options)
        assert_close(outputs(out, images.numpy()), expected)
    assert len(kinds(tmp_path / "all.onnx")) < len(kinds(tmp_path / "none.onnx"))


# The last windows exceed the padded images: in both dimensions, and in one while the other has a window too many; in
# none; and without zeros that count.
@pytest.mark.parametrize("pool", [
    nn.AvgPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d((2, 3), (3, 2), 1, ceil_mode=True),
    nn.AvgPool2d(2, 2, 1, ceil_mode=True), nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    nn.AvgPool2d(3, 2, ceil_mode=True),
], ids=str)
def test_averages_of_windows_beyond_the_padding_agree_in_both_engines(pool, tmp_path):
    openvino = pytest.importorskip("openvino")
    torch.manual_seed(1)
    images = torch.rand(2, 3, 16, 16) + 1
    torch.jit.save(torch.jit.trace(pool, images), tmp_path / "m.pt")
    exported(tmp_path / "m.pt", tmp_path / "m.onnx", "--image-size", 16)
    expected = pool(images).numpy()
    assert_close(outputs(tmp_path / "m.onnx", images.numpy()), expected)
    model = openvino.compile_model(tmp_path / "m.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert_close(model([images.numpy()])[0], expected)
    exported(tmp_path / "m.onnx", tmp_path / "again.onnx")
    assert_close(outputs(tmp_path / "again.onnx", images.numpy()), expected)


class Aliases(nn.Module):
    """The input of an operator in place is read after it."""

    def forward(self, x):
        y = x * 2
        F.relu(y, inplace=True)
        return y + x


def test_an_operator_in_place_changes_what_is_read_later(tmp_path):
    images = torch.randn(2, 3, 8, 8)
    expected = Aliases()(images).numpy()
    torch.jit.save(torch.jit.script(Aliases()), tmp_path / "m.pt")
    exported(tmp_path / "m.pt", tmp_path / "m.onnx", "--image-size", 8)
    assert_close(outputs(tmp_path / "m.onnx", images.numpy()), expected)


class ChangesAViewedTensor(nn.Module):
    """The view changes with its tensor."""

    def forward(self, x):
        y = x * 2
        view = y.flatten(1)
        y.relu_()
        return view + x.flatten(1)


class ViewAfterTheChange(nn.Module):
    def forward(self, x):
        y = x * 2
        y.add_(x).relu_()
        return y.flatten(1) + x.flatten(1)


def test_a_view_of_a_tensor_that_changes_is_right_or_unsupported(tmp_path):
    images = torch.randn(2, 3, 8, 8)
    for module in (ChangesAViewedTensor(), ViewAfterTheChange()):
        for kind, script in (("scripted", torch.jit.script(module)), ("traced", torch.jit.trace(module, images))):
            torch.jit.save(script, tmp_path / "m.pt")
            process = run_export(tmp_path / "m.pt", tmp_path / "m.onnx", "--image-size", 8)
            if isinstance(module, ChangesAViewedTensor) and process.returncode == 3:
                assert "aten::relu_ of a tensor with a view" in process.stderr, kind
                continue
            assert process.returncode == 0, process.stderr
            assert_close(outputs(tmp_path / "m.onnx", images.numpy()), module(images).numpy())


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.cumsum(torch.sort(x)[0], 1) + torch.sort(torch.relu(x))[0]


def test_unsupported_operators_are_listed_all_together(tmp_path):
    torch.jit.save(torch.jit.script(Unsupported()), tmp_path / "m.pt")
    process = run_export(tmp_path / "m.pt", tmp_path / "m.onnx")
    assert process.returncode == 3
    assert "found 2 unsupported operators: aten::cumsum (node 'cumsum'); aten::sort (nodes 'sort', 'sort_1')" in \
        process.stderr
    assert not (tmp_path / "m.onnx").exists()


def test_a_state_dict_is_converted_and_a_folder_needs_a_checkpoint(tmp_path):
    def message(model, *options):
        process = run_export(model, tmp_path / "o.onnx", *options)
        assert process.returncode != 0
        return process.stderr.strip()

    state = tmp_path / "r.pth"
    torch.save({"weight": torch.ones(3)}, state)
    convert = f"unstarve.weights.convert('{state}', 'weights.safetensors') in Python"
    assert message(state) == (
        f"unstarve: read '{state}': found no TorchScript (PytorchStreamReader failed locating file constants.pkl: file "
        f"not found); expected a file of torch.jit.save. Convert a state_dict with {convert}")
    assert message(state, "--model", "resnet18").endswith(f"Remove --model, or convert a state_dict with {convert}")
    folder = tmp_path / "ck"
    folder.mkdir()
    assert message(folder) == (
        f"unstarve: read '{folder}': found no checkpoint; expected a file step-N.safetensors")
    weights = folder / "m.safetensors"
    weights.write_bytes(bytes(5))
    assert message(folder).endswith(f"expected a file step-N.safetensors. Pass {weights}")
    damaged = message(weights, "--model", "resnet18")
    assert damaged.count(str(weights)) == 1, damaged


class DividesByTheBatch(nn.Module):
    def forward(self, x):
        if x.size(0) > 100:
            x = x + 1
        return x / x.size(0) + x.mean() * x.shape[0]


def test_computations_with_the_open_batch_size_are_unsupported(tmp_path):
    torch.jit.save(torch.jit.script(DividesByTheBatch()), tmp_path / "m.pt")
    process = run_export(tmp_path / "m.pt", tmp_path / "m.onnx")
    assert process.returncode == 3
    assert "aten::gt with the batch size (node 'gt')" in process.stderr
    torch.jit.save(torch.jit.trace(DividesByTheBatch(), torch.ones(2, 3, 8, 8)), tmp_path / "m.pt")
    process = run_export(tmp_path / "m.pt", tmp_path / "m.onnx")
    assert process.returncode == 3
    assert "aten::div with the batch size (node 'div')" in process.stderr
    assert "aten::mul with the batch size (node 'mul')" in process.stderr


class ChecksShapes(nn.Module):
    """Conditions on shapes are evaluated by the importer."""

    def forward(self, x):
        if x.dim() != 4 or x.shape[1] < 3:
            raise ValueError("expected images")
        sizes = x.size()
        y = x.view(sizes[0], -1) if len(sizes) == 4 else x
        return y.view(x.shape[0], 3, sizes[2], x.size(3)) * 2


def test_conditions_on_shapes_are_evaluated(tmp_path):
    images = torch.randn(2, 3, 8, 8)
    torch.jit.save(torch.jit.script(ChecksShapes()), tmp_path / "m.pt")
    exported(tmp_path / "m.pt", tmp_path / "m.onnx", "--image-size", 8)
    assert_close(outputs(tmp_path / "m.onnx", images.numpy()), 2 * images.numpy())


def test_a_state_dict_is_named_as_such(tmp_path):
    torch.save({"w": torch.ones(2)}, tmp_path / "m.pt")
    process = run_export(tmp_path / "m.pt", tmp_path / "m.onnx")
    assert process.returncode == 3
    assert "found no TorchScript" in process.stderr
    assert "unstarve.weights.convert(" in process.stderr
    assert "\n" not in process.stderr.strip()


@pytest.mark.parametrize("name", ("none.pt", "none.onnx", "checkpoints"))
def test_a_missing_file_is_an_error(tmp_path, name):
    process = run_export(tmp_path / name, tmp_path / "m.onnx")
    assert process.returncode == 3
    assert "No such file" in process.stderr
