#pragma once
// Base of a dataset that wraps another and describes itself as the inner dataset does. Derived classes implement
// read().
//
// `Base`: its public interface, derived from Dataset.
// Ownership: shares the inner dataset. Threads and failure: as the inner dataset.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

template <class Base>
class Forwarding : public Base {
 public:
  [[nodiscard]] std::string format() const override { return inner_->format(); }
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return inner_->fields(); }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return inner_->stored_bytes(); }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override { return inner_->record_location(id); }
  [[nodiscard]] std::vector<std::string> notes() const override { return inner_->notes(); }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return inner_->known_label(id);
  }
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override { return inner_->known_size(id); }
  [[nodiscard]] std::vector<std::string> unread_fields() const override { return inner_->unread_fields(); }
  [[nodiscard]] std::vector<std::uint64_t> parts() const override { return inner_->parts(); }
  [[nodiscard]] std::vector<DataFile> files() const override { return inner_->files(); }
  [[nodiscard]] int reads_in_flight() const override { return inner_->reads_in_flight(); }
  [[nodiscard]] int most_reads_in_flight() const override { return inner_->most_reads_in_flight(); }

 protected:
  explicit Forwarding(std::shared_ptr<const Dataset> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const Dataset& inner() const noexcept { return *inner_; }

 private:
  const std::shared_ptr<const Dataset> inner_;
};

}  // namespace unstarve
