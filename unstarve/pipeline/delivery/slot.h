#pragma once
// A batch slot: the memory of one batch, which batch it is, how far it is filled, and what the consumer gets of it.
//
//   arrays.memory   | pixels of sample 0 | of sample 1 | ...      also labels, ids and more: one value per sample
//   batch           its epoch and index, and how many samples it has
//   fill            counts the samples that are not finished, and keeps the first failure
//
// Life:    Delivery::open() ── workers fill ── complete_batch() ── publish() ── take(): the consumer borrows it ──
//          release(), again
// Threads: as Delivery; `delivered` is written by the worker that completes the batch.

#include "unstarve/core/size.h"
#include "unstarve/pipeline/delivery/batch_arrays.h"
#include "unstarve/pipeline/delivery/batch_fill.h"
#include "unstarve/pipeline/order/run_order.h"

namespace unstarve {

// The part of a complete batch that the consumer gets: the first samples of the slot.
struct Delivered {
  std::size_t samples = 0;      // the good samples without gaps, and copies of them
  std::size_t valid = 0;        // the first of those: of the epoch, and not copies
  std::size_t pixel_bytes = 0;  // of all samples
  Size size;                    // of each sample
};

struct Slot {
  BatchArrays arrays;
  RunBatch batch;
  BatchFill fill;
  Delivered delivered;
};

}  // namespace unstarve
