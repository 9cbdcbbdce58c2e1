// Reading records with all checks, in order or shuffled; and copying the same number of bytes.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/core/memory/cache_fetch.h"
#include "unstarve/device/device.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

constexpr std::size_t kCacheLine = 64;

// All threads read the same order, each from its own start position.
class RecordsSide final : public Side {
 public:
  explicit RecordsSide(const Job& job)
      : data_(open_dataset(job.at("data"))),
        threads_(job.at("cores")),
        order_(data_->size()),
        next_(static_cast<std::size_t>(threads_)) {
    std::iota(order_.begin(), order_.end(), 0);
    const std::string order = job.at("order");
    if (order == "random") {
      std::shuffle(order_.begin(), order_.end(), std::mt19937_64(job.at("seed").get<std::uint64_t>()));
    } else if (order != "sequential") {
      throw Error(ErrorKind::kArgument, "bench: unknown order '" + order + "'; expected sequential or random");
    }
    const std::size_t threads = next_.size();
    for (std::size_t thread = 0; thread < threads; ++thread) next_[thread].position = order_.size() * thread / threads;
    (void)run(0.1);  // maps the pages
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds,
                       [this](int thread) { return read_some(next_[static_cast<std::size_t>(thread)]); });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    std::uint64_t bytes = 0;
    std::set<std::int64_t> labels;
    RecordBuffer record;
    for (std::uint64_t id = 0; id < data_->size(); ++id) {
      data_->read(id, record);
      bytes += record.values.at(0).bytes.size();
      labels.insert(record.values.at(1).integer);
    }
    return {{"records", data_->size()}, {"bytes", bytes}, {"labels", labels.size()}};
  }

 private:
  struct alignas(64) Reader {
    std::uint64_t touched = 0;
    std::size_t position = 0;  // in the order; every thread cycles through all of it
    RecordBuffer record;
  };

  int read_some(Reader& reader) {
    constexpr int kSome = 64;
    for (int i = 0; i < kSome; ++i) {
      data_->read(order_[reader.position], reader.record);
      reader.position = reader.position + 1 < order_.size() ? reader.position + 1 : 0;
      CacheFetch(data_->prefetch(order_[reader.position])).finish();  // like the worker threads of a loader
      // Touch the bytes, because formats return views of mapped memory. The sum is a local variable: bytes may alias
      // any member, and a store per cache line would be measured.
      const auto bytes = reader.record.values.front().bytes;
      std::uint64_t touched = 0;
      for (std::size_t offset = 0; offset < bytes.size(); offset += kCacheLine) touched += bytes[offset];
      reader.touched += touched;
    }
    return kSome;
  }

  std::shared_ptr<const Dataset> data_;
  int threads_;
  std::vector<std::uint64_t> order_;
  std::vector<Reader> next_;
};

// Copies pieces of the mean record size; source and destination are as large as the dataset.
class RecordMemcpySide final : public Side {
 public:
  explicit RecordMemcpySide(const Job& job) : threads_(job.at("cores")) {
    const auto data = open_dataset(job.at("data"));
    piece_ = static_cast<std::size_t>(data->stored_bytes() / data->size());
    pieces_ = static_cast<std::size_t>(data->size()) / static_cast<std::size_t>(threads_);
    for (int thread = 0; thread < threads_; ++thread) {
      copies_.push_back({allocate_pageable(piece_ * pieces_), allocate_pageable(piece_ * pieces_), 0});
      std::memset(copies_.back().from->data(), 1, piece_ * pieces_);
      std::memset(copies_.back().to->data(), 2, piece_ * pieces_);
    }
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds,
                       [this](int thread) { return copy_some(copies_[static_cast<std::size_t>(thread)]); });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"piece_bytes", piece_}, {"bytes", piece_ * pieces_ * copies_.size()}};
  }

 private:
  struct Copy {
    std::unique_ptr<Memory> from;
    std::unique_ptr<Memory> to;
    std::size_t position;
  };

  int copy_some(Copy& copy) {
    constexpr int kSome = 64;
    for (int i = 0; i < kSome; ++i) {
      std::memcpy(copy.to->data() + copy.position * piece_, copy.from->data() + copy.position * piece_, piece_);
      copy.position = copy.position + 1 < pieces_ ? copy.position + 1 : 0;
    }
    return kSome;
  }

  int threads_;
  std::size_t piece_ = 0;
  std::size_t pieces_ = 0;
  std::vector<Copy> copies_;
};

}  // namespace

std::unique_ptr<Side> make_records_side(const Job& job) { return std::make_unique<RecordsSide>(job); }
std::unique_ptr<Side> make_record_memcpy_side(const Job& job) { return std::make_unique<RecordMemcpySide>(job); }

}  // namespace unstarve::bench
