#pragma once
// A Python generator whose batches TensorFlow gets in a thread of its own: model.fit() of Keras with a generator, a
// PyDataset or a DataLoader, and tf.data.Dataset.from_generator(). The main thread is in one native function meanwhile,
// whether it computes or waits.
//
// tf.data without a generator shows nothing of this kind: the names of its threads and of those that compute operators
// are longer than Linux permits, so both have the name of the program.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {

// The share of the time that the main thread waits for such a generator, at most. 0: none is known.
// Only the time counts in which no other thread of the process computes, as if one thread computed at a time. A
// generator that prepares data less than nine tenths of the time may be in advance of the training: then its own time
// on a CPU does not count either. The same holds for several generators, whose times are summed. A GPU of the program
// that computes does not wait.
[[nodiscard]] double generator_share(const RunProfile& profile);

// The line of the program in which generators spend most time. share = 0 if there is none.
[[nodiscard]] HotLine generator_line(const PythonStacks& stacks);

}  // namespace unstarve
