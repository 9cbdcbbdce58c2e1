#include "unstarve/storage/all_fields.h"

#include <atomic>
#include <utility>

namespace unstarve {
namespace {

class ReadsAll final : public AllFields {
 public:
  explicit ReadsAll(std::shared_ptr<const Dataset> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string format() const override { return inner_->format(); }
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return inner_->fields(); }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return inner_->stored_bytes(); }
  [[nodiscard]] RecordPlace place(std::uint64_t id) const override { return inner_->place(id); }
  [[nodiscard]] std::vector<std::string> notes() const override { return inner_->notes(); }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return inner_->known_label(id);
  }
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override { return inner_->known_size(id); }
  [[nodiscard]] std::vector<std::uint64_t> parts() const override { return inner_->parts(); }
  [[nodiscard]] std::vector<DataFile> files() const override { return inner_->files(); }
  [[nodiscard]] int reads_in_flight() const override { return inner_->reads_in_flight(); }
  [[nodiscard]] int most_reads_in_flight() const override { return inner_->most_reads_in_flight(); }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    dropped_.fetch_add(inner_->read_all(id, record), std::memory_order_relaxed);
  }
  std::uint64_t read_all(std::uint64_t id, RecordBuffer& record) const override {
    read(id, record);
    return 0;
  }
  [[nodiscard]] std::uint64_t dropped_bytes() const override { return dropped_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<const Dataset> inner_;
  mutable std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace

std::shared_ptr<const AllFields> with_all_fields(std::shared_ptr<const Dataset> dataset) {
  return std::make_shared<ReadsAll>(std::move(dataset));
}

}  // namespace unstarve
