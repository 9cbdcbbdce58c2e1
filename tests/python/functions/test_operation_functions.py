"""One function per operation: the same pixels as a pipeline's, for every kind of image."""

import inspect
import itertools
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import unstarve as un
from image_support import decoded, encoded, pixels
from unstarve.functions import operations, stubs

NAMES = [name for name, _ in un.operations()]
IMAGE = pixels(48, 64)
SIZES = {"resize": {"size": (33, 20)}, "random_resized_crop": {"size": 24}, "center_crop": {"size": 40},
         "pad_crop": {"size": 32}, "cutout": {"size": 12},
         "one_of": {"choices": "invert; gaussian_blur sigma=1,1"}}


def always(name):
    """Parameters with which the operation changes the image."""
    known = {row[0] for row in un._core.operation_parameters(name)}
    return SIZES.get(name, {}) | ({"probability": 1} if "probability" in known else {})


def function(name):
    return getattr(un, name)


def of_pipeline(name, seed, epoch, samples, image=IMAGE):
    """The first operation's results for samples 0, 1, ... of an epoch."""
    pipeline = un.from_source([image] * samples, labels=None).shuffle(seed).operation(name, **always(name))
    with pipeline.output("uint8", "NHWC").batch(1) as loader:
        loader.set_epoch(epoch)
        made = {int(ids[0]): images[0] for images, _, ids in itertools.islice(loader.batches(), samples)}
    return [made[i] for i in range(samples)]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_pixels_of_a_pipeline(name):
    for epoch, expected in ((0, of_pipeline(name, 7, 0, 3)), (4, of_pipeline(name, 7, 4, 3))):
        drawn = "seed" in inspect.signature(function(name)).parameters
        for sample, image in enumerate(expected):
            seed = {"seed": (7, epoch, sample)} if drawn else {}
            assert np.array_equal(function(name)(IMAGE, **always(name), **seed), image)
            if drawn and (epoch, sample) == (0, 0):
                assert np.array_equal(function(name)(IMAGE, **always(name), seed=7), image)


@pytest.mark.parametrize("name", NAMES)
def test_all_kinds_of_images_give_the_same_pixels(name, tmp_path):
    torch = pytest.importorskip("torch")
    data = encoded(IMAGE, quality=92)
    path = tmp_path / "x.jpg"
    path.write_bytes(data)
    image = decoded(data)
    options = always(name) | ({"seed": 5} if "seed" in inspect.signature(function(name)).parameters else {})
    before = image.copy()
    expected = function(name)(image, **options)
    assert expected.dtype == np.uint8 and expected.shape[2] == 3 and expected.flags.c_contiguous
    strided = np.repeat(np.repeat(image, 2, 0), 3, 1)[::2, ::3]
    backwards = np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]
    planar = np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0)
    frozen = image.copy()
    frozen.flags.writeable = False
    for same in (data, path, str(path), strided, backwards, planar, frozen, Image.fromarray(image)):
        assert np.array_equal(function(name)(same, **options), expected)
    for tensor in (torch.from_numpy(image.copy()).permute(2, 0, 1), torch.from_numpy(planar.transpose(2, 0, 1).copy()),
                   torch.frombuffer(bytearray(data), dtype=torch.uint8)):
        made = function(name)(tensor, **options)
        assert made.dtype == torch.uint8 and made.is_contiguous()
        assert np.array_equal(made.permute(1, 2, 0).numpy(), expected)
    assert np.array_equal(image, before)


def test_functions_equal_those_of_pillow():
    always_ = {"probability": 1}
    image = Image.fromarray(IMAGE)
    for made, theirs in ((un.horizontal_flip(IMAGE, **always_), ImageOps.mirror(image)),
                         (un.vertical_flip(IMAGE, **always_), ImageOps.flip(image)),
                         (un.invert(IMAGE, **always_), ImageOps.invert(image)),
                         (un.solarize(IMAGE, threshold=100, **always_), ImageOps.solarize(image, 100)),
                         (un.posterize(IMAGE, bits=3, **always_), ImageOps.posterize(image, 3)),
                         (un.equalize(IMAGE, **always_), ImageOps.equalize(image)),
                         (un.grayscale(IMAGE, **always_), image.convert("L").convert("RGB")),
                         (un.resize(IMAGE, (24, 32), interpolation="nearest"),
                          image.resize((32, 24), Image.Resampling.NEAREST))):
        assert np.array_equal(made, np.asarray(theirs))


def test_resize_equals_torch_s_kernel():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(pixels(100, 140)).permute(2, 0, 1)
    for mode in ("bilinear", "bicubic"):
        theirs = torch.nn.functional.interpolate(tensor[None].contiguous(memory_format=torch.channels_last), (40, 50),
                                                 mode=mode, antialias=True)[0]
        assert torch.equal(un.resize(tensor, (40, 50), interpolation=mode), theirs)


# --- random numbers -------------------------------------------------------------------------------------------------


def test_calls_draw_independently_from_the_module_random():
    random.seed(3)
    first = [un.random_resized_crop(IMAGE, 16) for _ in range(8)]
    assert len({image.tobytes() for image in first}) == 8
    random.seed(3)
    assert all(np.array_equal(un.random_resized_crop(IMAGE, 16), image) for image in first)
    state = random.getstate()
    un.resize(IMAGE, 20)
    un.brightness(IMAGE, factor=1.2)  # nothing is drawn without need
    un.random_resized_crop(IMAGE, 16, seed=1)
    assert random.getstate() == state


def test_generators_of_every_library_are_accepted():
    torch = pytest.importorskip("torch")
    for make in (lambda: random.Random(4), lambda: np.random.default_rng(4),
                 lambda: torch.Generator().manual_seed(4)):
        generator = make()
        drawn = [un.random_resized_crop(IMAGE, 16, generator=generator).tobytes() for _ in range(4)]
        assert len(set(drawn)) == 4
        assert un.random_resized_crop(IMAGE, 16, generator=make()).tobytes() == drawn[0]


class Crops:
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return int(un.random_resized_crop(IMAGE, 16).sum())


def test_draws_follow_the_worker_seeds_of_torch_and_the_samples_of_our_loader():
    torch = pytest.importorskip("torch")

    def epoch(make, workers, seed):
        loader = make(Crops(), batch_size=4, num_workers=workers, generator=torch.Generator().manual_seed(seed))
        return torch.cat(list(loader)).tolist()

    theirs = torch.utils.data.DataLoader
    first = epoch(theirs, 2, 1)
    assert len(set(first)) > 10 and epoch(theirs, 2, 1) == first and epoch(theirs, 2, 2) != first
    ours = epoch(un.DataLoader, 2, 1)
    assert ours == epoch(un.DataLoader, 1, 1) and len(set(ours)) > 10


# --- arguments ------------------------------------------------------------------------------------------------------


def test_the_choices_of_one_of_may_be_a_list_as_in_a_pipeline():
    listed = [("invert", {"probability": 1}), ("gaussian_blur", {"sigma": (1, 1), "probability": 1})]
    text = "invert probability=1; gaussian_blur sigma=1,1 probability=1"
    for seed in range(8):
        np.testing.assert_array_equal(un.one_of(IMAGE, listed, seed=seed), un.one_of(IMAGE, choices=text, seed=seed))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: un.one_of(IMAGE, [3]), un.errors.ArgumentError, r"one_of\(choices\): found 3; expected the name"),
    (lambda: un.one_of(IMAGE, 3), un.errors.ArgumentError, r"one_of\(choices\): found 3; expected a list"),
    (lambda: un.solarize(IMAGE, threshold=None), un.errors.ArgumentError,
     r"solarize\(threshold\): found None; expected a number"),
    (lambda: un.solarize(IMAGE, threshold={}), un.errors.ArgumentError, r"solarize\(threshold\): found {}; expected"),
    (lambda: un.resize(IMAGE), TypeError, "missing a required argument: 'size'"),
    (lambda: un.solarize(IMAGE, 100), TypeError, r"found 2 positional arguments; expected 1: image"),
    (lambda: un.solarize(IMAGE, treshold=3), TypeError, "treshold"),
    (lambda: un.resize(IMAGE, 20, seed=3), TypeError, "seed"),
    (lambda: un.solarize(IMAGE, threshold=999), un.errors.ArgumentError, "'threshold' is .999.; expected an integer"),
    (lambda: un.resize(IMAGE, "big"), un.errors.ArgumentError, "operation resize: parameter 'size'"),
    (lambda: un.resize(IMAGE, (1, 2, 3)), un.errors.ArgumentError, "operation resize: parameter 'size'"),
    (lambda: un.invert(IMAGE.astype(np.float32)), un.errors.ArgumentError,
     r"^invert image: found float32 \(48, 64, 3\); expected an encoded image .* NumPy array uint8"),
    (lambda: un.invert(IMAGE[..., 0]), un.errors.ArgumentError, r"found uint8 \(48, 64\); .* repeat a grey channel"),
    (lambda: un.invert(np.dstack([IMAGE, IMAGE[..., :1]])), un.errors.ArgumentError, r"found uint8 \(48, 64, 4\)"),
    (lambda: un.invert(None), un.errors.ArgumentError, "found NoneType; expected"),
    (lambda: un.invert(IMAGE[:, :0]), un.errors.ArgumentError, "^invert found an image of height 48 and width 0"),
    (lambda: un.invert(np.broadcast_to(IMAGE[:1, :1], (1, 65_501, 3))), un.errors.ArgumentError, "sides of 1 to 65500"),
    (lambda: un.invert(b"\xff\xd8\xff"), un.errors.InputError, "^invert image: "),
    (lambda: un.invert(IMAGE, seed=1, generator=random.Random()), un.errors.ArgumentError, "both seed and generator"),
    (lambda: un.invert(IMAGE, seed=-1), un.errors.ArgumentError, r"invert\(seed\): found -1; expected 0"),
    (lambda: un.invert(IMAGE, seed=(1, 2)), un.errors.ArgumentError, r"expected a number, or \(seed, epoch, sample\)"),
    (lambda: un.invert(IMAGE, seed=(1, 2**32, 3)), un.errors.ArgumentError, "epoch: found 4294967296"),
    (lambda: un.invert(IMAGE, generator=np.random), un.errors.ArgumentError, "found module; expected a random.Random"),
])
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("name", "valid", "equal"), [("resize", {"size": 8, "antialias": True}, {"antialias": 1}),
                                                      ("resize", {"size": 1}, {"size": True}),
                                                      ("resize", {"size": 1}, {"size": np.True_}),
                                                      ("resize", {"size": (1, 8)}, {"size": (True, 8)}),
                                                      ("resize", {"size": (1, 8)}, {"size": np.array([True, True])}),
                                                      ("solarize", {"p": 1}, {"p": True})])
def test_a_value_of_another_type_is_invalid_also_after_an_equal_one_that_is_valid(name, valid, equal):
    for first in ({}, valid):
        if first:
            function(name)(IMAGE, **first)
        with pytest.raises(un.errors.ArgumentError):
            function(name)(IMAGE, **valid | equal)


def test_tensors_of_another_form_are_named():
    torch = pytest.importorskip("torch")
    with pytest.raises(un.errors.ArgumentError, match=r"found uint8 \(48, 64, 3\); expected .* \(3, height, width\)"):
        un.invert(torch.from_numpy(IMAGE.copy()))
    with pytest.raises(un.errors.ArgumentError, match=r"found float32 \(3, 4, 5\)"):
        un.invert(torch.zeros(3, 4, 5))
    with pytest.raises(un.errors.ArgumentError, match=r"found a tensor on meta; expected one on the CPU"):
        un.invert(torch.zeros(3, 4, 5, dtype=torch.uint8, device="meta"))


# --- the module -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_repeated_and_reversed_rows_are_images_like_others(name):
    row, column = IMAGE[:1, :40], IMAGE[:40, :1]
    for view in (row, np.broadcast_to(row, (40, 40, 3)), IMAGE[0][None], IMAGE[:40][::-1], column[::-1]):
        expected = np.ascontiguousarray(view)
        drawn = {"seed": 5} if "seed" in inspect.signature(function(name)).parameters else {}
        if 40 in view.shape[:2] or name not in ("center_crop", "cutout"):
            assert np.array_equal(function(name)(view, **always(name), **drawn),
                                  function(name)(expected, **always(name), **drawn))


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_a_documented_function(name):
    made = function(name)
    assert made is getattr(un.functions, name) and made.__name__ == name and name in dir(un.functions)
    listed = list(inspect.signature(made).parameters)
    parameters = {"p" if row[0] == "probability" else row[0] for row in un._core.operation_parameters(name)}
    assert "above" not in made.__doc__.splitlines()[0]  # its position in a table
    assert listed[0] == "image" and parameters <= set(listed)
    for parameter in listed:
        assert f"\n    {parameter}: " in made.__doc__
    assert pickle.loads(pickle.dumps(made)) is made
    schema = un.schema()["properties"]["operations"]["items"]["anyOf"][1]["properties"][name]
    assert {"probability" if one == "p" else one for one in listed} - {"image", "seed", "generator"} == set(
        schema["properties"])
    assert json.dumps(schema["description"]).strip('"').split(":")[0].lower() == made.__doc__.split(".\n")[0].lower()


FAMILIAR = [("flip", {"p": 1}, "horizontal_flip", {"p": 1}),
            ("random_erasing", {"p": 1}, "erasing", {"p": 1}),
            ("random_crop", {"size": 16}, "pad_crop", {"size": 16, "padding": 0}),
            ("random_rotation", {"degrees": 20}, "rotation", {"degrees": (-20, 20), "interpolation": "nearest"}),
            ("random_rotation", {"degrees": (5, 9)}, "rotation", {"degrees": (5, 9), "interpolation": "nearest"}),
            ("auto_augment", {}, "auto_augment_imagenet", {}),
            ("auto_augment", {"policy": "svhn"}, "auto_augment_svhn", {})]


@pytest.mark.parametrize(("familiar", "given", "name", "own"), FAMILIAR)
def test_names_of_other_libraries_are_functions_and_operations_of_specs(familiar, given, name, own):
    seed = {"seed": 3} if "seed" in inspect.signature(function(name)).parameters else {}
    assert np.array_equal(function(familiar)(IMAGE, **given, **seed), function(name)(IMAGE, **own, **seed))

    def read(operation, parameters):
        spec = {"source": {"path": "p"}, "operations": [{operation: parameters}]}
        return json.loads(un._core.read_document(json.dumps(spec), ""))

    own = {("probability" if key == "p" else key): value for key, value in own.items()}
    assert read(familiar, given) == read(name, own)


def test_names_of_other_libraries_take_their_positional_argument():
    assert un.random_crop(IMAGE, 16, seed=1).shape == (16, 16, 3)
    assert (un.random_crop(IMAGE, 16, padding=None, seed=1) == un.random_crop(IMAGE, 16, seed=1)).all()
    assert np.array_equal(un.random_rotation(IMAGE, 10, seed=1), un.random_rotation(IMAGE, degrees=(-10, 10), seed=1))
    with pytest.raises(TypeError, match="random_rotation"):
        un.random_rotation(IMAGE)
    with pytest.raises(TypeError, match="Did you mean 'size'"):
        un.random_crop(IMAGE, sise=3)
    assert "random_crop" not in dir(un) and inspect.getdoc(un.random_crop).startswith("As un.pad_crop")


def test_the_stub_is_that_of_the_operations():
    stub = Path(operations.__file__).resolve().with_suffix(".pyi")
    assert stub.read_text() == stubs.stub(), (
        f"regenerate it: python -m unstarve.functions.stubs > {stub}")
    with pytest.raises(AttributeError, match="no attribute 'sharpen'"):
        un.functions.sharpen
    with pytest.raises(AttributeError, match="no attribute 'sharpen'"):
        un.sharpen
