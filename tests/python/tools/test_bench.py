"""The comparison harness: its statistics, its children, its peers' common random numbers."""

import json
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench.comparisons import COMPARISONS  # noqa: E402
from bench.operations import OPERATIONS, missing_rows  # noqa: E402
from bench.peers import compare, inputs  # noqa: E402
from bench.peers.child import Child, ChildGroup, Failed  # noqa: E402
from bench.run import STANDALONE, Bench, cpu_fields, report  # noqa: E402
from bench.setup import ENVIRONMENTS  # noqa: E402

PEER = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    name, value = json.loads(line)
    print(json.dumps({"samples": 30, "seconds": value} if name == "run" else {"error": "cannot look"}), flush=True)
"""


def child(script):
    return Child([sys.executable, "-c", script], os.sched_getaffinity(0), ROOT)


def state(process):
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


# Answers only when the other child is running.
MEETING_PEER = """
import json, pathlib, sys, time
here, other = map(pathlib.Path, FILES)
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    here.touch()
    end = time.monotonic() + 60
    while not other.exists():
        if time.monotonic() > end:
            sys.exit("alone")
        time.sleep(0.01)
    print(json.dumps({"samples": 30, "seconds": json.loads(line)[1]}), flush=True)
"""


def test_children_together_run_at_the_same_time_and_their_rates_add_up(tmp_path):
    def start(here, other):
        files = [str(tmp_path / here), str(tmp_path / other)]
        return lambda: child(MEETING_PEER.replace("FILES", repr(files)))

    with ChildGroup([start("a", "b"), start("b", "a")]) as both:
        assert both.rate(2) == pytest.approx(2 * 30 / 2)


def test_if_one_child_fails_to_start_the_others_end():
    started = []

    def start():
        started.append(child(PEER))
        return started[0]

    with pytest.raises(Failed, match="no camera"):
        ChildGroup([start, lambda: child("import sys; sys.exit('no camera')")])
    assert started[0].process.poll() is not None


# Two-sided 95 % quantiles from the standard table.
@pytest.mark.parametrize("degrees, expected",
                         [(1, 12.706), (4, 2.776), (5, 2.571), (7, 2.365), (15, 2.131), (60, 2.000)])
def test_student_t_agrees_with_the_printed_table(degrees, expected):
    assert compare.student_t_975(degrees) == pytest.approx(expected, abs=5.1e-4)


def test_ratio_is_the_geometric_mean_of_pairs():
    ratio, low, high = compare.ratio_interval([2.0, 8.0], [1.0, 1.0])
    assert ratio == pytest.approx(4.0)
    # Logarithms log 2 and log 8: standard error log 2, times Student's 12.706 for one degree of freedom.
    assert math.log(high / ratio) == pytest.approx(12.706205 * math.log(2))
    assert low * high == pytest.approx(ratio**2)


def test_drift_common_to_both_sides_cancels():
    drift = [1.0, 0.8, 1.3, 0.7]
    assert compare.ratio_interval([3 * d for d in drift], drift) == pytest.approx((3, 3, 3))


def test_pairs_alternate_which_side_goes_first():
    order = []

    class Side:
        def __init__(self, name):
            self.name = name

        def rate(self, seconds):
            order.append(self.name)
            return 1.0

    rates = compare.interleave((Side("a"), Side("b")), 4, 1)
    assert "".join(order[2:]) == "abbaabba"  # after one warm-up each
    assert [len(side) for side in rates] == [4, 4]


def test_a_child_is_stopped_between_its_blocks():
    with child(PEER) as peer:
        assert state(peer.process.pid) == "T"
        assert peer.rate(1.5) == 20
        assert state(peer.process.pid) == "T"
        process = peer.process
    assert process.returncode is not None


CPU_PEER = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(json.dumps({"samples": 64, "seconds": 1, "cpu_seconds": CPU}), flush=True)
"""


def test_the_cpu_time_of_both_sides_is_measured_pair_by_pair():
    class Options:
        pairs, seconds, starts = 4, 0.1, 2

    bench = Bench.__new__(Bench)
    bench.options = Options
    rates, cpu = bench.measure(lambda: child(CPU_PEER.replace("CPU", "0.66")),
                               lambda: child(CPU_PEER.replace("CPU", "0.64")))
    assert rates == ([64] * 4, [64] * 4)
    assert cpu == (pytest.approx([0.66 / 64] * 4), pytest.approx([0.01] * 4))  # without the warm-up
    fields = cpu_fields(*cpu, batch=32)
    assert (fields["ours_cpu_ms"], fields["peer_cpu_ms"]) == (330, 320)
    assert fields["cpu_ratio"] == fields["cpu_low"] == fields["cpu_high"] == pytest.approx(0.66 / 0.64, abs=1e-4)
    line = {"name": "checkpoint-cost", "status": "measured", "ours": 64, "peer": 64, "unit": "images/s", "ratio": 1,
            "low": 1, "high": 1} | fields
    assert "CPU time per step 330.0 and 320.0 ms, ratio 1.0312" in report(line)


def test_the_error_of_a_child_is_reported():
    with child(PEER) as peer, pytest.raises(Failed, match="cannot look"):
        peer.check()


def test_the_last_message_of_an_exited_child_is_reported():
    with pytest.raises(Failed, match="status 3: no such library"):
        child("import sys; print('no such library', file=sys.stderr); sys.exit(3)")


def test_crop_boxes_are_inside_and_cover_the_allowed_areas():
    draw = random.Random(1)
    areas = []
    for width, height in [(500, 375), (64, 900), (1, 1), (224, 224)]:
        for _ in range(500):
            x, y, w, h = inputs.crop_box(width, height, draw)
            assert x >= 0 and y >= 0 and w > 0 and h > 0 and x + w <= width and y + h <= height
            if width == 500:
                areas.append(w * h / (width * height))
    assert min(areas) < 0.12 and max(areas) > 0.9


def test_center_crop_keeps_the_middle():
    assert inputs.middle_box(500, 375) == (86, 23, 328, 328)
    assert inputs.middle_box(256, 256) == (16, 16, 224, 224)
    assert inputs.middle_box(1, 3) == (0, 1, 1, 1)


def test_every_documented_comparison_exists_with_its_peer():
    promised = {f"imagenet-{job}/{peer}" for job in ("train", "train-indexed", "train-python", "eval") for peer in
                ("torchvision", "pillow", "simplejpeg", "tf.data", "dali", "ffcv", "spdl")}
    promised |= {"imagenet-train/ffcv-raw", "imagenet-train-indexed/ffcv-raw"}
    promised |= {f"cifar-train/{peer}" for peer in ("torchvision", "ffcv", "torch-batched", "memcpy")}
    promised |= {"tfrecord-read/tf.data", "tfrecord-read/memcpy", "random-over-sequential",
                 "random-over-sequential-tar", "parquet-read/pyarrow",
                 "parquet-read/petastorm", "tar-read/webdataset"}
    promised |= {f"tar-read{kind}/spdl" for kind in ("", "-mapped", "-small", "-small-mapped")}
    promised |= {"folder-first-batch/torch", "folder-first-batch/torch-workers", "folder-first-batch-uncached/torch"}
    promised |= {f"cold-{data}/no-read-ahead" for data in ("folder", "small-files", "shards")}
    promised |= {"warm-folder/read-ahead"}
    promised |= {"pack-resize/pillow", "pack-copy/plain-write", "loader-overhead"}
    promised |= {"checkpoint-cost", "checkpoint-cost-10"}
    promised |= {f"train-{network}/{peer}" for peer in ("eager", "compile")
                 for network in ("resnet18-224", "resnet50-224", "mobilenet_v2-224", "cifar-32")}
    promised |= {f"train-resnet50-224-gpu/{peer}" for peer in ("eager", "compile")}
    promised |= {"launch-cost/torch", "launch-cost-gpu/torch", "launch-cost-gpu/torch-graph"}
    promised |= {f"pass/{name}" for name in ("crop_into_decode", "crop_into_resize", "resize_into_decode", "scan_index",
                                             "scale_into_decode", "operation_fusion")}
    promised |= {f"{side}{kind}/libjpeg-turbo-{what}" for side, what in (("decode-crop", "full"), ("entropy", "skip"))
                 for kind in ("", "-indexed", "-avx2", "-indexed-avx2")}
    promised |= {"dataset/torch", "dataset-first-epoch/torch", "functions/torchvision", "functions/simplejpeg"}
    promised |= {"first-batch/torch", "python-iteration", "scheduling", "overlap-90", "stragglers", "stragglers/exact"}
    promised |= {"packed-raw-256/memcpy", "two-threads", "two-threads/two-processes", "resize/opencv-area",
                 "resize/pillow-simd", "randaugment/torchvision"}
    promised |= {f"infer-{network}-int8/{peer}" for network in ("resnet50", "mobilenet_v2")
                 for peer in ("fp32", "onnxruntime", "openvino-nncf")} | {"infer-end-to-end"}
    promised |= {f"operation/{row.name}" for row in OPERATIONS}
    assert {comparison.name for comparison in COMPARISONS} == promised
    assert set(STANDALONE) == {"remote-50ms/link", "memory/torch", "train-memory/eager", "ranks-2",
                               "channel-prune-50", "cifar94-gpu/published", "watch-cost", "watch-cost-memory",
                               "slow-cases", "slow-cases-prediction"} | {
        f"autotune/{name}" for name in ("cheap", "decode-bound", "operation-heavy", "filter-heavy", "io-bound",
                                        "remote",
                                        "straggling", "sleeping", "slow-consumer")}
    assert all(Path(command[0]).is_file() for command in STANDALONE.values())
    import importlib

    for comparison in COMPARISONS:
        for kind, name, *_ in (comparison.peer,
                               comparison.ours if isinstance(comparison.ours, tuple) else ("ours", "")):
            if kind != "python":
                continue
            peer = importlib.import_module("bench.peers." + name)  # without its packages
            job = comparison.job | {"cores": 2} | dict(comparison.peer_options)
            assert job["job"] in peer.JOBS
            assert len(peer.candidates(job)) >= 1
            assert peer.ENVIRONMENT == "" or peer.ENVIRONMENT in ENVIRONMENTS


def test_slow_cases_are_recorded_from_results(tmp_path):
    def program(name, **fields):
        return {"name": name, "accepted": ["lock"], "rank": 1, "error": 0.1, "within": True, "findings": []} | fields

    skipped = {"name": "jax", "accepted": ["recompilation"], "skipped": "no jax"}
    reports = [[program("a"), program("b", rank=2, error=-0.3), program("healthy", accepted=[], rank=None), skipped],
               [program("jax", error=None)]]
    files = [tmp_path / f"{number}.json" for number in range(2)]
    for file, programs in zip(files, reports, strict=True):
        file.write_text(json.dumps({"pairs": 2, "seconds": 8, "programs": programs, "summary": {}}))

    def record(*arguments):
        return subprocess.run([sys.executable, ROOT / "bench" / "watch.py", "slow-cases", "--build", tmp_path,
                               "--results", *arguments], capture_output=True, text=True, check=False, timeout=60)

    done = record(*files)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "bench.jsonl").read_text().splitlines()]
    assert [(line["name"], line["ours"], line["peer"]) for line in lines] == [
        ("slow-cases", 2, 3), ("slow-cases-prediction", 1, 2)]
    assert all(line["pairs"] == 2 and line["seconds"] == 8 and line["skipped"] == 0 for line in lines)
    table = subprocess.run([sys.executable, ROOT / "tools" / "benchmarks_table.py", "--area", "diagnosis", "--results",
                            tmp_path / "bench.jsonl"], capture_output=True, text=True, check=False, timeout=60)
    assert "| `slow-cases` | 2.000 programs | 3.000 programs |" in table.stdout, table.stdout + table.stderr
    files[1].write_text(files[1].read_text().replace('"seconds": 8', '"seconds": 9'))
    assert "expected files of the same options" in record(*files).stderr


def test_every_operation_has_a_benchmark():
    import unstarve as un

    measured = {row.name for row in OPERATIONS}
    assert {name for name, _ in [*un.operations(), *un.batch_operations()]} <= measured
    assert {f"normalise-{kind}-{layout}" for kind in ("float32", "bfloat16", "float16")
            for layout in ("nchw", "nhwc")} <= measured
    assert {f"resize{kind}" for kind in ("", "-nearest", "-bicubic", "-lanczos", "-box", "-area")} <= measured


def test_an_operation_without_a_row_is_measured_at_its_defaults():
    rows = [row for row in OPERATIONS if row.name not in ("hue", "equalize", "aug_mix")]
    assert [(row.name, row.ours, row.theirs) for row in missing_rows(rows)] == [
        ("hue", "hue: {probability: 1}", None), ("equalize", "equalize: {probability: 1}", None),
        ("aug_mix", "aug_mix: {}", None)]
    assert missing_rows(OPERATIONS) == []
    with pytest.raises(ValueError, match="no row for resize, which requires a parameter"):
        missing_rows([row for row in OPERATIONS if row.name != "resize"])


def test_first_batch_measurements_use_the_configured_workers():
    from bench.peers import torch_folder

    job = {"job": "folder-first-batch", "cores": 2}
    assert 0 in {settings["workers"] for settings in torch_folder.candidates(job)}
    assert {settings["workers"] for settings in torch_folder.candidates(job | {"workers": True})} == {2}


def test_first_batches_count_only_the_time_from_opening_to_the_batch():
    from bench.peers import serve

    class Source:
        seconds = 0.25  # of the batch that next() has just brought, whatever else passed

        def __next__(self):
            return [], []

    assert serve.consume(Source(), 1.0) == {"samples": 4, "seconds": 1.0}


def test_the_small_shards_hold_every_image_with_its_label(tmp_path):
    import tarfile

    from bench import data

    for label, name in enumerate(("cat", "dog")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(5):
            (tmp_path / "images" / name / f"{number}.jpg").write_bytes(bytes([label, number]))
    shards = sorted(data._webdataset(tmp_path / "images", 2).glob("*.tar"))
    assert len(shards) == 8
    found = []
    for shard in shards:
        with tarfile.open(shard) as tar:
            members = tar.getmembers()
            assert [Path(member.name).suffix for member in members] == [".jpg", ".cls"] * (len(members) // 2)
            bodies = [tar.extractfile(member).read() for member in members]
            found += list(zip(bodies[::2], bodies[1::2], strict=True))
    assert sorted(found) == sorted([(bytes([label, number]), str(label).encode())
                                    for label in range(2) for number in range(5)] * 2)


def test_flat_parquet_holds_the_image_as_plain_bytes(tmp_path):
    from pyarrow import parquet

    from bench import data

    for name in ("cat", "dog"):
        (tmp_path / "photographs-synthetic" / name).mkdir(parents=True)
        for number in range(4):
            (tmp_path / "photographs-synthetic" / name / f"{number}.jpg").write_bytes(f"{name}{number}".encode())
    (tmp_path / "photographs").symlink_to("photographs-synthetic")  # also without the archives
    for make, type_ in ((data.parquet_flat, "binary"), (data.parquet, "struct<bytes: binary, path: string>")):
        place, _ = make(tmp_path, None)
        table = parquet.read_table(place.partition("#")[0])
        assert str(table.schema.field("image").type) == type_
        assert table.num_rows == 16 and sorted(table["label"].to_pylist()) == [0] * 8 + [1] * 8


def test_environments_pin_every_package():
    for environment in ENVIRONMENTS.values():
        for requirement in environment.requirements + environment.build:
            assert re.fullmatch(r"[a-z0-9-]+={2,3}[0-9.]+(\.post[0-9]+)?", requirement)


def test_an_only_that_matches_nothing_lists_the_names():
    done = subprocess.run([sys.executable, ROOT / "bench" / "run.py", "--only", "nothing-like-it"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2
    assert "no comparison matches 'nothing-like-it'" in done.stderr
    assert "loader-overhead" in done.stdout


def test_an_unavailable_peer_is_reported_by_name(tmp_path):
    build = tmp_path / "build"
    (build / "bench-data" / "photographs").mkdir(parents=True)
    (build / "bench-data" / "photographs-synthetic").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "run.py", "--only", "imagenet-train/tf.data", "--no-install", "--build",
         build],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = json.loads((build / "bench.jsonl").read_text())
    assert line["name"] == "imagenet-train/tf.data"
    assert line["status"] == "unavailable"
    assert "not installed" in line["reason"]
    assert line["ratio"] is None


def test_the_published_recipe_reads_the_images_of_the_binary_files(tmp_path):
    torch = pytest.importorskip("torch")
    from bench.peers.airbench94 import load

    planes = np.arange(2 * 3 * 32 * 32, dtype=np.uint32).astype(np.uint8).reshape(2, 3, 32, 32)
    for number in (1, 2):
        record = bytes([number + 3]) + planes[number - 1].tobytes()
        (tmp_path / f"data_batch_{number}.bin").write_bytes(record)
    images, labels = load(sorted(tmp_path.glob("data_batch_*.bin")))
    assert labels.tolist() == [4, 5]
    assert labels.dtype == torch.int64
    assert np.array_equal(images.numpy(), planes.transpose(0, 2, 3, 1))


def test_times_to_an_accuracy_are_compared_only_at_equal_accuracy():
    from bench.cifar94 import line_of

    line = line_of([(2.0, 0.94), (2.2, 0.942)], [(4.0, 0.941), (4.4, 0.941)])
    assert line["status"] == "measured"
    assert line["ratio"] == pytest.approx(2)
    assert line["accuracy"]["ours"] == pytest.approx(0.941)
    assert line_of([(2.0, 0.90), (2.2, 0.91)], [(4.0, 0.94), (4.4, 0.94)])["status"] == "unavailable"
