#include "shared.h"

#include <cerrno>
#include <cstdio>

#include "unstarve/core/error.h"
#include "unstarve/storage/open.h"

namespace unstarve::cli {
namespace {

CacheWhat cache_what_from_string(const std::string& name) {
  if (name == "nothing") return CacheWhat::kNothing;
  if (name == "encoded") return CacheWhat::kEncoded;
  if (name == "pixels") return CacheWhat::kPixels;
  throw Error(ErrorKind::kArgument, "--cache: found \"" + name + "\", expected nothing, encoded or pixels");
}

}  // namespace

Settings settings_from(const Arguments& arguments) {
  Settings settings;
  if (arguments.has("--config")) {
    settings = load_settings(arguments.text("--config"));
    if (arguments.has("DATA")) settings.pipeline.source = {arguments.text("DATA"), arguments.text("--split")};
    if (arguments.has("--model")) settings.train.model = arguments.text("--model");
    const std::string device = arguments.text("--device", settings.train.device);
    if (!device.starts_with("emulated:")) settings.train.device = device;
  } else {
    if (!arguments.has("DATA"))
      throw Error(ErrorKind::kArgument, "which data? Give DATA, or a settings file that names it with --config");
    const std::string path = arguments.text("DATA"), split = arguments.text("--split");
    const auto dataset = open_dataset(path, split);
    settings = default_settings(path, split, *dataset, arguments.text("--model"), arguments.text("--device", "cpu"),
                                static_cast<int>(arguments.integer("--image-size", 0, 8, 4096)));
  }
  if (arguments.has("--batch")) set_batch(settings, static_cast<int>(arguments.integer("--batch", 0, 1, 1 << 20)));
  auto& execution = settings.pipeline.execution;
  execution.threads = static_cast<int>(arguments.integer("--threads", execution.threads, 1, 1024));
  execution.prefetch = static_cast<int>(arguments.integer("--prefetch", execution.prefetch, 0, 1024));
  execution.read_ahead = static_cast<int>(arguments.integer("--read-ahead", execution.read_ahead, 0, 1024));
  CacheSpec& cache = settings.pipeline.cache;
  if (arguments.has("--cache")) cache.what = cache_what_from_string(arguments.text("--cache"));
  cache.folder = arguments.text("--cache-folder", cache.folder);
  cache.limit_mb = static_cast<std::uint64_t>(arguments.integer("--cache-mb", static_cast<long long>(cache.limit_mb), 1, 1LL << 40));
  return settings;
}

void print_result(const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw io_error("writing", "standard output", errno);
}

}  // namespace unstarve::cli
