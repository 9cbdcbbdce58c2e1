#include "unstarve/jobs/capacity/batch_feed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <span>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Small samples are read together.
constexpr std::uint64_t kRawBlockBytes = 256 << 10;
// Memory of a thread that reads; larger blocks are read in parts.
constexpr std::uint64_t kRawPartBytes = 4 << 20;

// Adds the blocks of a file of `bytes`.
void add_file(RawData& data, const fs::path& path, std::uint64_t bytes, std::uint64_t sample_bytes) {
  if (bytes == 0) return;
  const auto file = static_cast<std::uint32_t>(data.files.size());
  data.files.push_back(path.string());
  const std::uint64_t samples = std::max<std::uint64_t>(1, (bytes + sample_bytes / 2) / sample_bytes);
  const std::uint64_t together = std::max<std::uint64_t>(1, kRawBlockBytes / sample_bytes);
  const auto offset_of = [&](std::uint64_t sample) { return sample == samples ? bytes : sample * (bytes / samples); };
  for (std::uint64_t first = 0; first < samples; first += together) {
    const std::uint64_t end = std::min(samples, first + together);
    data.blocks.push_back(
        {file, offset_of(first), offset_of(end) - offset_of(first), static_cast<std::uint32_t>(end - first)});
  }
  data.samples += samples;
  data.bytes += bytes;
}

void read_block(int file, const std::string& name, const RawData::Block& block, std::span<std::uint8_t> part) {
  std::uint64_t done = 0;
  while (done < block.bytes) {
    const std::size_t most = std::min<std::uint64_t>(part.size(), block.bytes - done);
    const ssize_t count = ::pread(file, part.data(), most, static_cast<off_t>(block.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io_error("read", name, errno);
    if (count == 0) throw Error(ErrorKind::kInput, "read " + name + ": the file became shorter while it was read");
    done += static_cast<std::uint64_t>(count);
  }
}

}  // namespace

LoaderFeed::LoaderFeed(PipelineSpec spec, const std::shared_ptr<const Dataset>& dataset, Device& device, int prefetch,
                       EpochPosition begin) {
  spec.execution.prefetch = prefetch;
  loader_ = std::make_unique<Loader>(with_full_batches(std::move(spec), dataset->size()), dataset, device,
                                     Loader::Options{.start = std::move(begin), .check_data = false});
}

LoaderFeed::~LoaderFeed() = default;

BatchFeed::Taken LoaderFeed::take() {
  bool ready = !empty_.load();  // otherwise another consumer waits already
  const std::lock_guard lock(mutex_);
  if (!loader_->wait(std::chrono::milliseconds(0))) {
    ready = false;
    empty_.store(true);
  }
  const auto leave = [this](void*) { empty_.store(false); };
  const std::unique_ptr<void, decltype(leave)> left(this, leave);
  if (!loader_->next()) return Taken::kClosed;
  return ready ? Taken::kReady : Taken::kWaited;
}

void LoaderFeed::close() { loader_->close(); }

RawData list_raw_data(const std::string& path, std::uint64_t sample_bytes) {
  if (is_url(path)) {
    throw Error(ErrorKind::kArgument, fmt::format("read {} as raw samples: found a URL; expected local files. Mount "
                                                  "the storage, or pass a local folder.",
                                                  path));
  }
  RawData data;
  std::error_code failed;
  if (!fs::exists(path, failed)) throw io_error("open", path, ENOENT);
  if (fs::is_directory(path, failed)) {
    std::vector<std::pair<fs::path, std::uint64_t>> files;
    for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied)) {
      if (!entry.is_regular_file(failed)) continue;
      const std::uint64_t bytes = entry.file_size(failed);
      if (!failed) files.emplace_back(entry.path(), bytes);
    }
    std::ranges::sort(files);
    for (const auto& [file, bytes] : files) add_file(data, file, bytes, sample_bytes);
  } else {
    add_file(data, path, fs::file_size(path), sample_bytes);
  }
  if (data.blocks.empty())
    throw Error(ErrorKind::kInput, fmt::format("read {} as raw samples: found no bytes; expected files with data. Pass "
                                               "the folder of the data.",
                                               path));
  std::shuffle(data.blocks.begin(), data.blocks.end(), std::mt19937_64(0));
  return data;
}

bool is_cached(const RawData& data) {
  return useful_reads(data.blocks.size(), [&](std::uint64_t number) {
           const RawData::Block& block = data.blocks[number];
           const FileDescriptor file(::open(data.files[block.file].c_str(), O_RDONLY | O_CLOEXEC));
           return file.valid() && in_page_cache(file.get(), block.offset + block.bytes / 2);
         }) == 0;
}

RawFeed::RawFeed(const RawData& data, int batch, int prefetch, int threads, std::size_t first)
    : data_(data),
      batch_(static_cast<std::uint64_t>(batch)),
      most_(batch_ * static_cast<std::uint64_t>(std::max(1, prefetch))),
      progress_{.next = first % data.blocks.size()} {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] {
      try {
        read_blocks();
      } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = error;
        changed_.notify_all();
      }
    });
  }
}

RawFeed::~RawFeed() {
  RawFeed::close();
  threads_.clear();  // joins
}

void RawFeed::read_blocks() {
  AlignedBytes part(static_cast<std::size_t>(kRawPartBytes));
  RunDelay delay;
  FileDescriptor file;
  std::uint32_t opened = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || failure_ || progress_.claimed < most_; });
    if (closed_ || failure_) return;
    const RawData::Block block = data_.blocks[progress_.next];
    progress_.next = (progress_.next + 1) % data_.blocks.size();
    progress_.claimed += block.samples;
    lock.unlock();
    const std::string& name = data_.files[block.file];
    if (!file.valid() || opened != block.file) {
      file = FileDescriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid()) throw io_error("open", name, errno);
      opened = block.file;
    }
    read_block(file.get(), name, block, {part.data(), static_cast<std::size_t>(kRawPartBytes)});
    bytes_.fetch_add(block.bytes, std::memory_order_relaxed);
    run_delay_ns_.fetch_add(delay.take_ns(), std::memory_order_relaxed);
    lock.lock();
    progress_.ready += block.samples;
    if (progress_.ready >= batch_) changed_.notify_all();
  }
}

BatchFeed::Taken RawFeed::take() {
  std::unique_lock lock(mutex_);
  const bool ready = progress_.ready >= batch_;
  changed_.wait(lock, [&] { return closed_ || failure_ || progress_.ready >= batch_; });
  if (failure_) throw *failure_;
  if (closed_) return Taken::kClosed;
  progress_.ready -= batch_;
  progress_.claimed -= batch_;
  changed_.notify_all();
  return ready ? Taken::kReady : Taken::kWaited;
}

std::size_t RawFeed::next_block() {
  const std::lock_guard lock(mutex_);
  return progress_.next;
}

void RawFeed::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace unstarve
