"""map(): functions of the user in worker processes, in threads, and in the calling thread."""

import gc
import io
import json
import os
import subprocess
import sys
import tarfile
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import map_support
import unstarve as un
from processes_support import alive, gone
from map_support import DATA, Faulty, Scale, batches, crop, noisy, nothing, pair_of, same, shifted

KINDS = [{"workers": 0}, {"workers": 2, "kind": "threads"}, {"workers": 1}, {"workers": 4}]


def chain(*functions, data=DATA, **options):
    pipeline = un.open(data).shuffle(seed=5)
    for function in functions:
        pipeline = pipeline.map(function)
    return pipeline.options(**{"workers": 0, **options})


# --- results ---------------------------------------------------------------------------------------------------------


def test_functions_receive_pixels_and_label_and_return_any_array():
    plain = batches(un.open(DATA).shuffle(seed=5).output("uint8", "NHWC").batch(8))
    cropped = batches(chain(crop).batch(8))
    for (image, label, ids), (before, label_before, ids_before) in zip(cropped, plain, strict=True):
        assert image.shape == (8, 16, 16, 3) and image.dtype == np.uint8 and label.dtype == np.int64
        assert np.array_equal(image, before[:, 4:20, 4:20])
        assert np.array_equal(label, label_before) and np.array_equal(ids, ids_before)
    images, labels, _ = batches(chain(crop, Scale(0.5)).batch(60))[0]
    assert images.dtype == np.float64 and labels.dtype == np.float64 and images.shape == (60, 16, 16, 3)
    normalised = un.open(DATA).sequential().resize(10).flip(0).normalize(*un.IMAGENET)
    expected = batches(normalised.batch(20))
    assert same(batches(normalised.map(lambda image, label: image).options(workers=0).batch(20)), expected)
    assert expected[0][0].shape == (20, 3, 10, 10)


def test_inputs_may_have_any_size_if_outputs_have_one(photographs):
    loader = un.open(photographs).take(8).sequential()
    images, labels = next(iter(loader.map(lambda image, label: image[:50, :40]).options(workers=0).batch(8)))
    assert images.shape == (8, 50, 40, 3) and labels.tolist() == list(range(8))
    with pytest.raises(un.errors.InputError, match=r"images of different sizes, .*operation with a fixed size"):
        list(loader.batch(8))  # without a function all images must have the same size


def test_batches_are_equal_for_every_number_and_kind_of_workers():
    expected = batches(chain(shifted).batch(7, drop_last=False))
    assert len(expected) == 9 and len(expected[-1][0]) == 4
    for options in KINDS[1:]:
        assert same(batches(chain(shifted, **options).batch(7, drop_last=False)), expected), options


def test_randomness_depends_on_the_sample_in_processes():
    with chain(noisy).batch(20) as alone, chain(noisy, workers=3).batch(20) as helped:
        first, second = batches(alone), batches(alone)
        drawn = np.concatenate([labels[:, 1:] for _, labels, _ in first + second])
        assert len(np.unique(drawn[:, 0])) == len(np.unique(drawn[:, 1])) == len(np.unique(drawn[:, 2])) == 120
        assert same(batches(helped), first) and same(batches(helped), second)
    other = batches(un.open(DATA).shuffle(seed=6).map(noisy).options(workers=0).batch(60))
    assert not np.isin(other[0][1][:, 1:], drawn).any()
    twice = batches(un.open(DATA).shuffle(seed=5).repeat(2).map(noisy).options(workers=0).batch(60))
    assert len(np.unique(np.concatenate([labels[:, 1] for _, labels, _ in twice]))) == 120


def test_the_generators_of_the_caller_are_unchanged():
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    with chain(noisy).batch(60) as loader:
        list(loader)
        assert loader.shapes == ((8, 8, 3), (4,)) and (loader.dtype, loader.label_dtype) == ("float32", "float64")
    assert np.random.rand() == expected  # noqa: NPY002


# --- conventions of a Loader ------------------------------------------------------------------------------------------


def test_a_run_resumes_in_mid_epoch_with_any_workers_and_batch_size():
    run, expected, states = chain(shifted).batch(6), [], []
    for _ in range(2):
        for batch in run.batches():
            states.append(json.loads(json.dumps(run.state_dict())))
            expected.append(tuple(map(np.array, batch)))
    with chain(shifted, workers=2).batch(6) as resumed:
        for at in (2, 9, 13):
            resumed.load_state_dict(states[at])
            rest = [tuple(map(np.array, batch)) for batch in resumed.batches()]
            first = at + 1
            assert same(rest, expected[first:first + len(rest)]) and len(rest) == (10 - first % 10)
    plain = un.open(DATA).shuffle(seed=5).batch(6)  # a state describes the order only, independent of map()
    plain.load_state_dict(states[2])
    assert np.array_equal(next(plain.batches())[2], expected[3][2])
    wider = chain(shifted).batch(21)
    wider.load_state_dict(states[2])
    assert np.array_equal(next(wider.batches())[0], np.concatenate([batch[0] for batch in expected[3:7]])[:21])


def test_ranks_share_an_epoch():
    def part(rank, world, size):
        return batches(un.open(DATA).shuffle(seed=5).shard(rank, world).map(shifted).options(workers=0).batch(size))

    whole, parts = part(0, 1, 12), [part(rank, 2, 6) for rank in range(2)]
    for number, batch in enumerate(whole):
        assert same([tuple(map(np.concatenate, zip(*(one[number] for one in parts), strict=True)))], [batch])


def test_a_loop_left_early_is_over_and_the_workers_stay_for_the_next():
    with chain(shifted, workers=2).batch(6) as loader:
        next(iter(loader))
        pids = loader._engines.running._pool.pids
        expected = batches(chain(shifted).batch(6))
        loader.set_epoch(0)
        assert same([tuple(map(np.array, batch)) for batch in loader.batches()], expected)
        assert loader._engines.running._pool.pids == pids and loader.epoch == 1
        older, newer = iter(loader), iter(loader)
        next(older), next(newer)
        with pytest.raises(un.errors.CancelledError, match="newer loop"):
            next(older)


def test_deleting_the_loader_ends_its_workers():
    loader = chain(shifted, workers=1).batch(6)
    next(iter(loader))
    pids = loader._engines.running._pool.pids
    assert all(map(alive, pids))
    gc.disable()  # without the garbage collector
    try:
        del loader
        assert gone(pids)
    finally:
        gc.enable()


def test_batches_as_torch_s_tensors():
    torch = pytest.importorskip("torch")
    loader = chain(shifted).batch(6)
    expected = batches(loader)
    loader.set_epoch(0)
    tensors = loader.to_torch(names=("pixel_values", "labels"))
    for at, batch in enumerate(tensors):
        assert batch["pixel_values"].dtype == torch.float32 and batch["labels"].dtype == torch.int64
        assert np.array_equal(batch["pixel_values"].numpy(), expected[at][0])
        if at == 3:
            state = tensors.state_dict()
    assert tensors.dtype == "float32" and tensors.explain() == loader.explain()
    tensors.load_state_dict(state)
    assert np.array_equal(next(iter(tensors))["pixel_values"].numpy(), expected[4][0])
    for wrong in ({"normalize": un.IMAGENET}, {"dtype": torch.uint8}, {"channels_last": True}):
        with pytest.raises(un.errors.ArgumentError,
                           match=r"to_torch\(normalize, dtype, channels_last, operations\) with map\(\): unsup"):
            loader.to_torch(**wrong)


@pytest.mark.frameworks
def test_batches_as_jax_s_arrays():
    jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")
    loader = chain(shifted).batch(6)
    expected = batches(loader)
    loader.set_epoch(0)
    for given, (images, labels, _) in zip(loader.to_jax(), expected, strict=True):
        assert all(isinstance(array, jax.Array) for array in given)
        assert np.array_equal(given[0], images) and np.array_equal(given[1], labels)
    with pytest.raises(un.errors.ArgumentError, match="to_jax.normalize, dtype, layout. with map..: unsupported"):
        loader.to_jax(layout="NCHW")


@pytest.mark.frameworks
def test_batches_as_a_dataset_of_tensorflow_s():
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: make test-frameworks")
    loader = chain(shifted).batch(6)
    expected = batches(loader)
    loader.set_epoch(0)
    made = loader.to_tf()
    assert made.element_spec == (tf.TensorSpec((None, 24, 24, 3), tf.float32), tf.TensorSpec((None,), tf.int64))
    for (images, labels), (theirs, their_labels, _) in zip(made, expected, strict=True):
        assert np.array_equal(images.numpy(), theirs) and np.array_equal(labels.numpy(), their_labels)
    with pytest.raises(un.errors.ArgumentError, match="to_tf.normalize, dtype. with map..: unsupported"):
        loader.to_tf(normalize=un.IMAGENET)


def test_it_explains_itself_and_measures():
    with chain(crop, shifted, workers=2).batch(6) as loader:
        text = loader.explain()
        assert "map         crop (map_support.py:" in text and "random by rng" in text
        assert "2 worker processes for the samples, 3 batches prefetched" in text
        list(loader)
        stages = {stage["name"]: stage for stage in loader.profile()["stages"]}
        assert stages["map"]["busy_ns"] > 0 and stages["map"]["samples"] == 60
        with pytest.raises(un.errors.ArgumentError, match=r"to_yaml: found map\(crop .*\), map\(shifted"):
            loader.to_yaml()


def test_mixed_and_filtered_sources_in_workers(photographs):
    other = un.open(f"{DATA},seed=2").filter(labels=[1, 2])
    mixed = un.mix([un.open(DATA).filter(lambda facts: facts.label != 3), other],
                   weights=[1, 3]).shuffle(1).map(shifted)
    assert same(batches(mixed.options(workers=2).batch(8)), batches(mixed.options(workers=0).batch(8)))
    cached = un.open(photographs).resize((12, 12)).flip()
    expected = batches(cached.map(shifted).options(workers=0).batch(10))
    assert len(expected) == 10


def test_pixels_are_cached_in_a_file_that_all_workers_share(photographs, tmp_path):
    plain = un.open(photographs).resize((12, 12)).flip().map(shifted)
    kept = plain.cache("pixels", folder=tmp_path)
    expected = batches(plain.options(workers=0).batch(10))
    assert same(batches(kept.options(workers=2).batch(10)), expected)
    assert same(batches(kept.options(workers=2).batch(10)), expected) and list(tmp_path.iterdir())


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", KINDS)
def test_exceptions_of_functions_are_raised_in_order_with_traceback(options):
    with un.open(DATA).sequential().map(Faulty(4, "raise")).options(**options).batch(2) as loader:
        iterator = iter(loader)
        assert [next(iterator)[1].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
        with pytest.raises(LookupError, match=r"(?s)Caught LookupError in map\(Faulty\), for sample 4 \(.*\)"
                                              r".*in deeper.*no 4 today"):
            next(iterator)
        assert loader.state_dict()["samples"] == 4


@pytest.mark.parametrize(("what", "message"), [
    ("shape", r"the image of sample 4 .* uint8 \(23, 24, 3\), that of sample [03] .* uint8 \(24, 24, 3\)"),
    ("dtype", r"the image of sample 4 .* float32 \(24, 24, 3\), that of sample [03] .* uint8"),
    ("label", r"the label of sample 4 .* float64 \(2,\), that of sample [03] .* int64 \(\)"),
])
def test_samples_of_another_shape_or_dtype_are_named(what, message):
    for size in (60, 3):
        with un.open(DATA).sequential().map(Faulty(4, what)).options(workers=0).batch(size) as loader, \
                pytest.raises(un.errors.InputError, match=message + ".*expected one shape and dtype"):
            list(loader)
    with un.open(DATA).sequential().map(Faulty(4, what)).options(workers=0).batch(1) as loader, \
            pytest.raises(un.errors.InputError, match=r"sample 4 .* became .* sample 0 .* expected one shape"):
        list(loader)


@pytest.mark.parametrize(("function", "message"), [
    (nothing, r"nothing \(map_support.py.* for sample \d+ .* the image NoneType of dtype object; expected an array"),
    (pair_of, r"pair_of .* returned a tuple of 3 for sample \d+"),
    (Scale("x"), "Caught .* in map"),
])
def test_invalid_results_of_a_function_are_rejected(function, message):
    with chain(function).batch(6) as loader, pytest.raises(Exception, match=message):
        next(iter(loader))


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_a_failure_of_the_storage_ends_the_run_under_any_policy(tmp_path, policy):
    path = tmp_path / "x.tar"
    image = bytes(un.encode_jpeg(np.full((64, 64, 3), 99, np.uint8)))
    with tarfile.open(path, "w") as archive:
        for number in range(40):
            for name, content in (f"{number:02}.jpg", image), (f"{number:02}.cls", b"1"):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    with un.open(path).sequential().map(crop).options(workers=0).errors(policy).batch(4) as loader, \
            pytest.raises(un.errors.IoError, match="the bytes from offset"):
        for number, _ in enumerate(loader):
            if number == 1:
                os.truncate(path, 512)
    assert number == 1 and loader.bad_samples() == []


@pytest.mark.parametrize("options", KINDS[:3])
def test_bad_samples_are_skipped_or_replaced_and_listed(options):
    pipeline = un.open(DATA).sequential().map(Faulty(4, "raise")).options(**options)
    with pipeline.errors("skip").batch(10) as skipping:
        assert [labels.tolist() for _, labels in skipping] == [[0, 1, 2, 3] * 2] * 6
        bad = skipping.bad_samples()
        assert [sample for sample, *_ in bad] == list(range(4, 60, 5))
        assert "LookupError in map(Faulty): 'no 4 today'" in bad[0][2] or "no 4 today" in bad[0][2]
    with pipeline.errors("replace").batch(10) as replacing:
        assert [ids.tolist() for _, _, ids in replacing.batches()][0] == [0, 1, 2, 3, 5, 5, 6, 7, 8, 10]
    with pipeline.errors("skip", limit=3).batch(10) as limited, \
            pytest.raises(un.errors.InputError, match="4 bad samples, more than the limit of 3"):
        list(limited)
    whole = un.open(DATA).sequential().map(Faulty(4, "raise")).options(**options).errors("skip")
    with whole.batch(1) as single:
        for epoch in range(2):
            assert single.epoch == epoch
            assert [label for _, labels in single for label in labels.tolist()] == [0, 1, 2, 3] * 12
    for policy in ("skip", "replace"):
        faulty = un.open(DATA).filter(labels=[4]).map(Faulty(4, "raise")).options(**options)
        with faulty.errors(policy).batch(6) as all_bad, pytest.raises(
                un.errors.InputError,
                match=f"errors: {policy}: every sample of epoch 0 is bad.*The first of its last batch: .*no 4 today"):
            list(all_bad)
    with un.open(DATA).sequential().shard(4, 5).map(Faulty(4, "raise")).options(
            **options).errors("skip").batch(1) as ranked, pytest.raises(
            un.errors.InputError, match="epoch 0 batch 0 is bad.*each of 5 ranks.*errors: replace.*no 4 today"):
        list(ranked)


def test_a_damaged_image_raises_the_error_of_the_library(photographs, tmp_path):
    (tmp_path / "class").mkdir()
    for number, path in enumerate(sorted(Path(photographs).rglob("*.*"))[:4]):
        data = path.read_bytes()
        (tmp_path / "class" / f"{number}.jpg").write_bytes(b"\xff\xd8 no image" if number == 2 else data)
    pipeline = un.open(tmp_path).sequential().resize((8, 8)).map(shifted).options(workers=1)
    with pipeline.batch(2) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(un.errors.InputError, match=r"^[^\n]*class/2.jpg"):
            next(iterator)
    with pipeline.errors("skip").batch(4) as loader:
        assert [len(images) for images, _ in loader] == [3] and loader.bad_samples()[0][0] == 2


def test_a_killed_worker_ends_the_loop_and_the_next_loop_starts_new_workers():
    with un.open(DATA).sequential().map(Faulty(4, "kill")).options(workers=1).batch(2) as loader:
        iterator = iter(loader)
        assert next(iterator)[1].tolist() == [0, 1]
        with pytest.raises(RuntimeError,
                           match=r"map\(\) worker \(pid\(s\) \d+\) exited unexpectedly: killed by SIGKILL"):
            list(iterator)
        loader.set_epoch(0)
        assert next(iter(loader))[1].tolist() == [0, 1]


def test_close_while_a_function_sleeps():
    loader = un.open(DATA).sequential().map(Faulty(4, "sleep")).options(workers=1).batch(2)
    iterator, waits, report = iter(loader), threading.Event(), []
    assert next(iterator)[1].tolist() == [0, 1]
    pids = loader._engines.running._pool.pids

    def wait():
        waits.set()
        with pytest.raises(un.errors.CancelledError) as caught:
            list(iterator)
        report.append(str(caught.value))

    thread = threading.Thread(target=wait)
    thread.start()
    waits.wait()
    loader.close()
    thread.join()
    assert len(report) == 1 and not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_unpicklable_functions_are_rejected_by_name():
    for function, message in ((lambda image, label: image, r"<lambda> \(test_map.py:\d+\)"),
                              (Scale(threading.Lock()), "Scale cannot be pickled .*lock")):
        remedy = r"top level of a module \(def or class\), or use \.options\(kind='threads'\)"
        with pytest.raises(un.errors.ArgumentError, match=rf"map: .*{message}.*{remedy}"):
            chain(function, workers=1).batch(6)
        chain(function, workers=2, kind="threads").batch(6).close()


@pytest.mark.parametrize(("make", "message"), [
    (lambda: un.open(DATA).map(3), "map: found 3; expected a callable"),
    (lambda: chain(crop).resize(8), r"resize\(\) after map\(\): expected before it; .*map or batch operations"),
    (lambda: chain(crop).normalize(*un.IMAGENET), r"normalize\(\) after map\(\)"),
    (lambda: chain(crop).mixup().batch(6), r"map\(\) with batch operations: unsupported"),
    (lambda: chain(crop, order="relaxed").batch(6), r"options\(order\) with map.*: found 'relaxed'; expected 'exact'"),
    (lambda: chain(crop, threads=3).batch(6), r"options\(threads\) with map\(\).*options\(workers="),
    (lambda: chain(crop, memory_limit=10**8).batch(6), r"options\(memory_limit\) with map\(\)"),
    (lambda: chain(crop).cache("pixels").batch(6), r"every worker would have its own"),
    (lambda: chain(crop, kind="fibres"), "found 'fibres'; expected 'processes' or 'threads'"),
    (lambda: chain(crop, workers=-1), "found -1; expected 0 or more"),
    (lambda: un.open(DATA).options(workers=2).batch(6), r"options\(workers, kind\): found without map\(\)"),
    (lambda: chain(crop).batch(6)._with_output("float32"), "map.* with dtype, layout or normalize: unsupported"),
])
def test_invalid_arguments_are_rejected_by_the_step(make, message):
    with pytest.raises(un.errors.ArgumentError, match=message):
        make()


def test_using_a_running_loader_in_a_fork_is_an_error():
    with chain(crop, workers=1).batch(6) as loader:
        iterator = iter(loader)
        next(iterator)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                next(iterator)
            except un.errors.ArgumentError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        assert b"started in process" in os.read(read, 1000)
        assert len(list(iterator)) == 9


def test_no_framework_is_imported_here_or_in_the_workers(tmp_path):
    (tmp_path / "mine.py").write_text("import sys\ndef f(image, label):\n"
                                      "    return image, int('torch' in sys.modules)\n")
    code = """
        import sys, unstarve as un, mine
        with un.open("synthetic:images=4,size=8").map(mine.f).options(workers=1).batch(4) as loader:
            print([labels.tolist() for _, labels in loader], "torch" in sys.modules)
    """
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.stdout == "[[0, 0, 0, 0]] False\n", done.stderr


def test_workers_end_after_an_exception_in_a_loop():
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    pids = []

    def fail():
        loader = un.open(DATA).sequential().map(Faulty(4, "raise")).options(workers=2).batch(2)
        iterator = iter(loader)
        next(iterator)
        command = ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())]
        children = subprocess.run(command, capture_output=True, text=True, check=True)
        pids.extend(int(line.split()[0]) for line in children.stdout.splitlines() if " ps " not in line)
        list(iterator)

    for _ in range(3):
        with pytest.raises(LookupError, match="no 4 today"):
            fail()
    gc.collect()
    assert len(set(pids)) >= 6 and gone(pids, 5)
    assert len(os.listdir("/proc/self/fd")) <= descriptors and threading.active_count() <= threads


@pytest.mark.parametrize("left", ["after an epoch", "amid one", "by an exception", "before it"])
def test_threads_of_a_loader_that_is_open_at_the_end_of_the_program(left):
    # Five to eight of eight such programs aborted, because a thread acquired the lock of a finalised interpreter.
    code = f"""
        import sys, unstarve as un
        sys.path.insert(0, {str(Path(map_support.__file__).parent)!r})
        import map_support
        left = {left!r}
        pipeline = un.open("synthetic:images=60,size=400").map(map_support.crop)
        loader = pipeline.options(workers=2, kind="threads").batch(4)
        iterator = iter(loader)
        if left != "before it":
            next(iterator)
        if left == "after an epoch":
            list(iterator)
        if left == "by an exception":
            raise SystemExit(0)
    """
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                              check=False)
        assert (done.returncode, done.stderr) == (0, "")
