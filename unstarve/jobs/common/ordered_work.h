#pragma once
// Runs work on many threads and passes the results in order to one consumer, so that the output does not depend on the
// number of threads.
//
//   items 0, 1, 2, ... ── workers, in any order ──▶ slots ── in order ──▶ the caller
//
// Memory:  `window` slots; item i starts after item i - window was consumed.
// Failure: an exception of a worker is rethrown after all earlier items were consumed: the first failure in item order.
//          An exception of take() is rethrown immediately. All workers have ended when run_in_order() returns.

#include <cstdint>
#include <functional>
#include <stop_token>

namespace unstarve {

struct OrderedWork {
  std::uint64_t items = 0;
  int threads = 1;
  std::uint64_t window = 1;
};

// Called as work(item, slot) with slot = item % window. Each thread calls make_worker() once.
using OrderedWorker = std::function<void(std::uint64_t item, std::size_t slot)>;

// Throws Error(kCancelled) if `stop` is requested before all items were consumed.
void run_in_order(const OrderedWork& work, const std::function<OrderedWorker()>& make_worker, const OrderedWorker& take,
                  std::stop_token stop = {});

}  // namespace unstarve
