"""un.from_torch with operations of the library, normalize() and to_torch()."""

import collections
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import unstarve as un  # noqa: E402
from dataloader_support import same  # noqa: E402
from image_support import decoded, encoded, pixels  # noqa: E402

FILES = [encoded(pixels(40 + i, 60 - i, i), quality=92) for i in range(12)]
Sample = collections.namedtuple("Sample", "image label")


class Images(torch.utils.data.Dataset):
    """Images of a kind, with their index as label, in a structure."""

    def __init__(self, kind="bytes", structure="tuple"):
        self.kind, self.structure = kind, structure

    def __len__(self):
        return len(FILES)

    def __getitem__(self, i):
        array = decoded(FILES[i])
        image = {"bytes": lambda: FILES[i], "array": lambda: array,
                 "tensor": lambda: torch.from_numpy(array.copy()).permute(2, 0, 1)}[self.kind]()
        return {"tuple": (image, i), "list": [image, i], "named": Sample(image, i), "bare": image,
                "dict": {"image": image, "label": i}}[self.structure]


class Many(Images):
    def __getitems__(self, indices):
        return [self[i] for i in indices]


def images_of(batch):
    return batch["image"] if isinstance(batch, dict) else batch[0] if isinstance(batch, list | tuple) else batch


def steps(start):
    return start.shuffle(5).random_resized_crop(24).flip().color_jitter()


def expected(epoch, normalize=None):
    """Images of a Pipeline over the same files, by sample."""
    pipeline = steps(un.from_source(FILES, labels=None))
    pipeline = pipeline.output("uint8") if normalize is None else pipeline.normalize(*normalize)
    with pipeline.batch(4) as loader:
        loader.set_epoch(epoch)
        return {int(i): image for images, _, ids in itertools.islice(loader.batches(), 3)
                for i, image in zip(ids, images, strict=True)}


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 2}, {"workers": 2, "kind": "threads"}])
@pytest.mark.parametrize("make", [Images, Many])
def test_the_images_are_those_of_a_pipeline(make, options):
    plain = steps(un.from_torch(make())).options(**options)
    with plain.batch(4) as loader, plain.normalize(*un.IMAGENET).batch(4) as normalised:
        for epoch in range(2):
            by_sample, floats = expected(epoch), expected(epoch, un.IMAGENET)
            seen = []
            for (images, labels), (values, _) in zip(loader, normalised, strict=True):
                assert images.dtype == torch.uint8 and images.shape == (4, 24, 24, 3)
                assert values.dtype == torch.float32 and values.shape == (4, 3, 24, 24)
                for image, value, label in zip(images, values, labels.tolist(), strict=True):
                    assert np.array_equal(image.permute(2, 0, 1).numpy(), by_sample[label])
                    assert np.array_equal(value.numpy(), floats[label])
                seen += labels.tolist()
            assert sorted(seen) == list(range(12))


@pytest.mark.parametrize("kind", ["bytes", "array", "tensor"])
@pytest.mark.parametrize("structure", ["tuple", "list", "named", "bare", "dict"])
def test_every_kind_of_image_and_structure(kind, structure):
    by_sample = expected(0)
    order = [label for _, labels in steps(un.from_torch(Images())).options(workers=0).batch(4)
             for label in labels.tolist()]
    batches = list(steps(un.from_torch(Images(kind, structure))).options(workers=0).batch(4))
    for number, batch in enumerate(batches):
        images = images_of(batch)
        images = images if kind == "tensor" else images.permute(0, 3, 1, 2)
        for image, label in zip(images, order[4 * number:], strict=False):
            assert np.array_equal(image.numpy(), by_sample[label])
        if structure == "named":
            assert type(batch) is Sample
        if structure == "dict":
            assert batch["label"].tolist() == order[4 * number:4 * number + 4]


def half(sample):
    return sample[0][::2], sample[1]


def test_functions_and_operations_run_in_their_order():
    pipeline = un.from_torch(Images("array")).sequential().resize((24, 20)).map(half).flip(p=1)
    loader = pipeline.options(workers=2).batch(6)
    for images, labels in loader:
        for image, label in zip(images, labels.tolist(), strict=True):
            assert np.array_equal(image.numpy(), un.resize(FILES[label], (24, 20))[::2, ::-1])
    loader.close()


def test_mean_is_that_of_the_normalisation_also_before_a_function():
    start = un.from_torch([np.full((8, 8, 3), 9, np.uint8)]).center_crop(8).options(workers=0)
    erased = start.cutout(20, value="mean")
    mean = np.rint(255 * np.array(un.IMAGENET[0]))
    assert erased.batch(1).__iter__().__next__().unique().tolist() == [0]  # black without normalisation
    assert abs(next(iter(erased.normalize(*un.IMAGENET).batch(1)))).max() < 0.01
    assert abs(next(iter(erased.batch(1).to_torch(normalize=un.IMAGENET)))).max() < 0.01
    between = next(iter(erased.map(lambda image: image).normalize(*un.IMAGENET).batch(1)))
    assert abs(between).max() < 0.01 and mean.max() == 124


def test_resumes_with_the_same_images():
    run = steps(un.from_torch(Images())).options(workers=0).batch(4)
    states, batches = [run.state_dict()], []
    for batch in itertools.chain(run, run):
        batches.append(batch)
        states.append(run.state_dict())
    for at in (1, 3, 4):
        with steps(un.from_torch(Images())).options(workers=2).batch(4) as resumed:
            resumed.load_state_dict(states[at])
            rest = list(resumed)
            assert same(rest, batches[at:at + len(rest)]) and rest


# --- to_torch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bytes", "array", "tensor"])
def test_to_torch_gives_channels_first_on_the_cpu(kind):
    loader = steps(un.from_torch(Images(kind))).options(workers=0).batch(4)
    for normalize, channels_last in itertools.product((None, un.IMAGENET), (False, True)):
        data = loader.to_torch(normalize=normalize, channels_last=channels_last)
        by_sample = expected(0, normalize)
        assert len(data) == 3 and data.samples == 12 and data.epoch == 0
        for images, labels in data:
            assert images.shape == (4, 3, 24, 24)
            assert images.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
            for image, label in zip(images, labels.tolist(), strict=True):
                assert np.array_equal(image.numpy(), by_sample[label])
        assert data.epoch == 1
        data.close()


def test_to_torch_begins_at_the_position_of_its_loader_and_resumes():
    loader = steps(un.from_torch(Images())).options(workers=0).batch(4)
    whole = list(loader.to_torch())
    iterator = iter(loader)
    next(iterator)
    with loader.to_torch() as data:
        state = data.state_dict()
        assert state == loader.state_dict() and same(list(data), whole[1:])
        data.load_state_dict(state)
        assert same(next(iter(data)), whole[1])
        data.set_epoch(0)
        assert same(list(data), whole)


def test_another_device_normalises_there():
    """The meta device has shapes and dtypes only; the arithmetic is compared on the CPU."""
    from unstarve.torch_datasets.tensors import TensorLoader

    loader = steps(un.from_torch(Images())).options(workers=0).batch(4)
    for images, labels in loader.to_torch("meta", normalize=un.IMAGENET, channels_last=True):
        assert images.device.type == labels.device.type == "meta" and images.shape == (4, 3, 24, 24)
        assert images.dtype == torch.float32 and images.is_contiguous(memory_format=torch.channels_last)
    here = TensorLoader(loader.to_torch()._loader, torch.device("cpu"), un.IMAGENET, False)
    for one, other in zip(here, loader.to_torch(normalize=un.IMAGENET), strict=True):
        assert torch.allclose(one[0], other[0], atol=1e-5) and torch.equal(one[1], other[1])


def test_other_batches_are_only_moved():
    data = un.from_torch([(torch.ones(3), "name", 1)] * 4).options(workers=0).batch(2).to_torch("meta")
    values, names, numbers = next(iter(data))
    assert values.device.type == numbers.device.type == "meta" and names == ("name", "name")


@pytest.mark.parametrize(("make", "message"), [
    (lambda start: start.operation("sharpen"), "unknown operation 'sharpen'"),
    (lambda start: start.resize(0), "parameter 'size'"),
    (lambda start: start.resize(un.schedule({0: 8})), "found a schedule; expected constant values"),
    (lambda start: start.normalize(*un.IMAGENET).flip(), "found after normalize"),
    (lambda start: start.normalize(*un.IMAGENET).normalize(*un.IMAGENET), "normalize: found a second time"),
    (lambda start: start.normalize((0, 0), (1, 1)), "three"),
    (lambda start: start.normalize((0, 0, 0), (1, 0, 1)), "std"),
    (lambda start: start.normalize(*un.IMAGENET).batch(2).to_torch(normalize=un.IMAGENET), "found after normalize"),
    (lambda start: start.flip().map(half).batch(2).to_torch(normalize=un.IMAGENET), "found after map"),
    (lambda start: start.batch(2).to_torch(channels_last=True), "without operations or normalize"),
    (lambda start: start.batch(2).to_torch(normalize=3), "expected .mean, std."),
])
def test_invalid_steps_are_rejected(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make(un.from_torch(Images()).options(workers=0))


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 1}])
def test_a_sample_without_an_image_is_named(options):
    for dataset, error, message in (
            ([(b"\xff\xd8\xff", 0)], un.errors.InputError, "^.*from_torch sample 0: resize image: "),
            ([{"label": 0}], un.errors.ArgumentError, r"sample 0: found a dict of .'label'.; expected the key 'image'"),
            ([(3.5, 0)], un.errors.ArgumentError, "sample 0: resize image: found float; expected an encoded image")):
        with un.from_torch(dataset).resize((8, 8)).options(**options).batch(1) as loader:
            with pytest.raises(error, match=f"(?s){message}"):
                next(iter(loader))


def test_samples_of_different_sizes_are_named():
    with pytest.raises(un.errors.InputError, match="from_torch: sample 1 cannot be stacked with the others"):
        list(un.from_torch(Images()).sequential().flip().options(workers=0).batch(2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_receives_the_same_batches():
    loader = steps(un.from_torch(Images())).options(workers=2).batch(4)
    for one, other in zip(loader.to_torch("cuda", normalize=un.IMAGENET), loader.to_torch(normalize=un.IMAGENET),
                          strict=True):
        assert torch.allclose(one[0].cpu(), other[0], atol=1e-5) and torch.equal(one[1].cpu(), other[1])


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_missing_gpu_is_an_error():
    with pytest.raises(un.errors.MissingError, match="finds 0 GPUs"):
        un.from_torch(Images()).flip().batch(2).to_torch("cuda")
