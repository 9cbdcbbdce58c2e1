// A whole epoch of files that are not in the page cache, opening included. The job's "read_ahead" is passed to the
// loader (-1: auto, 0: none).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

namespace fs = std::filesystem;

// Drops the pages of every file below `folder` from the page cache; the inodes stay cached.
void drop_pages(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const FileDescriptor file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) throw io_error("open", entry.path().string(), errno);
    const int rejected = ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (rejected != 0) throw io_error("drop the pages of", entry.path().string(), rejected);
  }
}

class ColdSide final : public Side {
 public:
  explicit ColdSide(const Job& job) : spec_(pipeline_of(job)), device_(open_device("cpu")) {
    spec_.execution.read_ahead = job.at("read_ahead");
    ::sync();  // dirty pages cannot be dropped
    (void)epoch();
  }

  Block run(double seconds) override {
    Block block;
    while (block.seconds < seconds) {
      const Block one = epoch();
      block.samples += one.samples;
      block.seconds += one.seconds;
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override { return {{"samples", epoch().samples}}; }

 private:
  Block epoch() {
    using Clock = std::chrono::steady_clock;
    drop_pages(spec_.source.path);
    Block block;
    const auto start = Clock::now();
    Loader loader(spec_, open_dataset(spec_.source.path), *device_, {{}, 1});
    while (const auto batch = loader.next()) block.samples += static_cast<std::int64_t>(batch->samples());
    block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return block;
  }

  PipelineSpec spec_;
  std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Side> make_cold_side(const Job& job) { return std::make_unique<ColdSide>(job); }

}  // namespace unstarve::bench
