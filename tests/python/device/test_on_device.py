"""Operations on the device are bit-equal to the host. On the CPU the code of the kernels runs."""

import pytest

import unstarve as un

SMALL = "synthetic:classes=10,images=200,size=32,seed=1"
torch = pytest.importorskip("torch")


def pipeline():
    return (un.open(SMALL).shuffle(3).random_resized_crop(24).flip().color_jitter().rand_augment().aug_mix().erasing()
            .normalize(*un.CIFAR10))


def both(ours, theirs):
    """The batches of both, which are equal."""
    for one, other in zip(ours, theirs, strict=True):
        assert len(one) == len(other)
        for mine, part in zip(one, other, strict=True):
            assert torch.equal(mine.cpu(), part)
        yield one


def equal(ours, theirs):
    return sum(1 for _ in both(ours, theirs))


def settings():
    return [{}, {"channels_last": True, "dtype": torch.bfloat16}, {"normalize": un.IMAGENET}]


@pytest.mark.parametrize("options", settings())
def test_every_epoch_is_bit_equal_to_the_host(options):
    loader = pipeline().batch(32, last="pad").to_torch(operations="device", **options)
    plain = pipeline().batch(32, last="pad").to_torch(**options)
    for _ in range(2):
        assert equal(loader, plain) == 7
    images = next(iter(loader))[0]
    assert images.is_contiguous(memory_format=torch.channels_last) == bool(options.get("channels_last"))


def test_resumes_from_a_state():
    loader = pipeline().batch(32).to_torch(operations="device")
    batches = iter(loader)
    next(batches), next(batches)
    state = loader.state_dict()
    resumed, plain = pipeline().batch(32).to_torch(operations="device"), pipeline().batch(32).to_torch()
    resumed.load_state_dict(state)
    plain.load_state_dict(state)
    assert equal(resumed, plain) == 4
    assert equal(loader, plain) == 6  # each in its second epoch


def test_float16_is_float32_rounded():
    half = next(iter(pipeline().batch(32).to_torch(operations="device", dtype=torch.float16)))[0]
    single = next(iter(pipeline().batch(32).to_torch()))[0]
    assert half.dtype == torch.float16
    assert torch.equal(half, single.to(torch.float16))


def test_uint8_of_operations_that_change_the_size():
    def sized():
        return un.open(SMALL).resize(40).center_crop(30).rotation(20).resize((20, 28)).output("uint8")

    assert equal(sized().batch(50).to_torch(operations="device"), sized().batch(50).to_torch()) == 4
    assert next(iter(sized().batch(50).to_torch(operations="device")))[0].shape == (50, 3, 20, 28)


def test_operations_that_follow_a_schedule():
    def scheduled():
        return (un.open(SMALL).shuffle(3).random_resized_crop(un.schedule({0: 16, 1: 24, 3: 20})).flip()
                .rand_augment(magnitude=un.schedule({0: 2, 4: 10}, between="linear")).batch(32))

    loader, plain = scheduled().to_torch(operations="device"), scheduled().to_torch()
    for side in (16, 24, 24, 20):
        shapes = {tuple(ours[0].shape[2:]) for ours in both(loader, plain)}
        assert shapes == {(side, side)}
    assert loader.shapes[0] == (3, None, None)


def test_properties_describe_the_whole_pipeline():
    loader, plain = pipeline().batch(32).to_torch(operations="device"), pipeline().batch(32)
    assert loader.shapes == plain.shapes
    assert loader.to_yaml() == pipeline().device("cpu", operations="device").batch(32).to_yaml()
    assert "operation   random_resized_crop" in loader.explain()
    assert "device      rand_augment: 24x24 -> 24x24, random" in loader.explain()
    assert "device" not in plain.to_torch().explain().replace("normalise_on_device", "")


def test_operations_that_require_the_host_are_reported():
    start = un.open(SMALL).shuffle(0)
    for wrong, message in ((start.flip(), "operations: no operation has a fixed output size"),
                           (start.repeat(2).center_crop(24), "order: a mixture, repeat"),
                           (start.center_crop(24).mixup(0.2), r"batch_operations\[0\]: mixup works on batches on")):
        with pytest.raises(un.errors.ArgumentError, match=message):
            wrong.batch(8).to_torch(operations="device")
    with pytest.raises(un.errors.ArgumentError, match='device.operations: .*found "gpu"; expected one of host, device'):
        start.center_crop(24).batch(8).to_torch(operations="gpu")
    with pytest.raises(un.errors.ArgumentError, match="float64"):
        start.center_crop(24).batch(8).to_torch(operations="device", dtype=torch.float64)
    if not torch.cuda.is_available():
        with pytest.raises(un.errors.MissingError, match="cuda:0"):
            start.center_crop(24).batch(8).to_torch("cuda:0", operations="device")


@pytest.mark.parametrize("options", settings())
def test_a_gpu_is_bit_equal_to_the_host(options):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    loader = pipeline().batch(32).to_torch("cuda", operations="device", **options)
    for _ in range(2):
        assert equal(loader, pipeline().batch(32).to_torch(**options)) == 6
        loader.set_epoch(0)
