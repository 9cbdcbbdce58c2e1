"""The `device` node: the same in Python, YAML and to_torch(), and ignored by everything else."""

import json

import numpy as np
import pytest
import yaml

import unstarve as un

SMALL = "synthetic:classes=10,images=200,size=32,seed=1"
WHOLE = {"name": "cpu", "operations": "device", "decode": "hybrid", "decode_share": 0.25}


def chain():
    return un.open(SMALL).shuffle(3).random_resized_crop(24).flip().color_jitter().normalize(*un.CIFAR10)


def node(text):
    return yaml.safe_load(text).get("device")


def test_yaml_round_trips_the_device():
    assert node(chain().to_yaml()) is None
    pipeline = chain().device("cuda:1", operations="device", decode="gpu_hybrid", decode_share=1 / 3)
    loader = pipeline.batch(8)
    assert node(pipeline.to_yaml()) == {"name": "cuda:1", "operations": "device", "decode": "gpu_hybrid",
                                        "decode_share": 1 / 3}
    again = un.from_yaml(loader.to_yaml())
    assert again.to_yaml() == loader.to_yaml()
    assert again.device == loader.device == node(pipeline.to_yaml())
    assert un.open(SMALL).batch(8).device == {"name": ""}
    # The last call replaces earlier ones completely.
    assert node(chain().device("cuda").to_yaml()) == {"name": "cuda", "operations": "host", "decode": "host"}


def test_without_device_operations_batches_are_those_of_the_host():
    requested, plain = chain().device("cuda", operations="device", decode="hybrid").batch(32), chain().batch(32)
    assert all(np.array_equal(ours[0], theirs[0]) for ours, theirs in zip(requested, plain, strict=True))
    line = ("device      cuda: it applies the operations from operations[1] on, and decodes by nvJPEG (hybrid), a "
            "share of the files chosen by measured rates, in to_torch(); here the host makes complete batches")
    assert line in requested.explain()
    assert "device      cuda, to which to_torch() copies the batches" in chain().device("cuda").batch(8).explain()
    assert "\ndevice " not in plain.explain()


def test_invalid_devices_are_rejected_by_every_loader():
    wrong = un.open(SMALL).flip().device("cpu", operations="device").batch(8)
    with pytest.raises(un.errors.ArgumentError, match="operations: no operation has a fixed output size"):
        next(iter(wrong))
    with pytest.raises(un.errors.InputError, match="device.nam"):
        un.from_yaml(json.dumps({"source": {"path": SMALL}, "device": {"nam": "cpu"}}))


torch = pytest.importorskip("torch")


def test_to_torch_uses_the_device_of_the_pipeline():
    text = chain().device("cpu", operations="device").batch(32).to_yaml()
    loader = un.from_yaml(text).to_torch()
    assert "device      color_jitter" in loader.explain()
    assert loader.to_yaml() == text
    plain = chain().batch(32).to_torch()
    assert plain.device == torch.device("cpu") and node(plain.to_yaml()) == {"name": "cpu", "operations": "host",
                                                                             "decode": "host"}
    for ours, theirs in zip(loader, plain, strict=True):
        assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize(("given", "expected"), [
    ({}, WHOLE),
    ({"device": "cpu"}, WHOLE),
    ({"device": torch.device("cpu")}, WHOLE),
    ({"operations": "device"}, WHOLE),
    ({"decode_share": 0.75}, WHOLE | {"decode_share": 0.75}),
    # Settings that depend on a given argument return to their defaults.
    ({"decode": "hardware"}, {"name": "cpu", "operations": "device", "decode": "hardware"}),
    ({"decode": "host"}, {"name": "cpu", "operations": "device", "decode": "host"}),
    ({"operations": "host"}, {"name": "cpu", "operations": "host"}),
])
def test_arguments_override_the_device_node(given, expected, monkeypatch):
    made = []

    class Reported(Exception):
        pass

    def converted(_self, _loader, _normalize, _dtype, requested):
        made.append(requested)
        raise Reported

    from unstarve.torch import TorchLoader
    monkeypatch.setattr(TorchLoader, "_converted", converted)
    with pytest.raises(Reported):
        un.open(SMALL).center_crop(24).device(**WHOLE).batch(8).to_torch(**given)
    assert made == [expected]


def test_settings_of_another_type_of_device_are_ignored():
    pipeline = chain().device("cuda", operations="device", decode="hybrid", decode_share=0.5)
    loader = pipeline.batch(32).to_torch("cpu")
    assert node(loader.to_yaml()) == {"name": "cpu", "operations": "host", "decode": "host"}
    assert torch.equal(next(iter(loader))[0], next(iter(chain().batch(32).to_torch()))[0])


@pytest.mark.parametrize(("found", "device"), [(0, "cuda"), (0, "cuda:0"), (2, "cuda:2")])
def test_an_unavailable_device_is_a_missing_error(found, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: found)
    pipeline = chain().device("cuda")  # requires no device
    for arguments in ((device,), ()) if device == "cuda" else ((device,),):
        with pytest.raises(un.errors.MissingError,
                           match=f"to_torch.device.: found {device}, but torch .* finds {found} GPUs; expected"):
            pipeline.batch(32).to_torch(*arguments)


@pytest.mark.parametrize("device", ["gpu", "mps", "cuda:x", 7.5])
def test_an_unknown_device_is_rejected(device):
    with pytest.raises(un.errors.ArgumentError, match="expected '?cpu'?, '?cuda"):
        chain().batch(32).to_torch(device)


def test_yaml_contains_dtype_layout_and_normalisation():
    loader = chain().batch(32).to_torch(dtype=torch.float16, channels_last=True, normalize=un.IMAGENET)
    again = un.from_yaml(loader.to_yaml()).to_torch()
    assert again.to_yaml() == loader.to_yaml()
    for ours, theirs in zip(again, loader, strict=True):
        assert ours[0].dtype == torch.float16 and ours[0].is_contiguous(memory_format=torch.channels_last)
        assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("options", [{"device": "cuda"}, {"device": "cpu", "operations": "device"}, {"device": "cpu"}])
def test_properties_describe_the_whole_device_pipeline(options, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    loader = chain().batch(32).to_torch(normalize=un.IMAGENET, dtype=torch.float16, **options)
    output = yaml.safe_load(loader.to_yaml())["output"]
    assert (output["type"], output["layout"]) == ("float16", "NCHW") and loader.layout == "NCHW"
    assert loader.normalisation == (tuple(output["mean"]), tuple(output["std"])) == un.IMAGENET
    assert loader.shapes == ((3, 24, 24), ())


@pytest.mark.parametrize("wrong",
                         [{"operations": "gpu"}, {"decode": "nvjpeg"}, {"decode": "hybrid"}, {"decode_share": 0.5},
                                   {"device": "meta"}])
def test_invalid_arguments_are_rejected_with_their_node(wrong):
    with pytest.raises(un.errors.ArgumentError, match=r"(device\.\w+|to_torch\(device\)): .*expected"):
        chain().batch(8).to_torch(**wrong)
