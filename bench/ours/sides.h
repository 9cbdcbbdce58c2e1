#pragma once
// The sides of this program, one file each.

#include <memory>

#include "bench/ours/side.h"

namespace unstarve::bench {

// The loader on "imagenet-train" or "cifar-train": what the peers are compared with.
[[nodiscard]] std::unique_ptr<Side> make_loader_side(const Job& job);
// The same from nothing opened to the first batch, on "folder-first-batch"; a Block's samples are first batches.
[[nodiscard]] std::unique_ptr<Side> make_first_batch_side(const Job& job);
// Whole epochs of files out of the page cache, with the job's "read_ahead".
[[nodiscard]] std::unique_ptr<Side> make_cold_side(const Job& job);
// The same samples, operations and amount of batch memory without the loader: each thread runs its share of the order
// in a plain loop, with no queue, no slot to wait for and no consumer.
[[nodiscard]] std::unique_ptr<Side> make_bare_side(const Job& job);
// One memcpy of the output per batch, shared among the threads, into memory larger than the last-level cache.
[[nodiscard]] std::unique_ptr<Side> make_memcpy_side(const Job& job);
// Records of the job's "data", read and checked in its "order", "sequential" or "random".
[[nodiscard]] std::unique_ptr<Side> make_records_side(const Job& job);
// memcpy of pieces as large as those records, from memory as large as all of them.
[[nodiscard]] std::unique_ptr<Side> make_record_memcpy_side(const Job& job);
// `unstarve pack` of the job's "data", images resized to the short side "resize", on as many threads as "cores".
[[nodiscard]] std::unique_ptr<Side> make_pack_side(const Job& job);
// Samples that sleep, some of them long, in the job's "order" by its "threads"; with "even" none longer than others.
[[nodiscard]] std::unique_ptr<Side> make_stragglers_side(const Job& job);
// A consumer that takes as long as the loader by a ninth more; a Block's samples are microseconds of its work.
[[nodiscard]] std::unique_ptr<Side> make_overlap_side(const Job& job);
// Any pipeline: the job's "pipeline" is its YAML, "consumer_ms" the consumer's work per batch, "warm_seconds" how long
// it runs from its start before the first block. Its blocks have their CPU time.
[[nodiscard]] std::unique_ptr<Side> make_pipeline_side(const Job& job);
// The job's "operations" (YAML of a pipeline) on as many "images" of its "data", decoded in memory, on "threads"
// threads (1); "side": resized to that square first. They end in a sample of the pipeline's output.
[[nodiscard]] std::unique_ptr<Side> make_operations_side(const Job& job);
// The job's "operations" (YAML of a pipeline with batch_operations) on one "batch" of float32 planes, squares of
// "side", and on its targets of "classes", again and again in place.
[[nodiscard]] std::unique_ptr<Side> make_batch_operations_side(const Job& job);
// Photographs in memory to 224 x 224 pixels of a random crop, with the job's "index" (true) by an index of each scan.
[[nodiscard]] std::unique_ptr<Side> make_decode_crop_side(const Job& job);
// The same photographs decoded by libjpeg-turbo, all of their pixels and nothing else done.
[[nodiscard]] std::unique_ptr<Side> make_libjpeg_side(const Job& job);
// Entropy decoding alone of the same photographs, whole, by our decoder: one lane from the start of the scan, or with
// the job's "index" row by row from its points.
[[nodiscard]] std::unique_ptr<Side> make_entropy_side(const Job& job);
// libjpeg-turbo's, by skipping all lines but the last.
[[nodiscard]] std::unique_ptr<Side> make_libjpeg_skip_side(const Job& job);
// Training steps on one resident batch.
[[nodiscard]] std::unique_ptr<Side> make_train_side(const Job& job);

}  // namespace unstarve::bench
