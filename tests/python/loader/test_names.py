"""Names of torch and torchvision are accepted or answered; objects describe themselves."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import unstarve as un

IMAGE = np.zeros((16, 16, 3), np.uint8)
SMALL = "synthetic:classes=10,images=200,size=32,seed=1"


def operations(pipeline):
    return json.loads(pipeline.output("uint8").batch(8).spec)["operations"]


@pytest.mark.parametrize(("theirs", "ours"), [
    (lambda p: p.horizontal_flip(0.3), lambda p: p.flip(0.3)),
    (lambda p: p.random_crop(16, padding=2), lambda p: p.pad_crop(16, 2)),
    (lambda p: p.random_crop((8, 16)), lambda p: p.pad_crop((8, 16), 0)),
    (lambda p: p.random_crop(16, padding=None), lambda p: p.pad_crop(16, 0)),
    (lambda p: p.random_rotation(15), lambda p: p.rotation((-15, 15), interpolation="nearest")),
    (lambda p: p.random_rotation(np.float32(15)), lambda p: p.rotation((-15.0, 15.0), interpolation="nearest")),
    (lambda p: p.random_rotation(np.array([0, 5])), lambda p: p.rotation((0, 5), interpolation="nearest")),
    (lambda p: p.random_rotation((0, 5), p=0.5), lambda p: p.rotation((0, 5), interpolation="nearest", p=0.5)),
    (lambda p: p.random_erasing(0.2), lambda p: p.erasing(0.2)),
    (lambda p: p.gaussian_blur(kernel_size=5), lambda p: p.gaussian_blur(radius=2)),
])
def test_names_of_torchvision_are_those_operations(theirs, ours):
    assert operations(theirs(un.open(SMALL))) == operations(ours(un.open(SMALL)))


@pytest.mark.parametrize(("name", "parameters", "method"), [
    ("flip", {"p": 0.3}, lambda p: p.flip(0.3)),
    ("random_crop", {"size": 16}, lambda p: p.random_crop(16)),
    ("random_crop", {"size": 16, "padding": 2}, lambda p: p.random_crop(16, 2)),
    ("random_rotation", {"degrees": 15}, lambda p: p.random_rotation(15)),
    ("random_rotation", {"degrees": np.int64(15)}, lambda p: p.random_rotation(15)),
    ("random_rotation", {"degrees": (0, 5), "p": 0.5}, lambda p: p.random_rotation((0, 5), p=0.5)),
    ("random_erasing", {"p": 0.2}, lambda p: p.random_erasing(0.2)),
    ("auto_augment", {"policy": "svhn"}, lambda p: p.auto_augment("svhn")),
    ("solarize", {"threshold": 3, "p": 1}, lambda p: p.operation("solarize", threshold=3, probability=1)),
])
def test_operation_accepts_the_names_of_the_methods(name, parameters, method):
    pytest.importorskip("torch")

    def pixels(pipeline):
        return [images.tobytes() for images, _ in pipeline.output("uint8").batch(50)]

    pipeline = un.open(SMALL).operation(name, **parameters)
    assert pixels(pipeline) == pixels(method(un.open(SMALL)))
    assert f"{next(iter(operations(pipeline)[0]))}(" in repr(un.from_torch([1]).operation(name, **parameters))
    if "size" not in parameters:
        choice = (name, parameters)
        assert "one_of" in operations(un.open(SMALL).one_of(choice, "invert"))[0]
        assert operations(un.open(SMALL).one_of([choice, "flip"])) == operations(un.open(SMALL).one_of(choice, "flip"))


def test_functions_call_the_probability_p():
    assert un.invert(IMAGE, p=1).all() and un.invert(IMAGE, probability=1).all() and not un.invert(IMAGE, p=0).any()
    with pytest.raises(TypeError, match=r"invert\(\): found probability=1; expected image, p, "):
        un.invert(IMAGE, p=1, probability=1)
    with pytest.raises(un.errors.ArgumentError, match="found both p and probability"):
        un.open(SMALL).operation("invert", p=1, probability=1)


@pytest.mark.parametrize(("add", "message"), [
    (lambda p: p.operation("gaussian_blurr"), "unknown operation 'gaussian_blurr'. Did you mean 'gaussian_blur'"),
    (lambda p: p.operation("hflip"), r"unknown operation 'hflip'. Use horizontal_flip\(\)"),
    (lambda p: p.operation("gaussian_blur", sigm=3), "unknown parameter 'sigm'; .* Did you mean 'sigma'"),
    (lambda p: p.one_of("inverted"), "Did you mean 'invert'"),
    (lambda p: p.batch_operation("mixupp"), "unknown batch operation 'mixupp'. Did you mean 'mixup'"),
    (lambda p: p.operation("random_rotation"), "random_rotation: found no degrees"),
])
def test_unknown_operations_say_what_to_use(add, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        add(un.open(SMALL))


def test_invalid_kernel_sizes_are_rejected():
    for arguments in ({"kernel_size": 4}, {"kernel_size": 5, "radius": 1}, {"kernel_size": 0}):
        with pytest.raises(un.errors.ArgumentError, match="kernel_size"):
            un.open(SMALL).gaussian_blur(**arguments)


def test_one_of_applies_one_operation_per_sample():
    start = un.open(SMALL).sequential().output("uint8")
    chain = un.open(SMALL).sequential().one_of(("invert", {"probability": 1}), ("horizontal_flip", {"probability": 1}),
                                               weights=[1, 3]).output("uint8")
    def images(pipeline):
        return np.concatenate([images for images, _ in pipeline.batch(50)])
    plain, changed = images(start), images(chain)
    inverted = (changed == 255 - plain).all((1, 2, 3))
    flipped = (changed == plain[..., ::-1]).all((1, 2, 3))
    assert (inverted | flipped).all() and 25 < inverted.sum() < 80
    again = un.from_yaml(chain.batch(50).to_yaml())
    assert np.array_equal(np.concatenate([images for images, _ in again]), changed)
    with pytest.raises(un.errors.ArgumentError, match="changes the size"):
        un.open(SMALL).one_of(("resize", {"size": 8}))
    with pytest.raises(un.errors.ArgumentError, match=r"one_of\(weights\): found 1 for 2"):
        un.open(SMALL).one_of("invert", "solarize", weights=[1])
    with pytest.raises(un.errors.ArgumentError, match="unknown operation 'blur'"):
        un.open(SMALL).one_of("blur")


@pytest.mark.parametrize(("call", "message"), [
    (lambda p: p.shuffle(False), r"shuffle\(seed\): found False; expected an integer. Use sequential\(\)"),
    (lambda p: p.shuffle(seed=True), r"shuffle\(seed\): found True; expected an integer. Omit the argument"),
    (lambda _: un.from_torch([1]).shuffle(False), r"Use sequential"),
    (lambda p: p.take(True), r"take\(n\): found True; expected an integer"),
    (lambda p: p.batch(True), r"batch\(size\): found True; expected an integer"),
    (lambda p: p.subset(np.arange(200) < 5), r"subset\(indices\): found Booleans; .* Use numpy\.flatnonzero\(mask\)"),
])
def test_booleans_are_not_integers(call, message):
    pytest.importorskip("torch")
    with pytest.raises(un.errors.ArgumentError, match=message):
        call(un.open(SMALL))


@pytest.mark.parametrize(("call", "message"), [
    (lambda p: p.batch(8, num_workers=4), r"batch\(\): found num_workers=4; .*Use options\(threads=N\)"),
    (lambda p: p.batch(8, pin_memory=True), r"Use to_torch\('cuda'\)"),
    (lambda p: p.batch(8, shuffle=True), r"Use the step shuffle"),
    (lambda p: p.batch(8, drop_lst=True), "Did you mean 'drop_last'"),
    (lambda p: p.options(num_workers=4), r"threads=N"),
    (lambda p: p.batch(8).to_torch(pin_memory=True), "to_torch.*page-locked"),
    (lambda _: un.open(SMALL, transform=None), "the steps of a pipeline"),
    (lambda p: p.filter(classes=["a"]), r"filter\(\): found classes; .* Use labels, with class names or numbers"),
    (lambda p: p.filter(max_sid=3), r"filter\(\): found max_sid=3; .* Did you mean 'max_side'"),
    (lambda p: p.color_jitter(brightnes=0.1), "Did you mean 'brightness'"),
    (lambda p: p.flip(probability=1), r"flip\(\): found probability=1; expected p\. Use p\."),
    (lambda p: p.batch(8).set_epoch(epoc=1), "Did you mean 'epoch'"),
    (lambda _: un.DataLoader([1], batchsize=4), r"DataLoader\(\): found batchsize=4; .* Did you mean 'batch_size'"),
    (lambda _: un.from_torch([1]).batch(1, dro_last=True), "Did you mean 'drop_last'"),
    (lambda _: un.decode(b"", siz=3), r"decode\(\): found siz=3; .* Did you mean 'size'"),
    (lambda _: un.mix([], weigths=[1]), "Did you mean 'weights'"),
    (lambda _: un.gaussian_blur(IMAGE, sigm=3), r"gaussian_blur\(\): found sigm=3; .* Did you mean 'sigma'"),
    (lambda _: un.resize(IMAGE, 8, seed=3), r"resize\(\): found seed=3; expected image, size, [^.]*$"),
    (lambda _: un.solarize(IMAGE, 100), r"solarize\(\): found 2 positional arguments; expected 1: image\. "
                                        r"Pass the others by name: threshold=100\."),
    (lambda _: un.color_jitter(IMAGE, 0.4), r"by name: brightness=0\.4"),
    (lambda _: un.gaussian_blur(IMAGE, (0.1, 2.0)), r"by name: sigma=\(0\.1, 2\.0\)"),
    (lambda _: un.resize(IMAGE), r"resize\(\): missing a required argument: 'size'; expected image, size"),
])
def test_unknown_arguments_say_what_to_use(call, message):
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=message):
        call(un.open(SMALL))


@pytest.mark.parametrize(("call", "message"), [
    (lambda p: p.batch(8, last="dorp"), r"^batch\(last\): found \"dorp\"; expected one of drop, keep, pad"),
    (lambda p: p.output("int8"), r"^output\(dtype\): found \"int8\""),
    (lambda p: p.cache("pixels", limit_mb=0), r"^cache\(limit_mb\): 0; expected 1 or more"),
    (lambda p: p.normalize(*un.IMAGENET).output("uint8"), r"^output\(dtype\): found 'uint8' after normalize\(\)"),
    (lambda p: p.output("uint8").normalize(*un.IMAGENET), "normalize: output.type was already set to 'uint8'"),
])
def test_messages_name_the_argument(call, message):
    with pytest.raises((un.errors.ArgumentError, un.errors.InputError), match=message) as failure:
        call(un.open(SMALL))
    assert "line 1" not in str(failure.value)


@pytest.mark.parametrize(("get", "message"), [
    (lambda _: un.Dataloader, "Did you mean 'DataLoader'"),
    (lambda _: un.ImageFolder, r"Use un\.open\(folder\)"),
    (lambda _: un.hflip, r"Use horizontal_flip\(\)"),
    (lambda _: un.random_perspective, r"Use perspective\(\)"),
    (lambda p: p.random_horizontal_flip, r"Use horizontal_flip\(\)"),
    (lambda p: p.colour_jitter, "Did you mean 'color_jitter'"),
    (lambda p: p.batch(8).to_pytorch, "Did you mean 'to_torch'"),
    (lambda p: p.batch(8).to, r"Use to_torch\(device\)"),
    (lambda p: p.loader, r"Use batch\(size\), which returns a loader"),
    (lambda p: p.pin_memory, r"Use to_torch\('cuda'\) after batch\(\)"),
    (lambda p: p.prefetch, r"Use options\(prefetch=N\)"),
    (lambda p: p.random_choice, r"Use one_of\(\.\.\.\)"),
    (lambda p: p.solarize, r"Use operation\('solarize'\)"),
    (lambda _: un.load, r"Use un\.open\(path\)"),
    (lambda _: un.image_folder, r"Use un\.open\(folder\)"),
    (lambda _: un.decode_jpeg, r"Use un\.decode\(path\)"),
])
def test_unknown_names_say_what_to_use(get, message):
    with pytest.raises(AttributeError, match=message):
        get(un.open(SMALL))


def test_dir_lists_the_public_names_only():
    names = dir(un)
    assert {"open", "Loader", "decode", "solarize", "DataLoader", "Trainer", "from_torch"} <= set(names)
    assert not {"importlib", "sys", "Any", "TYPE_CHECKING", "operation_functions", "constructors"} & set(names)
    assert all(getattr(un, name) is not None for name in names)


def test_dir_of_a_loader_lists_the_documented_members_only():
    reference = (Path(__file__).resolve().parents[3] / "docs/reference/python.md").read_text()
    section = reference.partition("## Loader")[2].partition("## Trainer")[0]
    undocumented = [name for name in dir(un.Loader) if not name.startswith("_")
                    and not re.search(rf"\b{name}\b", section)]
    assert undocumented == []


@pytest.mark.parametrize("normalise", [
    lambda p: p.normalize((123.7, 116.3, 103.5), (58.4, 57.1, 57.4)),
    lambda p: p.batch(8).to_torch(normalize=((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))),
    lambda p: un.from_torch([1]).normalize((123.7, 116.3, 103.5), (58.4, 57.1, 57.4)),
    lambda p: un.from_torch([1]).batch(1).to_torch(normalize=((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))),
])
def test_constants_for_0_to_255_are_rejected(normalise):
    pytest.importorskip("torch")
    with pytest.raises(un.errors.ArgumentError, match="are for pixel values of 0 to 255; .* Divide both by 255"):
        normalise(un.open(SMALL))


def test_a_path_is_not_a_dataset_of_torch():
    pytest.importorskip("torch")
    with pytest.raises(un.errors.ArgumentError, match=r"from_torch: found 'photos'; .* Use un\.open\(path\)"):
        un.from_torch("photos")


def test_only_the_constants_for_0_to_255_are_to_be_divided():
    with pytest.raises(un.errors.ArgumentError, match=r"Divide std by 255: \(0\.2, 0\.2, 0\.2\)\."):
        un.open(SMALL).normalize((0.5, 0.5, 0.5), (51, 51, 51))
    with pytest.raises(un.errors.ArgumentError, match=r"Divide mean by 255: \(0\.4, 0\.4, 0\.4\)\."):
        un.open(SMALL).normalize((102, 102, 102), (0.2, 0.2, 0.2))


def test_len_and_repr_reflect_the_steps():
    pipeline = un.open(SMALL)
    assert len(pipeline) == pipeline.records == 200
    assert len(pipeline.take(70)) == 70
    assert len(pipeline.take(70).repeat(3)) == 210
    chosen = pipeline.filter(labels=[1, 2])
    assert "filtered from 200 records" in repr(chosen)
    assert len(chosen) == len(pipeline.filter(lambda facts: facts.label in (1, 2))) == chosen.batch(1).samples
    assert f"{len(chosen)} samples" in repr(chosen)
    assert len(pipeline.balance(epoch=33)) == 33
    with pytest.raises(IndexError, match="expected 0 to 199"):
        pipeline.take(5).read(200)
    whole = repr(pipeline.take(70).shuffle(3).random_resized_crop(24).normalize(*un.IMAGENET).batch(10))
    for part in ("70 samples", "7 batches of 10", "float32 (3, 24, 24)", "labels int64", "take(70)", "shuffle(seed=3)",
                 "random_resized_crop(size=24", "normalize(mean=(0.485"):
        assert part in whole, part


def test_every_object_describes_itself():
    torch = pytest.importorskip("torch")
    pipeline = un.open(SMALL).filter(lambda facts: facts.width > 3).one_of("invert", "solarize")
    loader = pipeline.batch(10)
    dataset = torch.utils.data.TensorDataset(torch.zeros(4, 2))
    stepped = un.from_torch([b"x"] * 5).flip(0.3).map(len)
    shown = [pipeline, loader, loader.to_torch("cpu"), pipeline.map(len).batch(5), un.mix([un.open(SMALL)]), stepped,
             stepped.batch(2), un.DataLoader(dataset, num_workers=2)]
    for one in shown:
        assert repr(one).startswith("<unstarve.") and "object at" not in repr(one)
    shown += [stepped.batch(2).to_torch("cpu"), stepped.batch(5, last="keep")]
    for one in shown:
        assert one._repr_html_().startswith("<table>") and "<lambda>" not in one._repr_html_()
    for loader_of_dataset in (shown[6], shown[8]):
        for part in ("list, ", "2 batches of 2", "shuffle(), horizontal_flip(probability=0.3", "map(len"):
            assert part in repr(loader_of_dataset)
    assert "on cpu" in repr(shown[8]) and "list, 5 samples; 1 batch of 5" in repr(shown[9])
    assert "TensorDataset, 4 samples; batches of 1; 2 workers" in repr(shown[7])
    filtering = un.open(SMALL).filter(lambda facts: facts.width > 3).shuffle(1)
    for one in (filtering, filtering.batch(10)):
        assert re.search(r"filter\(.*<lambda>.*\), shuffle\(seed=1\)", repr(one))
    parts = un.open(SMALL).random_split([0.8, 0.2])
    assert "random_split(), samples 0 to 159 of seed 0" in repr(parts[0])
    trainer = un.Trainer(torch.nn.Linear(1, 1), un.open(SMALL).take(2).batch(2), epochs=1)
    assert "Linear of 2 parameters, " in repr(trainer) and "; 1 epoch on" in repr(trainer)
    assert "of 1 batch;" in repr(trainer)
    assert "on cpu" in repr(shown[2]) and "map(len" in repr(shown[3])
    assert "horizontal_flip(probability=0.3" in repr(stepped)


def test_calls_that_do_not_fit_name_the_method_and_its_arguments():
    with pytest.raises(TypeError, match=r"^normalize\(\): missing a required argument: 'mean'; expected mean, std"):
        un.open(SMALL).normalize(std=(1, 1, 1))
    with pytest.raises(un.errors.ArgumentError, match=r"to_torch\(device\): found 'mps'; .* Use 'cpu'"):
        un.open(SMALL).batch(5).to_torch("mps")
    with pytest.raises(TypeError, match="unsupported operand"):  # of the user's own code, unchanged
        un.suggestions.suggesting(lambda value: value + "")(1)
    for wrong in (lambda: un.Loader(), lambda: un.Loader("photos", batch_size=8)):
        with pytest.raises(TypeError, match=r"^un.Loader\(\) is called by batch\(\). Use un.open\(path\).batch"):
            wrong()
    with pytest.raises(TypeError, match=r"^un.Pipeline\(\) is called by open\(\). Use un.open\(path\)"):
        un.Pipeline("photos")


def test_a_newer_loop_ends_the_older_one_with_an_error():
    loader = un.open(SMALL).batch(50)
    first = iter(loader)
    next(first)
    assert len(list(loader)) == 4  # the next epoch
    with pytest.raises(un.errors.CancelledError, match="ended by a newer loop .* expected one loop at a time"):
        next(first)
    # Two loaders do not disturb each other.
    one, two = un.open(SMALL).batch(50), un.open(SMALL).batch(50)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one, two, strict=True))


def test_a_path_with_a_null_character_is_not_cut_off(tmp_path):
    with pytest.raises(un.errors.ArgumentError, match=r"^open: found '.*\\x00x'; expected a path without null char"):
        un.open(f"{tmp_path}\0x")
