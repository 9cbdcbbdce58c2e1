#pragma once
// The queueing model behind the autotuner: what a loader of so many threads and batches ahead would give its consumer.
//
//   threads: sample after sample, computing c, sleeping w ──▶ queue of up to K batches ──▶ consumer: x per batch
//
// Threads. N threads over C cores are a closed system of N customers who each think for w (they sleep: a disk, a
// server, a lock) and are then served for c by one of C servers: the machine-repairman model M/M/C//N, solved by its
// birth and death probabilities. Its limits are the laws of operational analysis, N / (c + w) for few threads and C / c
// for many (Lazowska, Zahorjan, Graham, Sevcik, "Quantitative System Performance", 1984, chapters 5 and 6).
//
// Window. Batches come in order, so threads can work ahead of the slowest sample only as far as K batches reach. A
// thread found at work is at a sample of length E[S^2] / E[S] on average (renewal theory's inspection paradox), twice
// that is taken for the slowest, L; Little's law then bounds the rate by K B / L, and where both bounds are near each
// other the rate stays below either. This is what stragglers ask of prefetch, and what makes many sleeping threads want
// more than one small batch.
//
// Queue. The chance that the consumer finds no batch is that of an empty M/M/1/K queue, as tf.data's model takes it
// (Murray et al., "tf.data: A Machine Learning Data Processing Framework", VLDB 2021), with K scaled by
// 2 / (cv_x^2 + cv_y^2) for times that vary less, or more, than exponential ones: the diffusion approximation
// (Kobayashi, J. ACM 21, 1974). Unlike tf.data's the consumer's time is measured, never taken as nothing.
//
// Threads: pure functions. Units: seconds, cores, samples.

#include <cstdint>

#include "unstarve/core/profile.h"

namespace unstarve::autotune {

// What a Profile says of one sample and of the consumer.
struct Load {
  double cpu_s = 0;    // per sample in a worker, on a processor
  double sleep_s = 0;  // per sample in a worker, neither on a processor nor ready for one
  double delay_s = 0;  // per sample ready, but without a processor: others wanted it
  double spread = 0;   // squared coefficient of variation of a sample's whole time
  double batch_samples = 1;
  double consumer_s = 0;       // its own work per batch
  double consumer_spread = 0;  // squared coefficient of variation of that
  bool consumer_known = false;
  // Where records are read ahead: how long one is on its way, and what of a processor it takes; 0 without.
  double ahead_s = 0, ahead_cpu_s = 0;
  double ahead_sleep_s = 0;  // of that, what the reader slept at most: all where its sleeps are not counted
  int reads = 0;             // in flight at most meanwhile
  double batch_bytes = 0, worker_bytes = 0, record_bytes = 0;

  [[nodiscard]] double sample_s() const { return cpu_s + sleep_s + delay_s; }
  // Of a sample's time, what it sleeps; decides whether threads beyond the cores can gain.
  [[nodiscard]] double sleeping_share() const { return cpu_s + sleep_s > 0 ? sleep_s / (cpu_s + sleep_s) : 0; }
};

// Stages are known by the loader's names; "ahead" is that of the readers, its time that of records on their way. Throws
// Error(kArgument) for a profile without samples or batch size.
[[nodiscard]] Load load_of(const Profile& profile);

// Samples per second of `threads` on `cores`, were the queue never full. threads, cores >= 1.
[[nodiscard]] double threads_rate(const Load& load, int threads, double cores);
// Of these threads, how many processors are busy on average when nothing holds them up.
[[nodiscard]] double threads_cores(const Load& load, int threads, double cores);
// The least number of batches ahead with which that rate is reached in spite of the slowest sample.
[[nodiscard]] double window_batches(const Load& load, double rate);
// threads_rate() within a window of `prefetch` batches (0: one, made when asked for); below it and the window's bound.
[[nodiscard]] double loader_rate(const Load& load, int threads, int prefetch, double cores);

// The chance that a consumer of `consumer_s` finds none of up to `slots` things that take `producer_s` each.
// spread: cv^2 of the consumer's times plus cv^2 of the producer's; 2 is M/M/1/K.
[[nodiscard]] double empty_chance(double consumer_s, double producer_s, int slots, double spread);
// Seconds that the consumer waits per batch, of a loader of `rate` samples per second.
[[nodiscard]] double consumer_wait(const Load& load, double rate, int prefetch);

}  // namespace unstarve::autotune
