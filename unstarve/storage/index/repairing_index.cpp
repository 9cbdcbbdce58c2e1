#include "unstarve/storage/index/repairing_index.h"

#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

bool is_sound(const IndexView& view) {
  try {
    view.check();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    return false;
  }
}

std::shared_ptr<const ByteSource> inflated_by(const ShardIndex& index, const std::shared_ptr<const ByteSource>& shard) {
  if (index.summary().compression == Compression::kNone) return nullptr;
  return open_inflated(shard, index.summary().compression,
                       index.view().part_with_own_checksum("points").value_or(std::span<const std::uint8_t>()));
}

}  // namespace

RepairingIndex::Version::Version(ShardIndex&& found, const std::shared_ptr<const ByteSource>& shard)
    : inflated(inflated_by(found, shard)), index(std::move(found)) {}

template <typename Read>
auto RepairingIndex::read_or_repair(const Read& read) const {
  const Version* const version = current_.load(std::memory_order_acquire);
  try {
    return read(*version);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput || !repair(*version)) throw;
  }
  return read(*current_.load(std::memory_order_acquire));
}

// A compressed shard, read through the current index.
class RepairingIndex::RepairingBytes final : public ByteSource {
 public:
  explicit RepairingBytes(const RepairingIndex& index) : index_(index) {}

  const std::string& name() const noexcept override { return index_.shard_->name(); }
  std::uint64_t size() const noexcept override { return now().size(); }
  SourceStamp stamp() const noexcept override { return index_.shard_->stamp(); }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    index_.read_or_repair([&](const Version& current) { current.inflated->read(offset, out); });
  }
  void read_many(std::span<const ReadRange> ranges) const override {
    index_.read_or_repair([&](const Version& current) { current.inflated->read_many(ranges); });
  }

 private:
  const ByteSource& now() const noexcept { return *index_.current_.load(std::memory_order_acquire)->inflated; }

  const RepairingIndex& index_;
};

RepairingIndex::RepairingIndex(std::shared_ptr<const ByteSource> shard, std::shared_ptr<const RecordFormat> format,
                               bool save)
    : shard_(std::move(shard)), format_(std::move(format)), save_(save), first_(open_first()), current_(&first_) {
  if (!note_.empty()) emit_notice(note_);
}

RepairingIndex::Version RepairingIndex::open_first() {
  ShardIndex found = find_or_build_index(*shard_, *format_, save_, note_);
  try {
    return Version(std::move(found), shard_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
  return Version(rebuild_index(*shard_, *format_, save_, found.view().name(), note_), shard_);
}

IndexRecord RepairingIndex::record(std::uint64_t id) const {
  return read_or_repair([&](const Version& current) { return current.index.view().record(id); });
}

std::string RepairingIndex::member(std::uint64_t id) const {
  return read_or_repair([&](const Version& current) { return current.index.member(id); });
}

std::string RepairingIndex::reason(std::uint64_t id) const {
  return read_or_repair([&](const Version& current) { return current.index.reason(id); });
}

std::shared_ptr<const ByteSource> RepairingIndex::bytes() const {
  if (first_.inflated == nullptr) return shard_;
  return std::make_shared<RepairingBytes>(*this);
}

bool RepairingIndex::repair() const { return repair(*current_.load(std::memory_order_acquire)); }

bool RepairingIndex::repair(const Version& version) const {
  if (version.sound.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  if (&version != current_.load(std::memory_order_relaxed)) return true;  // another thread was first
  if (is_sound(version.index.view())) {
    version.sound.store(true, std::memory_order_relaxed);
    return false;
  }
  if (second_ != nullptr) return false;  // the storage is not reliable
  auto rebuilt = std::make_unique<const Version>(
      rebuild_index(*shard_, *format_, save_, version.index.view().name(), note_), shard_);
  if (rebuilt->index.view().size() != size() || rebuilt->index.summary() != summary()) {
    throw input_error(
        "read {}: its index was damaged, and after a rebuild it has {} records after {}: the shard has changed since "
        "it was opened",
        shard_->name(), rebuilt->index.view().size(), size());
  }
  if (!note_.empty()) emit_notice(note_);
  second_ = std::move(rebuilt);
  current_.store(second_.get(), std::memory_order_release);
  return true;
}

std::string RepairingIndex::note() const {
  const std::lock_guard lock(mutex_);
  return note_;
}

}  // namespace unstarve
