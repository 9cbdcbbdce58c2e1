// `unstarve pack` of a folder of photographs into tar shards on disk, repeatedly.
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "bench/ours/sides.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/data/pack.h"

namespace unstarve::bench {
namespace {

namespace fs = std::filesystem;

class PackSide final : public Side {
 public:
  explicit PackSide(const Job& job) : data_(job.at("data")) {
    options_.format = "webdataset";
    options_.resize = job.at("resize");
    options_.threads = job.at("cores");
    folder_ = fs::path(data_).parent_path() / ("packed-by-unstarve-" + std::to_string(::getpid()));
  }
  ~PackSide() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // Runs whole packs; removing the previous output is included.
  Block run(double seconds) override {
    using Clock = std::chrono::steady_clock;
    Block block;
    const auto start = Clock::now();
    while (block.seconds < seconds) {
      fs::remove_all(folder_);
      result_ = run_pack(data_, folder_, options_);
      block.samples += static_cast<std::int64_t>(result_.records_made);
      block.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return block;
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    fs::remove_all(folder_);
    result_ = run_pack(data_, folder_, options_);
    return {{"records", result_.manifest.records()}, {"bytes", result_.manifest.bytes()}};
  }

 private:
  std::string data_;
  fs::path folder_;
  PackOptions options_;
  PackResult result_;
};

}  // namespace

std::unique_ptr<Side> make_pack_side(const Job& job) { return std::make_unique<PackSide>(job); }

}  // namespace unstarve::bench
