#include "unstarve/storage/dataset/all_fields.h"

#include <atomic>
#include <utility>

#include "unstarve/storage/dataset/forwarding.h"

namespace unstarve {
namespace {

class ReadsAll final : public Forwarding<AllFields> {
 public:
  explicit ReadsAll(std::shared_ptr<const Dataset> inner) : Forwarding(std::move(inner)) {}

  [[nodiscard]] std::vector<std::string> unread_fields() const override { return {}; }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    dropped_.fetch_add(inner().read_all(id, record), std::memory_order_relaxed);
  }
  std::uint64_t read_all(std::uint64_t id, RecordBuffer& record) const override {
    read(id, record);
    return 0;
  }
  [[nodiscard]] std::uint64_t dropped_bytes() const override { return dropped_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace

std::shared_ptr<const AllFields> with_all_fields(std::shared_ptr<const Dataset> dataset) {
  return std::make_shared<ReadsAll>(std::move(dataset));
}

}  // namespace unstarve
