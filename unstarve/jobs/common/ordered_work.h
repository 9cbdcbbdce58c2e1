#pragma once
// Work on many threads whose results are taken in order by one: what makes packed shards the same for any number of
// threads.
//
//   items 0, 1, 2, ... ── workers, in any order ──▶ slots ── in order ──▶ the caller
//
// Memory:    `window` slots; an item is begun when the item `window` before it was taken.
// Failure:   what a worker throws comes out in its item's turn, after all items before it were taken: the first failure
//            in order, whichever happened first. What take() throws comes out at once. Either way the workers have
//            ended when this returns.

#include <cstdint>
#include <functional>
#include <stop_token>

namespace unstarve {

struct OrderedWork {
  std::uint64_t items = 0;
  int threads = 1;
  std::uint64_t window = 1;
};

// Called as work(item, slot), slot = item % window; each thread calls make_worker() once for a function of its own.
using OrderedWorker = std::function<void(std::uint64_t item, std::size_t slot)>;

// Throws Error(kCancelled) when `stop` was requested before all items were taken.
void run_in_order(const OrderedWork& work, const std::function<OrderedWorker()>& make_worker, const OrderedWorker& take,
                  std::stop_token stop = {});

}  // namespace unstarve
