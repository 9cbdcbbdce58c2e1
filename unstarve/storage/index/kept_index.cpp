#include "unstarve/storage/index/kept_index.h"

#include <utility>

#include "unstarve/core/error.h"
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
                       index.view().unchecked_part("points").value_or(std::span<const std::uint8_t>()));
}

}  // namespace

KeptIndex::Version::Version(ShardIndex&& found, const std::shared_ptr<const ByteSource>& shard)
    : inflated(inflated_by(found, shard)), index(std::move(found)) {}

template <typename Question>
auto KeptIndex::ask(const Question& question) const {
  const Version* const asked = current_.load(std::memory_order_acquire);
  try {
    return question(*asked);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput || !mend(*asked)) throw;
  }
  return question(*current_.load(std::memory_order_acquire));
}

// A compressed shard as the index of the moment leads through it.
class KeptIndex::MendedBytes final : public ByteSource {
 public:
  explicit MendedBytes(const KeptIndex& index) : index_(index) {}

  const std::string& name() const noexcept override { return index_.shard_->name(); }
  std::uint64_t size() const noexcept override { return now().size(); }
  SourceStamp stamp() const noexcept override { return index_.shard_->stamp(); }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    index_.ask([&](const Version& version) { version.inflated->read(offset, out); });
  }
  void read_many(std::span<const ReadRange> ranges) const override {
    index_.ask([&](const Version& version) { version.inflated->read_many(ranges); });
  }

 private:
  const ByteSource& now() const noexcept { return *index_.current_.load(std::memory_order_acquire)->inflated; }

  const KeptIndex& index_;
};

KeptIndex::KeptIndex(std::shared_ptr<const ByteSource> shard, std::shared_ptr<const RecordFormat> format, bool keep)
    : shard_(std::move(shard)), format_(std::move(format)), keep_(keep), first_(open_first()), current_(&first_) {
  if (!note_.empty()) emit_notice(note_);
}

KeptIndex::Version KeptIndex::open_first() {
  ShardIndex found = find_or_make_index(*shard_, *format_, keep_, note_);
  try {
    return Version(std::move(found), shard_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
  return Version(remake_index(*shard_, *format_, keep_, found.view().name(), note_), shard_);
}

IndexRecord KeptIndex::record(std::uint64_t id) const {
  return ask([&](const Version& version) { return version.index.view().record(id); });
}

std::string KeptIndex::member(std::uint64_t id) const {
  return ask([&](const Version& version) { return version.index.member(id); });
}

std::string KeptIndex::reason(std::uint64_t id) const {
  return ask([&](const Version& version) { return version.index.reason(id); });
}

std::shared_ptr<const ByteSource> KeptIndex::bytes() const {
  if (first_.inflated == nullptr) return shard_;
  return std::make_shared<MendedBytes>(*this);
}

bool KeptIndex::mend() const { return mend(*current_.load(std::memory_order_acquire)); }

bool KeptIndex::mend(const Version& asked) const {
  if (asked.sound.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  if (&asked != current_.load(std::memory_order_relaxed)) return true;  // another thread was first
  if (is_sound(asked.index.view())) {
    asked.sound.store(true, std::memory_order_relaxed);
    return false;
  }
  if (second_ != nullptr) return false;  // where it was written is not to be trusted
  auto made =
      std::make_unique<const Version>(remake_index(*shard_, *format_, keep_, asked.index.view().name(), note_), shard_);
  if (made->index.view().size() != size() || made->index.summary() != summary()) {
    throw Error(ErrorKind::kInput, "read " + shard_->name() + ": its index was damaged, and made again it has " +
                                       std::to_string(made->index.view().size()) + " records after " +
                                       std::to_string(size()) + ": the shard has changed since it was opened");
  }
  if (!note_.empty()) emit_notice(note_);
  second_ = std::move(made);
  current_.store(second_.get(), std::memory_order_release);
  return true;
}

std::string KeptIndex::note() const {
  const std::lock_guard lock(mutex_);
  return note_;
}

}  // namespace unstarve
