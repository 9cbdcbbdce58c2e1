// Remote reading for tests/python. Reads one JSON command per line from stdin and answers with one JSON object per
// line.
//
//   remote_probe OPTIONS-AS-JSON        names as in RemoteOptions; times in ms (stall_timeout in s)
//
//   {"open": url}                                                                  -> {"source": n, "size", "stamp",
//   "name"}
//   {"read": n, "ranges": [[offset, length], ...], "threads": t, "to": path}       -> {"sha256": of all, "seconds"}
//       threads > 1: concurrent calls of read(); else one read_many()
//   {"list": url, "level": bool}                        -> {"objects": [[url, bytes], ...], "folders": [url, ...]}
//   {"close": n}, {"statistics": true}
// A failure is answered with {"error": kind, "message": text}.
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/http/sha256.h"
#include "unstarve/storage/remote/http/text.h"
#include "unstarve/storage/remote/remote.h"

namespace {

using nlohmann::json;
using namespace unstarve;

BucketAddressing addressing_of(const std::string& name) {
  return name == "path"      ? BucketAddressing::kPath
         : name == "virtual" ? BucketAddressing::kVirtualHost
                             : BucketAddressing::kAuto;
}

RemoteOptions options_of(const json& given) {
  RemoteOptions options = remote_options_from_environment();
  for (const auto& [name, value] : given.items()) {
    if (name == "in_flight")
      options.in_flight = value;
    else if (name == "split_bytes")
      options.split_bytes = value;
    else if (name == "join_bytes")
      options.join_bytes = value;
    else if (name == "attempts")
      options.attempts = value;
    else if (name == "first_wait")
      options.first_wait = std::chrono::milliseconds(value);
    else if (name == "longest_wait")
      options.longest_wait = std::chrono::milliseconds(value);
    else if (name == "jitter_seed")
      options.jitter_seed = value;
    else if (name == "connect_timeout")
      options.connect_timeout = std::chrono::milliseconds(value);
    else if (name == "stall_timeout")
      options.stall_timeout = std::chrono::seconds(value);
    else if (name == "total_timeout")
      options.total_timeout = std::chrono::milliseconds(value);
    else if (name == "hedge_factor")
      options.hedge_factor = value;
    else if (name == "anonymous")
      options.anonymous = value;
    else if (name == "addressing")
      options.addressing = addressing_of(value);
    else if (name == "cache_folder")
      options.cache_folder = value.get<std::string>();
    else if (name == "cache_bytes")
      options.cache_bytes = value;
    else if (name == "held_bytes")
      options.held_bytes = value;
    else
      throw Error(ErrorKind::kArgument, "remote_probe: unknown option " + name);
  }
  return options;
}

class Probe {
 public:
  explicit Probe(const json& options) : store_(with_warnings(options_of(options))) {}

  json obey(const json& command) {
    if (command.contains("open")) return open(command.at("open"));
    if (command.contains("read")) return read(command);
    if (command.contains("list")) return list(command.at("list"), command.value("level", false));
    if (command.contains("statistics")) return statistics();
    if (command.contains("close")) return {{"closed", sources_.erase(command.at("close").get<int>())}};
    throw Error(ErrorKind::kArgument, "remote_probe: unknown command");
  }

 private:
  RemoteOptions with_warnings(RemoteOptions options) {
    options.on_warning = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(text);
    };
    return options;
  }

  json open(const std::string& url) {
    auto source = store_.open(url);
    const json answer{
        {"source", next_}, {"size", source->size()}, {"stamp", source->stamp().changed_ns}, {"name", source->name()}};
    sources_[next_++] = std::move(source);
    return answer;
  }

  json read(const json& command) {
    const ByteSource& source = *sources_.at(command.at("read").get<int>());
    const json& requested = command.at("ranges");
    std::vector<ReadRange> ranges;
    std::size_t bytes = 0;
    for (const json& range : requested) bytes += range.at(1).get<std::size_t>();
    std::string memory(bytes, '\0');
    auto* at = reinterpret_cast<std::uint8_t*>(memory.data());
    for (const json& range : requested) {
      const std::size_t length = range.at(1);
      ranges.push_back({range.at(0).get<std::uint64_t>(), std::span(at, length)});
      at += length;
    }
    const auto start = std::chrono::steady_clock::now();
    const int threads = command.value("threads", 1);
    if (threads > 1) {
      read_by_threads(source, ranges, threads);
    } else {
      source.read_many(ranges);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (command.contains("to")) std::ofstream(command.at("to").get<std::string>(), std::ios::binary) << memory;
    return {{"sha256", remote::hex(remote::sha256(memory))}, {"seconds", seconds}};
  }

  static void read_by_threads(const ByteSource& source, const std::vector<ReadRange>& ranges, int threads) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i) {
      pool.emplace_back([&] {
        try {
          for (std::size_t k; (k = next++) < ranges.size();) source.read(ranges[k].offset, ranges[k].out);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
    pool.clear();
    if (failure) std::rethrow_exception(failure);
  }

  json list(const std::string& url, bool level) {
    const RemoteLevel found = level ? store_.list_level(url) : RemoteLevel{store_.list(url), {}};
    json objects = json::array();
    for (const RemoteObject& object : found.objects) objects.push_back({object.url, object.bytes});
    return {{"objects", objects}, {"folders", found.folders}};
  }

  json statistics() {
    const RemoteStatistics s = store_.statistics();
    const std::lock_guard lock(mutex_);
    return {{"requests", s.requests},
            {"retries", s.retries},
            {"hedges", s.hedges},
            {"hedges_won", s.hedges_won},
            {"connections", s.connections},
            {"received_bytes", s.received_bytes},
            {"cache_hit_bytes", s.cache_hit_bytes},
            {"cache_stored_bytes", s.cache_stored_bytes},
            {"cache_damaged", s.cache_damaged},
            {"warnings", warnings_}};
  }

  std::mutex mutex_;
  std::vector<std::string> warnings_;
  RemoteStore store_;
  std::map<int, std::shared_ptr<const ByteSource>> sources_;
  int next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: remote_probe OPTIONS-AS-JSON (run by tests/python)\n";
    return 2;
  }
  try {
    Probe probe(json::parse(argv[1]));
    std::cout << json{{"ready", true}}.dump() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      json answer;
      try {
        answer = probe.obey(json::parse(line));
      } catch (const Error& error) {
        answer = {{"error", to_string(error.kind())}, {"message", error.what()}};
      }
      std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    }
  } catch (const Error& error) {
    std::cout << json{{"error", to_string(error.kind())}, {"message", error.what()}}.dump() << std::endl;
    return 1;
  }
  return 0;
}
