"""Errors of the loader: bad samples, invalid arguments, classes of exceptions."""

import copy
import io
import json
import os
import pickle
import re
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unstarve as un
from loader_support import SMALL, copies, photos


def test_bad_samples_by_policy(tmp_path):
    pipeline = un.open(photos(tmp_path, bad=(3, 8))).shuffle(0).random_resized_crop(32)
    with pytest.raises(un.errors.InputError, match=r"00[38]\.jpg"):
        copies(pipeline.batch(6))
    skipping = pipeline.errors("skip").batch(6)
    assert sum(len(labels) for _, labels, _ in copies(skipping)) == 22
    assert [Path(location).name for _, location, _ in skipping.bad_samples()] == ["003.jpg", "008.jpg"]
    assert sum(len(labels) for _, labels, _ in copies(pipeline.errors("replace").batch(6))) == 24
    skipping.close()
    assert len(skipping.bad_samples()) == 2 and skipping.profile()["samples"] > 0
    with pytest.raises(un.errors.InputError, match="more than the limit of 1"):
        copies(pipeline.errors("skip", limit=1).batch(6))


def jpeg():
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "jpeg")
    return file.getvalue()


def listed(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_bad_samples_are_those_of_all_epochs_and_loops(tmp_path):
    pipeline = un.open(photos(tmp_path, bad=(3, 8, 20))).sequential().random_resized_crop(32).errors("skip")
    with pipeline.options(threads=1, prefetch=0).batch(2) as loader:
        met = []
        for last in (3, 5, 12):  # each loop reads other samples with new threads
            loader.set_epoch(loader.epoch, last - 3)
            for number, _ in enumerate(loader):
                if number == 2:
                    break
            met.append([bad[0] for bad in loader.bad_samples()])
        files = [Path(loader._dataset.location(number)).name for number in met[-1]]
        assert files == sorted(files) and set(files) <= {"003.jpg", "008.jpg", "020.jpg"} and len(met[-1]) > 1
        assert all(set(before) <= set(after) for before, after in zip(met, met[1:], strict=False))
        loader.set_epoch(7)
        list(loader)
        assert len(loader.bad_samples()) == 3 and loader.bad_samples(1) == loader.bad_samples()[:1]
    assert len(loader.bad_samples()) == 3 and loader.bad_samples(0) == []
    with pytest.raises(un.errors.ArgumentError, match=r"bad_samples\(most\): found -1; expected 0 or more"):
        loader.bad_samples(-1)


@pytest.mark.parametrize("chain", ["plain", "mapped", "torch"])
def test_the_quarantine_list_of_a_loader_is_the_program_s(tmp_path, chain):
    photos(tmp_path / "photos", bad=(3, 8))
    (tmp_path / "photos" / "cat" / "003.jpg").rename(tmp_path / "photos" / "cat" / os.fsdecode(b"caf\xe9.jpg"))
    pipeline = un.open(tmp_path / "photos").random_resized_crop(32).errors("skip")
    if chain == "mapped":
        pipeline = pipeline.map(lambda image, _: image).options(workers=0)
    loader = pipeline.batch(6)
    if chain == "torch":
        pytest.importorskip("torch")
        loader = loader.to_torch()
    path = tmp_path / "bad.jsonl"
    with loader:
        assert loader.write_quarantine(path) == 0 and path.read_text() == ""
        list(loader)
        assert loader.write_quarantine(path) == 2
    latin, plain = listed(path)
    assert plain.keys() == {"file", "offset", "reason"} and plain["offset"] == 0
    assert plain["file"].endswith("dog/008.jpg") and "008.jpg" in plain["reason"]
    assert os.fsdecode(bytes.fromhex(latin["file_bytes"])) == str(tmp_path / "photos" / "cat" / "caf\udce9.jpg")
    assert loader.write_quarantine(str(path)) == 2 and len(listed(path)) == 2  # after close(), and instead of it
    with pytest.raises(un.errors.IoError, match="no such folder"):
        loader.write_quarantine(tmp_path / "no such folder" / "bad.jsonl")
    if chain == "plain" and "UNSTARVE" in os.environ:
        pack = [os.environ["UNSTARVE"], "pack", tmp_path / "photos", tmp_path / "packed", "--format", "webdataset",
                "--exclude", path, "--json"]
        assert json.loads(subprocess.run(pack, capture_output=True, check=True).stdout)["excluded"] == 2


def test_the_quarantine_list_identifies_records_of_shards_by_offset(tmp_path):
    with tarfile.open(tmp_path / "train.tar", "w") as shard:
        for number in range(6):
            data = b"no image" if number == 4 else jpeg()
            for suffix, content in (("jpg", data), ("cls", b"0")):
                member = tarfile.TarInfo(f"{number}.{suffix}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))
    with tarfile.open(tmp_path / "train.tar") as shard:
        offset = shard.getmembers()[8].offset
    with un.open(tmp_path / "train.tar").center_crop(8).errors("skip").batch(2) as loader:
        list(loader)
        loader.write_quarantine(tmp_path / "bad.jsonl")
        (number, location, reason), = loader.bad_samples()
    assert number == 4
    assert listed(tmp_path / "bad.jsonl") == [{"file": str(tmp_path / "train.tar"), "offset": offset, "reason": reason}]
    assert str(offset) in location


@pytest.mark.parametrize("order", ["exact", "relaxed"])
def test_batches_without_good_samples_are_omitted_from_every_epoch(tmp_path, order):
    source = un.open(photos(tmp_path, bad=(5, 7, 20, 22))).sequential()
    pipeline = source.center_crop(32).errors("skip").options(order=order, threads=1)
    for size, many in ((1, 20), (2, 10)):
        with pipeline.batch(size) as loader:
            assert len(loader) == 24 // size and loader._may_omit_batches
            for epoch in range(3):
                assert loader.epoch == epoch
                assert [len(labels) for _, labels in loader] == [size] * many
    # The state after the last good batch, and an earlier one: the rest of the epoch, if any, then whole epochs.
    with pipeline.batch(2) as loader:
        states = [loader.state_dict() for _ in loader]
    for state, left in ((states[-1], 0), (states[-2], 1), (states[0], 9)):
        with pipeline.batch(2) as loader:
            loader.load_state_dict(state)
            assert [len(list(loader)) for _ in range(2)] == [left, 10] and loader.epoch == 2
    with source.shard(1, 2).center_crop(32).errors("skip").batch(1) as loader, pytest.raises(
            un.errors.InputError, match=r"epoch 0 batch 1 is bad.*each of 2 ranks.*errors: replace.*007\.jpg"):
        assert not loader._may_omit_batches
        list(loader)


@pytest.mark.parametrize(("chain", "message"), [
    (lambda p: p.shuffle(3).shuffle(), r"^shuffle: order.shuffle was already set to True by shuffle\(\); exp"),
    (lambda p: p.shuffle().sequential(), "^sequential: order.shuffle was already set to True by shuffle"),
    (lambda p: p.sequential().repeat(2).shuffle(1), "^shuffle: order.shuffle was already set to False by sequential"),
    (lambda p: p.sequential().sequential(), "^sequential: order.shuffle was already set"),
    (lambda p: p.take(5).take(7), "^take: source.take was already set to 5 by take"),
    (lambda p: p.repeat(2).shuffle().repeat(3), "^repeat: order.repeat was already set to 2 by repeat"),
    (lambda p: p.shard(1, 2).shard(0, 2), "^shard: order.rank was already set to 1 by shard"),
    (lambda p: p.balance().balance({0: 3}), "^balance: order.balance was already set to True by balance"),
    (lambda p: un.mix([p, p], epoch=9).balance(epoch=8), "^balance: order.epoch was already set to 9 by mix"),
    (lambda p: p.filter(labels=[3]).filter(labels=[4]), r"source.filter.labels was already set to \['3'\] by"),
    (lambda p: p.filter(min_side=3).filter(max_side=64, min_side=4), "source.filter.min_side was already set to 3"),
    (lambda p: p.decode(max_pixels=9).decode(max_pixels=8), "decode.max_pixels was already set to 9 by decode"),
    (lambda p: p.normalize(*un.CIFAR10).normalize(*un.IMAGENET), "^normalize: output.mean was already set"),
    (lambda p: p.output("uint8").output("float16"), "^output: output.type was already set to 'uint8' by output"),
    (lambda p: p.output("uint8").normalize(*un.CIFAR10), "^normalize: output.type was already set to 'uint8' by"),
    (lambda p: p.cache("pixels").cache("nothing"), "^cache: cache.what was already set to 'pixels' by cache"),
    (lambda p: p.errors("skip").flip().errors(), "^errors: errors.policy was already set to 'skip' by errors"),
    (lambda p: p.device("cpu").device("cuda"), "^device: device.name was already set to 'cpu' by device"),
    (lambda p: p.options(threads=2).options(prefetch=1, threads=3), "^options: execution.threads was already set to"),
    (lambda p: p.options(workers=0).options(workers=2), "^options: workers was already set to 0 by options"),
    (lambda p: p.options(kind="threads").options(kind="threads"), "^options: kind was already set to 'threads'"),
    (lambda p: p.passes(cache=False).passes(crop_into_decode=False).passes(cache=True),
     "passes.cache was already set to False"),
    (lambda p: p.batch(2).batch(3), "batch"),
])
def test_setting_a_value_twice_is_rejected(chain, message):
    with pytest.raises((un.errors.ArgumentError, AttributeError), match=message):
        chain(un.open(SMALL))


def test_steps_that_accumulate_may_be_repeated():
    start = un.open(SMALL)
    spec = json.loads(start.filter(labels=[1, 2]).filter(drop_labels=[2], max_side=99).filter(min_side=2).shuffle()
                      .options(threads=1).flip().flip().options(prefetch=3, autotune=False).passes(cache=False)
                      .output(layout="NHWC").mixup().mixup(p=0.5).passes(crop_into_decode=False).batch(2).spec)
    assert spec["source"]["filter"] == {"labels": ["1", "2"], "drop_labels": ["2"], "max_side": 99, "min_side": 2}
    assert spec["execution"] == {"threads": 1, "prefetch": 3, "autotune": False}
    assert spec["passes"] == {"cache": False, "crop_into_decode": False}
    assert [*map(list, spec["operations"])] == [["horizontal_flip"]] * 2 and len(spec["batch_operations"]) == 2
    # Branches of a chain are independent: a step of one does not affect the other.
    assert start.shuffle(1).batch(2).spec != start.shuffle(2).batch(2).spec
    # output() sets the type, before or after normalize().
    for both in (start.normalize(*un.CIFAR10).output("bfloat16", "NHWC"), start.normalize(*un.CIFAR10),
                 start.output("float32", "NHWC").normalize(*un.CIFAR10)):
        loader = both.batch(2)
        assert loader.normalisation == un.CIFAR10 and loader.dtype in ("bfloat16", "float32")


def test_numpy_numbers_are_accepted_and_other_objects_rejected():
    start = un.open(SMALL)
    plain = start.random_resized_crop(8, scale=(0.25, 0.75)).flip(0.5).batch(4).spec
    assert start.random_resized_crop(np.int64(8), scale=np.array([0.25, 0.75])).flip(np.float32(0.5)).batch(
        np.int16(4)).spec == plain
    assert start.pad_crop(8, fill=np.array([1, 2, 3])).batch(4).spec == start.pad_crop(8, fill=(1, 2, 3)).batch(4).spec
    assert start.filter(np.array(1)).batch(4).spec == start.filter(1).batch(4).spec
    with pytest.raises(un.errors.ArgumentError, match=r"filter\(labels\): found True; expected a class name or num"):
        start.filter(True)
    with pytest.raises(un.errors.ArgumentError, match=r"found \{8\} \(set\); expected a number"):
        start.resize({8})
    with pytest.raises(un.errors.ArgumentError, match=r"batch\(pad\): found 5; expected True, False or"):
        start.batch(4, pad=5)
    for index in (-1, 200):
        with pytest.raises(IndexError, match=f"record {index}: out of range; expected 0 to 199"):
            start.location(index)
    assert start.location(np.int64(3)) == start.location(3)


def test_pipelines_copy_their_arguments():
    sides, magnitude, alpha = np.array([32, 32]), un.schedule({0: 4, 3: 8}), un.schedule({0: 0.5})
    pipeline = un.open(SMALL).resize(sides).rand_augment(magnitude=magnitude).mixup(alpha)
    before = pipeline.to_yaml()
    sides[:] = 8
    magnitude["schedule"]["0"] = 30
    alpha["schedule"]["0"] = 3
    assert pipeline.to_yaml() == before


def test_pipelines_copy_to_themselves_and_are_not_picklable():
    pipeline = un.open(SMALL).shuffle(1)
    assert copy.copy(pipeline) is copy.deepcopy({"data": pipeline})["data"] is pipeline
    with pytest.raises(TypeError, match="pickle: found a Pipeline.*; expected .* each process"):
        pickle.dumps(pipeline)
    for loader in (pipeline.batch(4), pipeline.map(np.abs).options(workers=0).batch(4)):
        for no in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="copy or pickle: found a Loader.*; expected one loader per process"):
                no(loader)


def test_images_of_too_many_pixels_are_bad_samples(tmp_path):
    folder = tmp_path / "photos" / "class"
    folder.mkdir(parents=True)
    for number in range(6):
        Image.new("RGB", (90, 80 + number)).save(folder / f"{number}.png")
    pipeline = un.open(tmp_path / "photos").sequential().decode(max_pixels=90 * 83)
    pipeline = pipeline.random_resized_crop(32).errors("skip")
    loader = pipeline.batch(3)
    assert sum(len(labels) for _, labels, _ in copies(loader)) == 4
    reasons = [reason for _, _, reason in loader.bad_samples()]
    assert all(f"png too large: 90 x {side} pixels; decode.max_pixels is 7470" in reason
               for side, reason in zip((84, 85), reasons, strict=True))


def test_explain_counts_the_images_of_each_decoder(tmp_path):
    folder = tmp_path / "photos" / "class"
    folder.mkdir(parents=True)
    for number in range(7):
        Image.effect_noise((90, 80), 60).convert("RGB").save(folder / f"{number}.jpg", progressive=number < 2)
    Image.new("CMYK", (90, 80)).save(folder / "inks.jpg")
    Image.new("RGB", (90, 80)).save(folder / "lossless.png")
    loader = un.open(tmp_path / "photos").shuffle(0).random_resized_crop(32).batch(3)

    def decoded():
        found = re.findall(r"^decoded +(\d+) images by (.*)$", loader.explain(), re.MULTILINE)
        return {name: int(count) for count, name in found}

    assert not decoded()
    copies(loader)
    counts = decoded()  # including prefetched samples of the next epoch
    least = {"own JPEG decoder": 5, "libpng": 1, "libjpeg-turbo: progressive": 2,
             "libjpeg-turbo: neither greyscale nor YCbCr": 1}
    assert counts.keys() == least.keys() and all(counts[name] >= least[name] for name in least)


def test_a_loop_can_be_run_again_after_an_error(tmp_path):
    loader = un.open(photos(tmp_path, bad=(3,))).sequential().random_resized_crop(32).batch(6)
    for _ in range(2):
        loader.set_epoch(0)
        with pytest.raises(un.errors.InputError):
            copies(loader)


@pytest.mark.parametrize(("make", "message"), [
    (lambda p: p.batch_operation("mixdown"), "unknown batch operation 'mixdown'; known: one_hot"),
    (lambda p: p.flip().shuffle(), r"shuffle\(\) after horizontal_flip\(\)"),
    (lambda p: p.normalize(*un.IMAGENET).flip(), r"horizontal_flip\(\) after normalize\(\)"),
    (lambda p: p.operation("swirl"), "unknown operation 'swirl'; known: random_resized_crop"),
    (lambda p: p.flip(2), "probability"),
    (lambda p: p.random_resized_crop("large"),
     r"operations\[0\]: operation random_resized_crop: parameter .size. is .large."),
    (lambda p: p.shuffle(seed=-1), "found -1; expected 0 or more"),
    (lambda p: p.batch(0), "found 0; expected 1 or more"),
    (lambda p: p.batch(2.5), "found 2.5; expected an integer"),
    (lambda p: p.batch(201),
     r"no full batch: 200 samples, batch 201; set batch.size \(--batch\) to at most 200, .*last: keep"),
    (lambda p: p.normalize((0, 0), (1, 1)), r"found \[0, 0\]; expected three numbers"),
    (lambda p: p.output("float64"), r'output\(dtype\): found "float64"; expected one of uint8, float32, bfloat16'),
    (lambda p: p.errors("ignore"), 'found "ignore"; expected one of fail, skip, replace'),
    (lambda p: p.cache("everything"), "expected one of nothing, encoded, pixels, auto"),
    (lambda p: p.shard(0), "only one of rank and world"),
    (lambda p: p.options(threads="many"), r"options\(threads\): found"),
    (lambda p: p.options(threads=4096), r"options\(threads\): 4096; expected 0 to 1024"),
    (lambda p: p.cache("encoded", limit_mb=0), r"cache\(limit_mb\): 0; expected 1 or more"),
    (lambda p: p.decode(max_pixels=0), r"decode\(max_pixels\): 0; expected 1 to 268435456"),
    (lambda p: p.errors("skip", rate=2), r"errors\(rate\): 2; expected above 0"),
    (lambda p: p.balance([1, 2]), r"balance\(weights\): found \[1, 2\]; expected a dict from class"),
    (lambda p: p.passes(cache="off"), r"passes\(cache\): found 'off'; expected True or False"),
    (lambda p: p.batch(2, drop_last="no"), r"batch\(drop_last\): found 'no'; expected True or False"),
    (lambda p: p.options(autotune="no"), r"options\(autotune\): found 'no'; expected True or False"),
    (lambda p: p.passes(foo=False), r"passes\(foo\): unknown pass; expected one of .*crop_into_decode"),
    (lambda p: p.normalize(3, 4), "normalize: mean: found 3; expected three numbers, one per channel"),
    (lambda p: p.batch(2)._with_output(normalize=3),
     r"normalize: found 3; expected \(mean, std\) of three numbers each"),
    (lambda p: p.batch(2).to_torch(names=("a", "a")),
     r"names\): found \('a', 'a'\); expected 2 different names, for images"),
    (lambda p: p.batch(2).to_torch(names="ab"), r"names\): found 'ab'; expected 2 different names"),
    (lambda p: p.batch(2).load_state_dict(None), "load_state_dict: found NoneType; expected the result of state_dict"),
])
def test_invalid_arguments_are_rejected_by_the_step(make, message):
    with pytest.raises(un.Error, match=message):
        make(un.open(SMALL))


@pytest.mark.parametrize(("text", "message"), [
    ("mix: [{path: P, weight: .nan}, {path: P, weight: 1}]\nbatch: {size: 2}",
     r"mix\[0\].weight: line 1: nan; expected 0 or more"),
    ("mix: [{path: P, weight: -1}, {path: P, weight: 1}]\nbatch: {size: 2}", r"mix\[0\].weight: line 1: -1; expected"),
    ("source: {path: P}\norder: {balance: true, class_weights: {a: .nan}}\nbatch: {size: 2}", "class_weights.a: .*nan"),
    ("source: {path: P}\nbatch: {size: 0}", "batch.size: line 2: 0; expected 1 or more"),
    ("source: {path: P}\nbatch: {size: -3}", "batch.size: line 2: -3; expected 1 or more"),
    ("source: {path: P}\noperations: [{center_crop: {size: -4}}]\nbatch: {size: 2}",
     r"operations\[0\]: line 2: .*'size' is .-4."),
])
def test_nan_and_infinity_in_yaml_are_rejected_with_their_node(text, message):
    with pytest.raises(un.Error, match=message):
        un.from_yaml(text.replace("P", f"'{SMALL}'"))


@pytest.mark.parametrize(("text", "message"), [
    ("source: {path: P}\nbatch:\n  size: 0", "pipeline.batch.size: line 3: 0; expected 1 or more"),
    ("source: {path: P}\noutput:\n  mean: [.nan, 0, 0]", "pipeline.output.mean: line 3: nan; expected finite numbers"),
    ("source: {path: P}\noutput:\n  std: [.inf, 1, 1]",
     "pipeline.output.std: line 3: inf; expected above 0 and at most 1"),
    ("source: {path: P}\n\noutput: {mean: [abc, 1, 1]}",
     'pipeline.output.mean.0.: line 3: found "abc"; expected a number'),
    ("source: {path: P}\noutput: {mean: [1, 1]}", r"output.mean: line 2: found \[1, 1\]; expected 3 numbers"),
    ("source: {path: P}\noutput:\n  mean: [0.5, 0.5, 0.5]\n  type: uint8",
     "pipeline.output.type: line 4: uint8 with output.mean or output.std, .*expected float32"),
    ("source:\n  path: P\n  filter: {labels: [a, [b]]}", r"filter.labels\[1\]: line 3: found a list; expected a text"),
    ("operations:\n- random_resized_crop: {size: 8, scale: [abc, 1]}",
     r'scale\[0\]: line 2: found "abc"; expected a number'),
    ("errors: {rate: .nan}", "pipeline.errors.rate: line 1: nan; expected above 0"),
    ("source: {filter: {max_aspect: .inf}}", "source.filter.max_aspect: line 1: inf; expected 0 or more"),
    ("", "pipeline.source.path: missing; expected the path of the data"),
    ("batch: {size: 2}\nsource: {split: train}", "pipeline.source.path: line 2: missing"),
    ("batch: {size: 2}\nsource: {path: no/such}", "pipeline.source.path: line 2: .*no/such.*No such file"),
    ("mix:\n- path: P\n- path: no/such", r"pipeline.mix\[1\].path: line 3: .*no/such.*No such file"),
    ("unstarve: 1\npipeline:\n  batch: {size: 0}", "settings.pipeline.batch.size: line 3: 0; expected 1 or more"),
    ("unstarve: 2\npipeline: {}", "settings.unstarve: line 1: found version 2; expected 1"),
    ("unstarve: 1\npipeline: {}\ntrian: {}",
     "settings.trian: line 3: unknown key; known keys: host, pipeline, recipe, train, unstarve"),
])
def test_errors_in_yaml_name_node_and_line(text, message):
    with pytest.raises(un.Error, match=message):
        un.from_yaml(text.replace("P", f"'{SMALL}'"))


def test_a_pipeline_is_read_from_a_file_and_from_settings(tmp_path):
    loader = un.open(SMALL).normalize((0, 0, 1e-30), (1, 1, 1)).batch(10)
    text = loader.to_yaml()
    settings = "unstarve: 1\npipeline:\n" + "".join(f"  {line}\n" for line in text.splitlines())
    settings += "train: {model: resnet18}\n"
    file = tmp_path / "tuned.yaml"
    for content in (text, settings):
        file.write_text(content)
        for given in (content, file, str(file)):
            assert un.from_yaml(given).to_yaml() == text
    file.write_text("source: {path: no/such}")
    with pytest.raises(un.errors.IoError, match=re.escape(f"{file}.source.path: line 1: ")):
        un.from_yaml(file)
    with pytest.raises(un.errors.IoError, match=f"from_yaml: {tmp_path}/none.yaml: No such file"):
        un.from_yaml(f"{tmp_path}/none.yaml")
    file.write_bytes(b"source: \xff")
    with pytest.raises(un.errors.InputError, match="byte 8 is not UTF-8"):
        un.from_yaml(file)
    for wrong in ({"source": {}}, b"source: {}", None, file.open("rb")):
        with pytest.raises(un.errors.ArgumentError, match=f"found {type(wrong).__name__}; expected YAML as a str"):
            un.from_yaml(wrong)


def test_more_ranks_than_samples_each_get_a_batch_or_are_rejected():
    five = un.open("synthetic:classes=5,images=5,size=16,seed=1").shuffle(1)
    with pytest.raises(un.errors.ArgumentError,
                       match="no full batch: 5 samples, batch 2 on 8 rank.*fewer ranks, or keep"):
        five.shard(7, 8).batch(2)
    for last, length in (("keep", 1), ("pad", 2)):
        seen = []
        for rank in range(8):
            (_, _, ids, *valid), = five.shard(rank, 8).batch(2, last=last).batches()
            assert len(ids) == length
            seen += list(ids[valid[0]] if valid else ids)
        assert set(seen) == set(range(5)) and (last == "keep" or len(seen) == 5)


def test_empty_shards_are_skipped_unless_all_are_empty(tmp_path):
    for name, samples in (("a", 0), ("b", 3), ("c", 0), ("d", 3)):
        with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
            for i in range(samples):
                for extension, content in (("jpg", b"image"), ("cls", b"1")):
                    member = tarfile.TarInfo(f"{i}.{extension}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    (tmp_path / "0.tar").touch()
    for shards in (tmp_path, tmp_path / "*.tar"):
        data = un.open(shards)
        names = [Path(data.location(i).split(" ")[0]).name for i in range(len(data))]
        assert names == ["b.tar"] * 3 + ["d.tar"] * 3
    for nothing in ("0.tar", "a.tar", "[ac].tar"):
        with pytest.raises(un.errors.InputError, match="no known format"):
            un.open(tmp_path / nothing)


@pytest.mark.parametrize("values", [(float("nan"), 1, 1), (1, float("inf"), 1), (1, 1, "x"), (1, None, 1)])
def test_normalisation_without_numbers_is_rejected(values):
    with pytest.raises(un.errors.ArgumentError, match="normalize: std: found .*; expected three finite numbers"):
        un.open(SMALL).normalize((0, 0, 0), values)


def test_methods_of_a_loader_are_rejected_on_a_pipeline_with_a_hint():
    pipeline = un.open(SMALL).shuffle(0)
    with pytest.raises(AttributeError,
                       match=r"to_torch: found on a Pipeline; expected on a Loader"):
        pipeline.to_torch("cpu")
    with pytest.raises(AttributeError, match="'Pipeline' object has no attribute 'resise'") as caught:
        pipeline.resise(224)
    assert caught.value.name == "resise" and caught.value.obj is pipeline  # used for "did you mean resize?"
    with pytest.raises(un.errors.ArgumentError,
                       match="mix: found <unstarve.Pipeline: .*>; expected a list of pipelines"):
        un.mix(pipeline)
    for use in (list, lambda one: one[0]):
        with pytest.raises(TypeError, match=r"found a Pipeline in a loop .* Call batch\(size\)"):
            use(pipeline)
    # Trainers check the type of their loader like this.
    assert not isinstance(pipeline, Iterable) and not hasattr(pipeline, "__iter__")
    assert isinstance(pipeline.batch(10), Iterable)


def test_a_step_after_batch_is_rejected_with_a_hint():
    loader = un.open(SMALL).batch(10)
    with pytest.raises(AttributeError,
                       match=r"shuffle\(\): found on a Loader; expected on a Pipeline"):
        loader.shuffle(0)
    with pytest.raises(AttributeError, match="'Loader' object has no attribute 'shufle'"):
        _ = loader.shufle


def test_names_that_are_not_utf_8_are_preserved(tmp_path, photographs):
    image = un.open(photographs).read(0)["image"]
    folder = os.fsencode(tmp_path) + b"/d\xe9"
    for name, content in ((b"cl\xe9/a.jpg", image), (b"cl\xe9/b\xfe.jpg", b"no image"), (b"dog/c.jpg", image)):
        file = os.path.join(folder, name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as made:
            made.write(content)
    names = os.fsdecode(b"cl\xe9"), os.fsdecode(b"b\xfe.jpg")
    for given in (folder, os.fsdecode(folder), Path(os.fsdecode(folder))):
        assert un.open(given).filter(lambda facts: facts.class_name == names[0]).batch(1).samples == 2
        pipeline = un.open(given).sequential().resize((8, 8))
        assert pipeline.classes == [names[0], "dog"]
        with pipeline.errors("skip").batch(3) as loader:
            assert len(next(iter(loader))[0]) == 2 and loader.classes == pipeline.classes
            (number, location, reason), = loader.bad_samples()
            assert number == 1 and names[1] in location
        with pytest.raises(un.errors.InputError, match=names[1]):
            list(pipeline.batch(3))
        with pytest.raises(un.errors.ArgumentError, match=r"to_yaml: the path '.*d\\udce9' is not UTF-8"):
            loader.to_yaml()
    with pytest.raises(un.errors.IoError, match=os.fsdecode(b"none\xff")):
        un.open(folder + b"/none\xff")
    for wrong in (3, None):
        with pytest.raises(un.errors.ArgumentError, match=f"open: found {type(wrong).__name__}; expected the path"):
            un.open(wrong)


def test_classes_of_exceptions(tmp_path):
    with pytest.raises(un.errors.IoError, match="No such file"):
        un.open(tmp_path / "missing")
    with pytest.raises(OSError, match="No such file"):
        un.open(tmp_path / "missing")
    (tmp_path / "note.txt").write_text("hello")
    with pytest.raises(un.errors.InputError):
        un.open(tmp_path / "note.txt")
    with pytest.raises(IndexError):
        un.open(SMALL).read(200)
    with pytest.raises(ValueError, match="pipeline.batch.sise"):
        un.from_yaml("{source: {path: 'synthetic:images=9'}, batch: {sise: 3}}")
