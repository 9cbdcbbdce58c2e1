#pragma once
// Decodes a row group with limited memory, and translates errors. Includes Arrow headers, so only arrow_*.cpp include
// it.
//
// Threads: each call has its own pool. Failure: Error with `where`: kInput for damage and for data that expand beyond
// the limit, kMemory if the system has no memory, or the Error of the source.

#include <arrow/memory_pool.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/parquet/arrow_source.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"

namespace unstarve {

// Limits for decoded pages. 1032 is the maximum expansion of deflate (zlib's technical details).
inline constexpr std::uint64_t kMaxExpansion = 1032;
inline constexpr std::uint64_t kExpansionSlackBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxGroupBytes = std::uint64_t{1} << 36;

[[nodiscard]] inline std::uint64_t decoded_limit(std::uint64_t stored_bytes) {
  return std::min(kMaxGroupBytes, kExpansionSlackBytes + std::min(stored_bytes, kMaxGroupBytes) * kMaxExpansion);
}

// Counts its own allocations only: the default pool, which provides the memory, is shared with the user's pyarrow. Must
// outlive the buffers that it allocated.
class LimitedPool final : public arrow::ProxyMemoryPool {
 public:
  explicit LimitedPool(std::uint64_t limit_bytes)
      : ProxyMemoryPool(arrow::default_memory_pool()), limit_(static_cast<std::int64_t>(limit_bytes)) {}

  // Whether an allocation was denied because of the limit.
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }

  using arrow::ProxyMemoryPool::Allocate, arrow::ProxyMemoryPool::Reallocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(check(size));
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    ARROW_RETURN_NOT_OK(check(new_size - old_size));
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, memory);
  }

 private:
  arrow::Status check(std::int64_t more) {
    if (more <= limit_ - bytes_allocated()) return arrow::Status::OK();
    exceeded_ = true;
    return arrow::Status::OutOfMemory("the limit of ", limit_, " bytes is exceeded");
  }

  const std::int64_t limit_;
  bool exceeded_ = false;
};

// The Error for an exception of Arrow.
[[nodiscard]] inline Error decode_error(const std::string& where, const parquet::ParquetException& error,
                                        const LimitedPool& pool, std::uint64_t stored_bytes) {
  if (pool.exceeded()) {
    return Error(ErrorKind::kInput,
                 where + "found " + std::to_string(stored_bytes) + " bytes that decode to more than " +
                     std::to_string(decoded_limit(stored_bytes)) + "; expected less. Write smaller row groups.");
  }
  const auto* const status = dynamic_cast<const parquet::ParquetStatusException*>(&error);
  if (status != nullptr && status->status().IsOutOfMemory())
    return Error(ErrorKind::kMemory, where + "out of memory: " + error.what());
  return Error(ErrorKind::kInput, where + "damaged: " + error.what());
}

// Returns the group filled by read(pool, group), which reads `file`. `check_map` throws an Error if the mapped file was
// truncated meanwhile; zeros of a truncated map look like damage.
template <class Read, class CheckMap>
RowGroup decode_group(const std::string& where, const SourceFile& file, std::uint64_t stored_bytes, const Read& read,
                      const CheckMap& check_map) {
  LimitedPool pool(decoded_limit(stored_bytes));
  RowGroup group;
  try {
    read(pool, group);
    check_map();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_map();
    throw Error(error.kind(), where + error.what());
  } catch (const parquet::ParquetException& error) {
    check_map();
    if (file.failure()) {
      try {
        std::rethrow_exception(file.failure());
      } catch (const Error& cause) {
        throw Error(cause.kind(), where + cause.what());
      }
    }
    throw decode_error(where, error, pool, stored_bytes);
  }
  return group;
}

}  // namespace unstarve
