"""`unstarve diagnose` on traces of torch.profiler: recorded here on the CPU, and built from the events of GPUs."""

import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import textwrap

import pytest

# A loader that is slower than the network. The trace has 8 steps; the first one is left out.
SLOW_LOADER = """
    import sys, time, torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule
    torch.set_num_threads(1)
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 10**9
        def __getitem__(self, index):
            time.sleep(0.004)
            return torch.zeros(64)
    workers, path = int(sys.argv[1]), sys.argv[2]
    model = torch.nn.Linear(64, 64)
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=workers))
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=8),
                 record_shapes=True, on_trace_ready=lambda p: p.export_chrome_trace(path)) as profiler:
        for step in range(10):
            with record_function("forward"):
                model(next(batches)).sum().backward()
            if step == 6:
                torch.save(model.state_dict(), path + ".pt")
            profiler.step()
"""


def diagnose(*arguments):
    return subprocess.run([os.environ["UNSTARVE"], "diagnose", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)


def diagnosis_of(path):
    run = diagnose(path, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def rules_of(diagnosis):
    return [finding["rule"] for finding in diagnosis["findings"]]


def assert_parts_sum(trace):
    assert sum(trace["parts"]) == pytest.approx(trace["analysed_s"], rel=1e-6)
    for step in trace["steps"]:
        assert sum(step["parts"]) == pytest.approx(step["seconds"], rel=1e-6)


@pytest.fixture(scope="module", params=[0, 1], ids=["in the main process", "by a worker"])
def recorded(request, tmp_path_factory):
    """Number of workers and a trace, as a compressed file."""
    path = tmp_path_factory.mktemp("traces") / "trace.json.gz"
    subprocess.run([sys.executable, "-c", textwrap.dedent(SLOW_LOADER), str(request.param), str(path)], check=True,
                   timeout=120)
    return request.param, path


def test_a_slow_loader_is_found(recorded):
    workers, path = recorded
    diagnosis = diagnosis_of(path)
    trace = diagnosis["profile"]["trace"]
    assert diagnosis["findings"][0]["rule"] == "input-wait"
    assert diagnosis["findings"][0]["lost"] > 0.5
    assert diagnosis["findings"][0]["gain"] > 2
    assert set(diagnosis["findings"][0]["changes"]) == {"pytorch", "tensorflow", "jax", "unstarve"}
    assert diagnosis["findings"][0]["change"] == diagnosis["findings"][0]["changes"]["pytorch"]
    assert ("num_workers=N" in diagnosis["findings"][0]["change"]) == (workers == 0)
    assert (trace["format"], trace["framework"], len(trace["steps"])) == ("Kineto", "PyTorch", 7)
    assert trace["devices"] == []
    assert_parts_sum(trace)
    # Four samples of 4 ms each; single steps are shorter if the worker was ahead.
    assert statistics.median(step["seconds"] for step in trace["steps"][1:]) >= 0.012
    assert any(operator["name"].startswith("aten::") for operator in trace["operators"])


def test_the_text_names_parts_and_source(recorded):
    run = diagnose(recorded[1])
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert lines[0] == "the main thread waits for the next batch"
    assert any(line.startswith("loader ") and line.endswith("%") for line in lines)
    assert lines[-1].startswith("Kineto trace: 7 steps of ")


def test_the_result_does_not_depend_on_compression_and_order(recorded, tmp_path):
    events = json.loads(gzip.decompress(recorded[1].read_bytes()))
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(events))
    expected = diagnosis_of(recorded[1])
    assert diagnosis_of(plain)["profile"]["trace"]["parts"] == pytest.approx(expected["profile"]["trace"]["parts"])
    events["traceEvents"].reverse()
    backwards = {"traceEvents": events.pop("traceEvents"), **events}
    plain.write_text(json.dumps(backwards))
    again = diagnosis_of(plain)
    assert rules_of(again) == rules_of(expected)
    assert again["profile"]["trace"]["parts"] == pytest.approx(expected["profile"]["trace"]["parts"])


def test_a_truncated_trace_is_an_error(recorded, tmp_path):
    text = gzip.decompress(recorded[1].read_bytes())
    for name, content in [("cut.json", text[: len(text) // 2]), ("cut.json.gz", recorded[1].read_bytes()[:-2000])]:
        cut = tmp_path / name
        cut.write_bytes(content)
        run = diagnose(cut)
        assert run.returncode == 3
        assert str(cut) in run.stderr
    assert "truncated" in diagnose(tmp_path / "cut.json").stderr


class Gpu:
    """Events as Kineto writes them for a GPU; times in microseconds."""

    def __init__(self):
        self.events = []
        self.correlation = 0

    def host(self, category, name, begin, length, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 4711, "tid": 4711, "ts": begin,
                            "dur": length, "args": args})

    def step(self, number, begin, length):
        self.host("user_annotation", f"ProfilerStep#{number}", begin, length)

    def work(self, category, name, call, called, begin, length, **args):
        """A call of the runtime at `called`, and what it starts on the GPU at `begin`."""
        self.correlation += 1
        ids = {"External id": self.correlation, "correlation": self.correlation}
        self.host("cuda_runtime", call, called, 5, **ids)
        self.events.append({"ph": "s", "id": self.correlation, "pid": 4711, "tid": 4711, "ts": called, "cat": "ac2g",
                            "name": "ac2g"})
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": length,
                            "args": {**ids, "device": 0, "context": 1, "stream": 7, **args}})

    def kernel(self, name, called, begin, length):
        self.work("kernel", name, "cudaLaunchKernel", called, begin, length, queued=0, grid=[64, 1, 1],
                  block=[256, 1, 1], **{"registers per thread": 32, "est. achieved occupancy %": 50})

    def copy(self, name, called, begin, length, size):
        self.work("gpu_memcpy", name, "cudaMemcpyAsync", called, begin, length, bytes=size)

    def write(self, path):
        devices = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85094825984, "computeMajor": 8,
                    "computeMinor": 0}]
        path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": devices, "traceEvents": self.events}))
        return path


def test_copies_synchronisations_and_precision_of_a_gpu(tmp_path):
    gpu = Gpu()
    for step in range(12):
        at = 10_000 * step
        gpu.step(step, at, 10_000)
        gpu.copy("Memcpy HtoD (Pageable -> Device)", at + 10, at + 20, 1000, 20_000_000)
        gpu.kernel("ampere_sgemm_128x64_tn", at + 1000, at + 1020, 6980)
        gpu.copy("Memcpy DtoH (Device -> Pageable)", at + 1100, at + 8000, 2, 4)
        gpu.host("cuda_runtime", "cudaStreamSynchronize", at + 1110, 6900)
    diagnosis = diagnosis_of(gpu.write(tmp_path / "gpu.json"))
    assert rules_of(diagnosis) == ["tensor-cores-unused", "hidden-syncs", "pageable-copies"]
    assert [finding["lost"] for finding in diagnosis["findings"]] == pytest.approx([0.349, 0.2, 0.1], abs=0.01)
    trace = diagnosis["profile"]["trace"]
    assert_parts_sum(trace)
    assert trace["parts"][:2] == pytest.approx([11 * 6.98e-3, 11 * 1.002e-3])
    assert trace["devices"][0]["name"] == "NVIDIA A100-SXM4-80GB"
    assert trace["devices"][0]["busy_s"] == pytest.approx(11 * 6.98e-3)
    assert {copy["direction"]: copy["count"] for copy in trace["copies"]} == {"to device": 11, "to host": 11}


def test_work_after_a_synchronisation_is_not_its_cost(tmp_path):
    gpu = Gpu()
    for step in range(12):
        at = 104_000 * step
        gpu.step(step, at, 104_000)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at, at + 10, 3990)
        gpu.host("cuda_runtime", "cudaStreamSynchronize", at + 20, 3990)
        for operator in range(20):
            gpu.host("cpu_op", "aten::grid_sampler_2d", at + 4010 + 4900 * operator, 4900)
    findings = diagnosis_of(gpu.write(tmp_path / "gpu.json"))["findings"]
    assert [finding["rule"] for finding in findings] == ["launch-bound", "hidden-syncs"]
    assert [finding["lost"] for finding in findings] == pytest.approx([0.923, 0.038], abs=0.003)
    assert "aten::grid_sampler_2d" in findings[0]["evidence"]


def fallback_trace(operator, begin, length, size):
    """12 steps in which data is copied to the host at 3 ms, and back at 8 ms."""
    gpu = Gpu()
    for step in range(12):
        at = 10_000 * step
        gpu.step(step, at, 10_000)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at + 10, at + 20, 2900)
        gpu.copy("Memcpy DtoH (Device -> Pageable)", at + 30, at + 2920, 80, size)
        gpu.host("cuda_runtime", "cudaStreamSynchronize", at + 40, 2980)
        gpu.host("cpu_op", operator, at + begin, length)
        gpu.copy("Memcpy HtoD (Pageable -> Device)", at + 7900, at + 8000, 80, size)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at + 7950, at + 8080, 1900)
    return gpu


def test_operators_that_fall_back_to_the_cpu(tmp_path):
    diagnosis = diagnosis_of(fallback_trace("aten::linalg_svd", 3050, 4800, 1 << 20).write(tmp_path / "gpu.json"))
    assert rules_of(diagnosis) == ["cpu-fallback"]
    finding = diagnosis["findings"][0]
    assert finding["lost"] == pytest.approx(0.5, abs=0.02)
    assert "1.0 times per step" in finding["evidence"]
    assert "aten::linalg_svd (4.8 ms)" in finding["evidence"]
    fallback = diagnosis["profile"]["trace"]["fallback"]
    assert (fallback["count"], fallback["bytes"]) == (11, 22 << 20)
    assert_parts_sum(diagnosis["profile"]["trace"])


@pytest.mark.parametrize(("operator", "size"), [("aten::to", 1 << 20), ("aten::linalg_svd", 4)],
                         ids=["copies", "one number"])
def test_synchronisations_are_no_fallback(tmp_path, operator, size):
    diagnosis = diagnosis_of(fallback_trace(operator, 3050, 4800, size).write(tmp_path / "gpu.json"))
    assert "cpu-fallback" not in rules_of(diagnosis)
    assert "fallback" not in diagnosis["profile"]["trace"]
    assert "hidden-syncs" in rules_of(diagnosis)


def test_short_kernels_are_launch_bound(tmp_path):
    gpu = Gpu()
    for step in range(12):
        gpu.step(step, 10_000 * step, 10_000)
        for kernel in range(400):
            at = 10_000 * step + 25 * kernel
            gpu.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >", at, at + 8,
                       3)
    diagnosis = diagnosis_of(gpu.write(tmp_path / "gpu.json"))
    assert rules_of(diagnosis) == ["launch-bound"]
    assert "400 kernels per step" in diagnosis["findings"][0]["evidence"]
    assert diagnosis["findings"][0]["lost"] == pytest.approx(0.88, abs=0.01)


def test_a_busy_gpu_is_reported_as_such(tmp_path):
    gpu = Gpu()
    for step in range(12):
        gpu.step(step, 10_000 * step, 10_000)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 10_000 * step, 10_000 * step + 100,
                   9800)
    diagnosis = diagnosis_of(gpu.write(tmp_path / "gpu.json"))
    assert rules_of(diagnosis) == ["accelerator-full"]
    assert "98 %" in diagnosis["verdict"]


def test_exposed_communication(tmp_path):
    gpu = Gpu()
    for step in range(12):
        at = 10_000 * step
        gpu.step(step, at, 10_000)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at, at + 10, 7000)
        gpu.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 20, at + 5010,
                   4900)
    diagnosis = diagnosis_of(gpu.write(tmp_path / "gpu.json"))
    assert "communication-exposed" in rules_of(diagnosis)
    assert diagnosis["findings"][0]["lost"] == pytest.approx(0.29, abs=0.01)


def island_of(page):
    return json.loads(re.search(r'id="figures">(.*?)</script>', page.read_text()).group(1))


def total(chart):
    return sum(part[1] for bar in chart["bars"] for part in bar["parts"])


def test_the_page_shows_parts_lost_time_gaps_and_a_timeline(tmp_path):
    gpu = Gpu()
    for step in range(30):
        at = 10_000 * step
        gpu.step(step, at, 10_000)
        gpu.host("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 3000 + step)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at + 3100, at + 3200, 6000)
    page = tmp_path / "page.html"
    run = diagnose(gpu.write(tmp_path / "gpu.json"), "--report", page, "--json")
    assert run.returncode == 0, run.stderr
    trace = json.loads(run.stdout)["profile"]["trace"]
    island = island_of(page)
    split, lost, gaps = island["bars"]  # all steps take the same time: no histogram
    assert total({"bars": split["bars"][:1]}) == pytest.approx(10)  # ms per step
    assert [bar["name"] for bar in split["bars"]] == ["mean", "90th percentile"]
    assert lost["bars"][0]["name"] == "loader"
    assert total(lost) == pytest.approx(sum(trace["idle"].values()), rel=1e-2)
    assert total(gaps) == pytest.approx(1e3 * sum(trace["idle"].values()))
    assert sum(trace["gaps"]["count"]) == 30  # before and after the kernels: one across each pair of steps
    assert {curve["name"] for curve in island["curves"][0]["curves"]} == {"kernel", "loader", "other"}
    timeline, = island["timelines"]
    assert timeline["lanes"] == ["main thread", "device 0, stream 7"]
    assert timeline["seconds"] == pytest.approx(0.03)
    assert [timeline["names"][span[1]].split("_")[0] for span in timeline["spans"] if span[0] == 1] == ["ampere"] * 3
    assert 'Timeline of 3 typical steps' in page.read_text()


def test_the_written_trace_is_json_of_chrome_and_can_be_read_again(tmp_path):
    gpu = Gpu()
    for step in range(30):
        at = 10_000 * step
        gpu.step(step, at, 10_000)
        gpu.host("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 3000)
        gpu.copy("Memcpy HtoD (Pinned -> Device)", at + 3000, at + 3010, 50, 1_000_000)
        gpu.kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", at + 3100, at + 3200, 6000)
    out, page = tmp_path / "out" / "trace.json", tmp_path / "page.html"
    out.parent.mkdir()
    run = diagnose(gpu.write(tmp_path / "gpu.json"), "--trace", out, "--report", page, "--json")
    assert run.returncode == 0, run.stderr
    before = json.loads(run.stdout)
    events = json.loads(out.read_text())["traceEvents"]
    steps = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert [(event["ts"], event["dur"]) for event in steps] == [(10_000 * i, 10_000) for i in range(29)]
    counters = [event for event in events if event["ph"] == "C"]
    assert counters[0]["args"]["kernel"] == pytest.approx(6)  # ms
    instants = [event["name"] for event in events if event["ph"] == "i"]
    assert instants == [finding["title"] for finding in before["findings"]]
    assert '<a href="./out/trace.json">trace.json</a>' in page.read_text()
    # The typical steps are those of torch.profiler: diagnose reads them with the same parts per step.
    again = diagnosis_of(out)["profile"]["trace"]
    assert [len(again["steps"]), again["devices"][0]["index"]] == [3, 0]
    assert again["parts"] == pytest.approx([3 / 29 * part for part in before["profile"]["trace"]["parts"]], abs=1e-6)


def test_the_page_of_a_trace_of_the_cpu(tmp_path, recorded):
    page = tmp_path / "page.html"
    assert diagnose(recorded[1], "--report", page).returncode == 0
    island = island_of(page)
    assert [chart["title"].split(":")[0] for chart in island["bars"]] == ["Time per step by part",
                                                                         "Seconds of the main thread, by cause"]
    assert island["timelines"][0]["lanes"] == ["main thread"]
    assert any(name.startswith("enumerate(DataLoader)") for name in island["timelines"][0]["names"])


def test_the_output_of_diagnose_is_an_input(tmp_path, recorded):
    out = tmp_path / "diagnosis.json"
    assert diagnose(recorded[1], "--out", out).returncode == 0
    assert json.loads(out.read_text()) == diagnosis_of(recorded[1]) == diagnosis_of(out)


def test_the_output_of_watch_is_an_input(tmp_path):
    out = tmp_path / "watched.json"
    script = "import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass"
    watched = subprocess.run([os.environ["UNSTARVE"], "watch", "--out", str(out), "--", sys.executable, "-c", script],
                             capture_output=True, text=True, timeout=60, check=True)
    assert diagnosis_of(out) == json.loads(out.read_text())
    assert diagnose(out).stdout in watched.stderr


@pytest.mark.parametrize(("content", "message"), [
    (b"", "is empty"),
    (b"\x7fELF", "unknown format"),
    (b'{"a": 1}', 'without "traceEvents"'),
    (b'{"traceEvents": [{"ph": "X", "name": "f", "ts": 1, "dur": 1}]}', "xplane.pb"),
])
def test_files_that_are_not_traces(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    run = diagnose(path)
    assert run.returncode == 3
    assert message in run.stderr


COUNTED = """
    import json, sys, torch
    from torch.profiler import ProfilerActivity, profile, schedule
    from torch.utils.flop_counter import FlopCounterMode
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 12, 3, stride=2, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(12, 24, (3, 5), padding=(1, 2)), torch.nn.Conv2d(24, 24, 3, dilation=2),
        torch.nn.ConvTranspose2d(24, 8, 3, stride=2), torch.nn.Flatten(), torch.nn.LazyLinear(10)).to(DTYPE)
    images = torch.randn(4, 3, 32, 30, dtype=DTYPE)
    def step():
        out = model(images)
        (out.sum() + torch.bmm(out.view(4, 2, 5), out.view(4, 5, 2)).sum()).backward()
    step()
    counter = FlopCounterMode(display=False)
    with counter:
        step()
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=5), record_shapes=True,
                 on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as profiler:
        for _ in range(6):
            step()
            profiler.step()
    print(counter.get_total_flops())
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_operations_of_matrix_products_and_convolutions_are_those_of_pytorch(tmp_path, dtype):
    """Without groups: FlopCounterMode multiplies the operations of their weights' gradient by the number of groups."""
    path = tmp_path / "trace.json"
    counted = subprocess.run([sys.executable, "-c", textwrap.dedent(COUNTED).replace("DTYPE", f"torch.{dtype}"), path],
                             capture_output=True, text=True, timeout=120, check=True)
    trace = diagnosis_of(path)["profile"]["trace"]
    steps = len(trace["steps"])
    assert steps >= 3
    used, other = ("operations_32", "operations_16") if dtype == "float32" else ("operations_16", "operations_32")
    assert trace["arithmetic"][used] / steps == pytest.approx(int(counted.stdout), rel=1e-12)
    assert trace["arithmetic"][other] == 0
