"""`unstarve diagnose` on SQLite files with the documented schema of Nsight Systems. `nsys` itself is not used."""

import json
import os
import sqlite3
import subprocess

import pytest

# The tables and columns that are read, and some that are not, as nsys 2025 writes them.
SCHEMA = """
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER,
        smCount INTEGER, chipName TEXT, computeMajor INTEGER, computeMinor INTEGER);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER, blockX INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        value INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
        returnValue INTEGER NOT NULL, callchainId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
        globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
    CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
        category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
        domainId INTEGER);
    CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
        address INTEGER NOT NULL, originalFaultPc INTEGER, CpuInstruction INTEGER NOT NULL, module INTEGER);
    CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL,
        numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL);
"""
US = 1000  # nanoseconds
PROCESS = (1 << 48) | (4711 << 24)
OTHER = (1 << 48) | (4712 << 24)
HOST_TO_DEVICE, DEVICE_TO_HOST, UNIFIED_TO_HOST = 1, 2, 12
PAGEABLE, PINNED, DEVICE, MANAGED = 0, 1, 2, 4
PUSH_POP = 59


class Export:
    def __init__(self, path):
        path.unlink(missing_ok=True)
        self.database = sqlite3.connect(path)
        self.database.executescript("PRAGMA page_size = 512;" + SCHEMA)
        self.strings = {}
        self.database.execute("INSERT INTO TARGET_INFO_GPU VALUES (5, 'NVIDIA H100', '', 80000000000, 132, 'GH100', 9,"
                              " 0)")
        self.database.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5, 0, 4711, '')")

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.database.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[text], text))
        return self.strings[text]

    def kernel(self, name, begin, length, process=PROCESS):
        self.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,1,?,?,?,NULL,1,1)",
                              (begin * US, (begin + length) * US, process, self.string(name), self.string("Kernel2")))

    def copy(self, kind, begin, length, size, source, target):
        self.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,1,?,?,?,?,?)",
                              (begin * US, (begin + length) * US, PROCESS, size, kind, source, target))

    def call(self, name, begin, length, thread=1):
        self.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,1,?,0,NULL)",
                              (begin * US, (begin + length) * US, PROCESS + thread, self.string(name)))

    def range(self, name, begin, length, by_id=False, event_type=PUSH_POP, thread=1):
        text, text_id = (None, self.string(name)) if by_id else (name, None)
        self.database.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,?,NULL,NULL,NULL,?,?,NULL,?,0)",
                              (begin * US, (begin + length) * US, event_type, text, PROCESS + thread, text_id))

    def close(self):
        self.database.commit()
        self.database.close()


def write_training(path, steps=12):
    """Steps of 10 ms: 1 ms of loading, a copy from pageable memory of 1 ms, a kernel of 6 ms, a read of the loss."""
    export = Export(path)
    for step in range(steps):
        at = 10_000 * step
        export.range(f"step {step}", at, 9_900, by_id=step % 2 == 0)
        export.range("data_loading", at, 1000)
        export.call("cudaMemcpyAsync_v3020", at + 1000, 1000)
        export.copy(HOST_TO_DEVICE, at + 1000, 1000, 20_000_000, PAGEABLE, DEVICE)
        export.call("cudaLaunchKernel_v7000", at + 2000, 10)
        export.kernel("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(T1::Params)", at + 2000, 6000)
        export.call("cudaMemcpyAsync_v3020", at + 2100, 10)
        export.copy(DEVICE_TO_HOST, at + 8000, 2, 4, DEVICE, PINNED)
        export.call("cudaStreamSynchronize_v3020", at + 2110, 5900)
    export.kernel("of another process", 0, 1_000_000, OTHER)
    export.database.execute("INSERT INTO NVTX_EVENTS VALUES (0,NULL,34,NULL,NULL,NULL,'mark',1,NULL,NULL,0)")
    export.close()


def diagnose(path):
    return subprocess.run([os.environ["UNSTARVE"], "diagnose", str(path), "--json"], capture_output=True, text=True,
                          timeout=60, check=False)


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "report"
    write_training(path)
    return path


def test_a_trace_has_the_findings_and_sums_of_its_program(export):
    run = diagnose(export)
    assert run.returncode == 0, run.stderr
    diagnosis = json.loads(run.stdout)
    trace = diagnosis["profile"]["trace"]
    lost = {finding["rule"]: finding["lost"] for finding in diagnosis["findings"]}
    assert lost == pytest.approx({"tensor-cores-unused": 0.3, "hidden-syncs": 0.2, "input-wait": 0.1,
                                  "pageable-copies": 0.1}, abs=0.01)
    assert trace["format"] == "Nsight Systems"
    assert (trace["devices"][0]["name"], trace["devices"][0]["compute_capability"]) == ("NVIDIA H100", 9)
    assert trace["devices"][0]["memory_bytes"] == 80_000_000_000
    assert len(trace["steps"]) == 10  # without the first, and the last, which does not reach to a next one
    assert all(step["seconds"] == pytest.approx(0.01) for step in trace["steps"])
    assert sum(trace["parts"]) == pytest.approx(trace["analysed_s"])
    assert {copy["host_memory"]: copy["count"] for copy in trace["copies"]} == {"pageable": 10, "pinned": 10}
    assert trace["kernels"][0]["name"].startswith("void cutlass::Kernel2")
    assert [kernel["name"] for kernel in trace["kernels"]].count("of another process") == 0


def test_page_faults_of_unified_memory(export):
    database = sqlite3.connect(export)
    for step in range(12):
        at = 10_000 * step
        for process in (PROCESS, OTHER):
            database.execute("INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (?,?,?,0,?,7,2)",
                             ((at + 2500) * US, (at + 4500) * US, process, 1 << 40))
        for fault in range(3):
            database.execute("INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (?,?,?,NULL,1,NULL)",
                             ((at + 8100 + fault) * US, PROCESS, 1 << 40))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,1,?,?,?,?,?)",
                         ((at + 8200) * US, (at + 8700) * US, PROCESS, 2_000_000, UNIFIED_TO_HOST, DEVICE, MANAGED))
    database.commit()
    database.close()
    diagnosis = json.loads(diagnose(export).stdout)
    assert diagnosis["profile"]["trace"]["unified"] == {
        "cpu_faults": 30, "gpu_faults": 70, "thrashing": 0, "gpu_fault_s": pytest.approx(0.02), "throttled_s": 0,
        "stalled_s": pytest.approx(0.02)}
    finding, = [finding for finding in diagnosis["findings"] if finding["rule"] == "unified-memory"]
    assert finding["lost"] == pytest.approx(0.25)  # 2 ms and 0.5 ms of 10 ms
    assert "7.0 page faults of the accelerator and 3.0 of the host per step" in finding["evidence"]
    assert "2.0 MB of pages per step" in finding["evidence"]


def test_columns_and_tables_of_older_versions(export):
    database = sqlite3.connect(export)
    for statement in ("ALTER TABLE TARGET_INFO_GPU DROP COLUMN computeMajor", "DROP TABLE TARGET_INFO_CUDA_DEVICE",
                      "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid", "DROP TABLE NVTX_EVENTS",
                      "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET", "DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                      "DROP TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS",
                      "ALTER TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS DROP COLUMN numberOfPageFaults"):
        database.execute(statement)
    database.commit()
    database.close()
    run = diagnose(export)
    assert run.returncode == 0, run.stderr
    trace = json.loads(run.stdout)["profile"]["trace"]
    assert trace["steps"] == []
    assert trace["devices"][0]["busy_s"] > 0


@pytest.mark.parametrize("table, column",
                         [("CUPTI_ACTIVITY_KIND_KERNEL", "end"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "deviceId"),
                          ("CUPTI_ACTIVITY_KIND_RUNTIME", "start"), ("NVTX_EVENTS", "end")])
def test_a_column_that_every_version_has_is_missing(export, table, column):
    database = sqlite3.connect(export)
    database.execute(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other')
    database.commit()
    database.close()
    run = diagnose(export)
    assert run.returncode == 3
    assert f'read trace {export}: table {table}: found no column "{column}"; expected an export' in run.stderr


def test_damaged_and_foreign_databases(export, tmp_path):
    cut = tmp_path / "cut"
    cut.write_bytes(export.read_bytes()[:3000])
    run = diagnose(cut)
    assert run.returncode == 3
    assert str(cut) in run.stderr
    foreign = tmp_path / "foreign"
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    run = diagnose(foreign)
    assert run.returncode == 3
    assert "nsys export --type sqlite" in run.stderr
