#pragma once
// `unstarve capacity`: how many accelerators this host can feed, without having one.
//
// Measures the loader alone, estimates the number, and then emulates accelerators with the step times of MLPerf Storage
// until the largest number is found whose utilisation is sufficient (observe/capacity.h, accelerator_group.h).
//
// Images are read, decoded and augmented by the loader. Other samples (volumes, records of numbers) are read as raw
// bytes: no other work is done on them, so that the result is the number that the storage can feed.
//
// Time:    about `seconds`, at least five steps of the accelerator for each number that is tried.
// Threads: one caller. Failure: as Loader; Error(kArgument) if the data has no samples of the workload's kind.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "unstarve/jobs/capacity/accelerator_group.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/capacity.h"

namespace unstarve {

struct Report;  // observe/report.h

struct CapacityOptions {
  Settings settings;               // the pipeline; its batch is replaced
  std::string raw;                 // read this path as raw samples instead; empty: images of the pipeline
  std::uint64_t sample_bytes = 0;  // of a raw sample; 0: that of the workload
  std::string accelerator = "h100";
  std::string workload = "resnet50";
  int batch = 0;               // samples per step; 0: that of the workload. The time per sample stays the same.
  double min_utilisation = 0;  // 0: that of the workload, or 0.9 if it has none
  int ranks = 0;               // accelerators that wait for each other after every step; 0: all, 1: none
  double seconds = 30;
};

struct EmulatedAccelerators {
  int accelerators = 0;
  bool independent = false;  // they do not wait for each other, although those of the search do
  AcceleratorUse use;        // times are nanoseconds since the measurement began
};

struct CapacityResult {
  std::string data;    // path
  std::string format;  // of the dataset; "raw samples"
  std::uint64_t samples = 0;
  std::uint64_t stored_bytes = 0;    // 0: unknown
  double sample_bytes = 0;           // mean of raw samples; 0: images
  double workload_sample_bytes = 0;  // of the workload
  std::uint64_t memory_bytes = 0;    // of the machine or its limit
  std::string accelerator;           // "h100-resnet50"
  CapacityDemand demand;
  int ranks = 0;
  BenchFigures figures;  // storage (0 if cached), loader, cores and stages
  double storage = 0;    // samples/s of reading alone
  double storage_bytes_per_s = 0;
  bool cached = false;  // reads hardly wait: the data is in the page cache, or generated
  int storage_threads = 1;
  int estimate = 0;
  int most = 0;  // the largest number that is emulated: that for which the memory suffices, up to 512
  CapacitySearch search;
  double utilisation_independent = 0;  // of `fed`, or 1, accelerators that do not wait for each other; 0: not measured
  CapacityVerdict verdict;
  std::vector<WhatIf> what_if;                   // empty if threads, others or the quota are the limit
  std::string cores_needed;                      // for one accelerator more
  double seconds = 0;                            // that the measurement took
  std::vector<RecordedSpan> spans;               // of the parts of the measurement
  std::vector<EmulatedAccelerators> emulations;  // in the order of measurement
};

// That raw samples differ in size from those of the workload by more than a tenth; empty: they do not, or are images.
[[nodiscard]] std::string sample_size_note(const CapacityResult& result);

// Whether the samples of the workload are images. Throws Error(kArgument) for unknown names.
[[nodiscard]] bool is_image_workload(const std::string& accelerator, const std::string& workload);

[[nodiscard]] CapacityResult run_capacity(const CapacityOptions& options, const Progress& progress = {});

[[nodiscard]] std::string to_text(const CapacityResult& result);
// One object: data, format, samples, accelerator, batch, step_s, min_utilisation, ranks, storage, storage_bytes_per_s,
// cached, loader, loader_cores, usable_cores, other_cores, estimate, most, fed, utilisation (object: number of
// accelerators to utilisation), utilisation_independent (null if not measured), emulations[] (accelerators,
// independent, utilisation, lowest, samples_per_s, steps, computed_s, data_wait_s, job_wait_s), limit, verdict,
// cores_needed, what_if[] (change, samples_per_s, fed, arithmetic), seconds.
[[nodiscard]] std::string to_json(const CapacityResult& result);
// Defined in capacity_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] Recording recording_of(const CapacityResult& result, const std::string& command);
[[nodiscard]] Report report_of(const CapacityResult& result, const std::string& command);

}  // namespace unstarve
