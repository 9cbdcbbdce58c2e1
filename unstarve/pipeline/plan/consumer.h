#pragma once
// What becomes of a pipeline's batches, as far as passes depend on it.

namespace unstarve {

enum class Consumer {
  kHost,        // takes them as spec.output says
  kNormalises,  // behind a bus, where it makes of uint8 what spec.output says
};

}  // namespace unstarve
