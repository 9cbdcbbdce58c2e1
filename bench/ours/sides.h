#pragma once
// The sides of this program, one file each.

#include <memory>

#include "bench/ours/side.h"

#include "unstarve/ops/batch/batch_operation.h"

namespace unstarve::bench {

// The loader on "imagenet-train", "cifar-train" etc.; compared with the peers.
[[nodiscard]] std::unique_ptr<Side> make_loader_side(const Job& job);
// From opening to the first batch, on "folder-first-batch"; the samples of a Block are first batches.
[[nodiscard]] std::unique_ptr<Side> make_first_batch_side(const Job& job);
// Whole epochs of files that are not in the page cache, with the job's "read_ahead".
[[nodiscard]] std::unique_ptr<Side> make_cold_side(const Job& job);
// The same samples, operations and amount of batch memory without the loader: each thread runs its share of the order
// in a plain loop, without queue, slots and consumer.
[[nodiscard]] std::unique_ptr<Side> make_bare_side(const Job& job);
// One memcpy of the output per batch, split over the threads, into memory larger than the last-level cache.
[[nodiscard]] std::unique_ptr<Side> make_memcpy_side(const Job& job);
// Reads and checks the records of the job's "data" in its "order", "sequential" or "random".
[[nodiscard]] std::unique_ptr<Side> make_records_side(const Job& job);
// memcpy of pieces of the mean record size, from memory as large as the dataset.
[[nodiscard]] std::unique_ptr<Side> make_record_memcpy_side(const Job& job);
// `unstarve pack` of the job's "data", images resized to the short side "resize", on "cores" threads.
[[nodiscard]] std::unique_ptr<Side> make_pack_side(const Job& job);
// Samples that sleep, with stragglers, in the job's "order" on "threads" threads; with "even" there are no stragglers.
[[nodiscard]] std::unique_ptr<Side> make_stragglers_side(const Job& job);
// A consumer that takes 1/0.9 of the loader's time per batch; the samples of a Block are microseconds of its work.
[[nodiscard]] std::unique_ptr<Side> make_overlap_side(const Job& job);
// Any pipeline: the job's "pipeline" is its YAML, "consumer_ms" the consumer time per batch, "warm_seconds" the time
// before the first block. Measures CPU time.
[[nodiscard]] std::unique_ptr<Side> make_pipeline_side(const Job& job);
// The job's "operations" (pipeline YAML) on "images" decoded images of its "data", on "threads" threads (default 1);
// "side": images are first resized to that square. The output is a sample of the pipeline.
[[nodiscard]] std::unique_ptr<Side> make_operations_side(const Job& job);
// The job's "operations" (pipeline YAML with batch_operations) on one "batch" of planar float32 squares of "side" and
// targets of "classes", repeatedly in place.
[[nodiscard]] std::unique_ptr<Side> make_batch_operations_side(const Job& job);
// Decodes random crops of photographs in memory to 224 x 224; with the job's "index" (true) using scan indexes.
[[nodiscard]] std::unique_ptr<Side> make_decode_crop_side(const Job& job);
// Decodes all pixels of the same photographs with libjpeg-turbo.
[[nodiscard]] std::unique_ptr<Side> make_libjpeg_side(const Job& job);
// Entropy decoding only of the whole photographs by our decoder: from the start of the scan, or with the job's "index"
// row by row from its points.
[[nodiscard]] std::unique_ptr<Side> make_entropy_side(const Job& job);
// Entropy decoding by libjpeg-turbo, which skips all lines but the last.
[[nodiscard]] std::unique_ptr<Side> make_libjpeg_skip_side(const Job& job);
// Training steps on one resident batch.
[[nodiscard]] std::unique_ptr<Side> make_train_side(const Job& job);
// One "batch" after the other through the fastest engine: the job's "network" in its "precision".
[[nodiscard]] std::unique_ptr<Side> make_infer_side(const Job& job);
// `unstarve infer` on the job's "data".
[[nodiscard]] std::unique_ptr<Side> make_infer_end_to_end_side(const Job& job);
// Its loader alone and its engine alone; the slower one counts.
[[nodiscard]] std::unique_ptr<Side> make_infer_parts_side(const Job& job);

}  // namespace unstarve::bench
