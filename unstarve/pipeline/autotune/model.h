#pragma once
// The queueing model of the autotuner: predicts the rate of a loader with given threads and prefetch
// (docs/decisions/0017-autotuner.md).
//
//   threads: sample after sample, computing c, sleeping w ──▶ queue of up to K batches ──▶ consumer: x per batch
//
// Threads: N threads on C cores are the machine-repairman model M/M/C//N, solved by its birth and death probabilities.
// Window:  batches are delivered in order, so threads can be at most K batches past the slowest sample. The sample of a
//          busy thread takes E[S^2] / E[S] on average; the slowest sample is assumed to take twice that. Little's law
//          bounds the rate; if the bounds of threads and window are close, the rate is below both.
// Queue:   the consumer finds no batch with the probability that an M/M/1/K queue is empty. K is scaled for times that
//          vary less or more than exponential ones (diffusion approximation).
//
// Pure functions. Units: seconds, cores, samples.

#include <cstdint>

#include "unstarve/core/profile.h"

namespace unstarve::autotune {

// The costs of one record in the threads of read-ahead.
struct ReaderLoad {
  double latency_s = 0;
  double cpu_s = 0;
  double sleep_s = 0;  // upper bound of the time asleep; all if the kernel does not count sleeps
  int in_flight = 0;   // maximum
};

// The costs of one sample and of the consumer, from a Profile.
struct Load {
  double cpu_s = 0;    // per sample in a worker, on a CPU
  double sleep_s = 0;  // per sample in a worker, not runnable
  double delay_s = 0;  // per sample in a worker, runnable but without a CPU
  double spread = 0;   // squared coefficient of variation of a sample's whole time
  double batch_samples = 1;
  double consumer_s = 0;       // work of the consumer per batch
  double consumer_spread = 0;  // squared coefficient of variation of that
  ReaderLoad readers{};        // 0 without read-ahead
  double batch_bytes = 0, worker_bytes = 0, record_bytes = 0;

  [[nodiscard]] double sample_s() const { return cpu_s + sleep_s + delay_s; }
  // The share of a sample's time asleep; decides whether threads beyond the cores can help.
  [[nodiscard]] double sleeping_share() const { return cpu_s + sleep_s > 0 ? sleep_s / (cpu_s + sleep_s) : 0; }
};

// Stages have the names of the loader; the read-ahead stage contains the readers, with the latency of records. Throws
// Error(kArgument) for a profile without samples or batch size.
[[nodiscard]] Load load_of(const Profile& profile);

// Samples per second of `threads` on `cores` if the queue is never full. Preconditions: threads, cores >= 1.
[[nodiscard]] double threads_rate(const Load& load, int threads, double cores);
// Average number of busy cores if the queue is never full.
[[nodiscard]] double threads_cores(const Load& load, int threads, double cores);
// The smallest prefetch that sustains `rate` despite the slowest sample.
[[nodiscard]] double window_batches(const Load& load, double rate);
// threads_rate() within a window of `prefetch` batches (0: one batch, on request).
[[nodiscard]] double loader_rate(const Load& load, int threads, int prefetch, double cores);

// The probability that a consumer of `consumer_s` finds an empty queue of `slots`, filled at `producer_s` per item.
// `spread`: cv^2 of the consumer's times plus cv^2 of the producer's; 2 is M/M/1/K.
[[nodiscard]] double empty_chance(double consumer_s, double producer_s, int slots, double spread);
// Seconds that the consumer waits per batch if the loader delivers `rate` samples per second.
[[nodiscard]] double consumer_wait(const Load& load, double rate, int prefetch);

}  // namespace unstarve::autotune
