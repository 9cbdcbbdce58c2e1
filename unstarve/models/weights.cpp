#include "unstarve/models/weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::array<std::pair<std::string_view, torch::ScalarType>, 10> kTypes{{{"F32", torch::kFloat32},
                                                                                 {"F64", torch::kFloat64},
                                                                                 {"F16", torch::kFloat16},
                                                                                 {"BF16", torch::kBFloat16},
                                                                                 {"I64", torch::kInt64},
                                                                                 {"I32", torch::kInt32},
                                                                                 {"I16", torch::kInt16},
                                                                                 {"I8", torch::kInt8},
                                                                                 {"U8", torch::kUInt8},
                                                                                 {"BOOL", torch::kBool}}};

[[nodiscard]] Error bad_weights(const std::string& origin, const std::string& what) {
  return {ErrorKind::kInput, fmt::format("loading weights {}: {}", origin, what)};
}

// The type of a stored tensor; throws if it cannot be converted to the type of the entry.
torch::ScalarType readable_type(const StoredTensor& stored, const StateEntry& entry, const std::string& origin) {
  for (const auto& [name, type] : kTypes) {
    if (name == stored.type && torch::isFloatingType(type) == entry.tensor.is_floating_point()) return type;
  }
  throw bad_weights(origin, fmt::format("tensor \"{}\" has type {}; expected {}", stored.name, stored.type,
                                        entry.tensor.is_floating_point() ? "a floating type" : "an integer type"));
}

// Counts the bytes of raw deflate at level 9.
class DeflateCounter {
 public:
  DeflateCounter() {
    constexpr int kRaw = -15, kMemoryLevel = 8;
    if (::deflateInit2(&stream_, Z_BEST_COMPRESSION, Z_DEFLATED, kRaw, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~DeflateCounter() { ::deflateEnd(&stream_); }
  DeflateCounter(const DeflateCounter&) = delete;
  DeflateCounter& operator=(const DeflateCounter&) = delete;

  void add(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kPart = std::size_t{1} << 30;  // zlib counts in 32 bits
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPart, bytes.size())))
      run(bytes.first(std::min(kPart, bytes.size())), Z_NO_FLUSH);
  }
  std::int64_t finish() {
    run({}, Z_FINISH);
    return count_;
  }

 private:
  void run(std::span<const std::uint8_t> bytes, int flush) {
    stream_.next_in = const_cast<std::uint8_t*>(bytes.data());  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      ::deflate(&stream_, flush);
      count_ += static_cast<std::int64_t>(buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::array<std::uint8_t, 1 << 16> buffer_{};
  std::int64_t count_ = 0;
};

}  // namespace

std::vector<StateEntry> network_state(const Network& network) {
  std::vector<StateEntry> entries;
  for (const auto& item : network.named_parameters()) entries.push_back({item.key(), item.value(), false});
  for (const auto& item : network.named_buffers()) {
    entries.push_back({item.key(), item.value(),
                       item.key().ends_with(".num_batches_tracked") || item.key() == "quantisation.limits",
                       network.is_infinite(item.key())});
  }
  return entries;
}

namespace {

// On the calling thread alone, without memory of its own.
bool finite(const torch::Tensor& tensor) {
  if (tensor.scalar_type() != torch::kFloat32) return torch::isfinite(tensor).all().item<bool>();
  constexpr std::uint32_t kExponent = 0x7f800000;
  const std::span<const float> values(tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel()));
  bool result = true;
  for (const float value : values) result &= (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
  return result;
}

bool acceptable(const StateEntry& entry, const torch::Tensor& value) {
  return entry.optional || entry.infinite || !value.is_floating_point() || finite(value);
}

}  // namespace

std::vector<std::string> load_state(std::span<const StateEntry> entries, const StateFile& file,
                                    const LoadOptions& options) {
  const auto& [header, bytes, origin] = file;
  std::vector<std::pair<const StateEntry*, torch::Tensor>> found;
  std::set<std::string_view> used;
  std::vector<std::string> kept;
  for (const StateEntry& entry : entries) {
    const StoredTensor* stored = header.find(entry.name);
    const bool fits = stored != nullptr && entry.tensor.sizes() == torch::IntArrayRef(stored->shape);
    used.insert(entry.name);
    if (!fits && !options.replaceable.empty() && entry.name.starts_with(options.replaceable)) {
      kept.push_back(entry.name);
      continue;
    }
    if (stored == nullptr) {
      if (entry.optional) continue;
      throw bad_weights(origin, fmt::format("tensor \"{}\" of the model is missing", entry.name));
    }
    if (!fits) {
      throw bad_weights(
          origin, fmt::format("tensor \"{}\" has shape [{}]; expected [{}]", entry.name, fmt::join(stored->shape, ", "),
                              fmt::join(entry.tensor.sizes().vec(), ", ")));
    }
    const torch::ScalarType type = readable_type(*stored, entry, origin);
    // Copied as bytes, because the data may be unaligned.
    torch::Tensor value = torch::empty(stored->shape, torch::dtype(type));
    const std::size_t size = stored->end - stored->begin;
    if (size > 0) std::memcpy(value.data_ptr(), bytes.data() + stored->begin, size);
    found.emplace_back(&entry, std::move(value));
  }
  for (const StoredTensor& stored : header.tensors) {
    const bool ignored = std::any_of(options.ignored.begin(), options.ignored.end(),
                                     [&](const std::string& prefix) { return stored.name.starts_with(prefix); });
    if (!ignored && !used.contains(stored.name))
      throw bad_weights(origin, fmt::format("tensor \"{}\" does not belong to the model", stored.name));
  }
  check_checksum(header, bytes, origin);
  for (const auto& [entry, value] : found) {
    if (!acceptable(*entry, value))
      throw bad_weights(origin,
                        fmt::format("tensor \"{}\" contains NaN or infinity; expected finite numbers", entry->name));
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [entry, value] : found) entry->tensor.detach().copy_(value);
  return kept;
}

StateCopy::StateCopy(std::span<const StateEntry> entries, std::map<std::string, std::string> metadata)
    : metadata_(std::move(metadata)) {
  for (const StateEntry& entry : entries) {
    torch::Tensor copy = entry.tensor.detach().to(torch::kCPU);
    const bool shared = copy.is_alias_of(entry.tensor);
    copy = shared ? copy.clone(torch::MemoryFormat::Contiguous) : copy.contiguous();
    entries_.push_back({entry.name, std::move(copy), entry.optional, entry.infinite});
  }
}

std::string StateCopy::not_finite() const {
  const auto found =
      std::ranges::find_if_not(entries_, [](const StateEntry& entry) { return acceptable(entry, entry.tensor); });
  return found == entries_.end() ? "" : found->name;
}

bool StateCopy::load(std::span<const StateEntry> entries) const {
  const auto same = [](const StateEntry& a, const StateEntry& b) {
    return a.name == b.name && a.tensor.sizes() == b.tensor.sizes() && a.tensor.scalar_type() == b.tensor.scalar_type();
  };
  if (!std::equal(entries.begin(), entries.end(), entries_.begin(), entries_.end(), same)) return false;
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].tensor.detach().copy_(entries_[i].tensor);
  return true;
}

std::vector<TensorToStore> StateCopy::tensors() const {
  std::vector<TensorToStore> tensors;
  for (const StateEntry& entry : entries_) {
    const torch::Tensor& value = entry.tensor;
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& row) { return row.second == value.scalar_type(); });
    tensors.push_back({entry.name,
                       type == kTypes.end() ? "" : std::string(type->first),
                       value.sizes().vec(),
                       {static_cast<const std::uint8_t*>(value.data_ptr()), value.nbytes()}});
  }
  return tensors;
}

void StateCopy::write(const std::filesystem::path& path) const { write_safetensors(path, tensors(), metadata_); }

FileSizes StateCopy::file_sizes() const {
  const std::vector<TensorToStore> stored = tensors();
  const std::string header = format_safetensors_header(stored, metadata_);
  DeflateCounter counter;
  counter.add({reinterpret_cast<const std::uint8_t*>(header.data()), header.size()});
  FileSizes sizes{static_cast<std::int64_t>(header.size()), 0};
  for (const TensorToStore& tensor : stored) {
    counter.add(tensor.bytes);
    sizes.bytes += static_cast<std::int64_t>(tensor.bytes.size());
  }
  sizes.zip_bytes = counter.finish();
  return sizes;
}

}  // namespace unstarve
