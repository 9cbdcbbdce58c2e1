#pragma once
// The current settings of a kind of bucket, renewed before their credentials expire.
//
//   remaining lifetime   get()
//   above 10 min         returns the settings
//   below                the same; another thread renews them, once a minute until it succeeds
//   none                 renews them first
//
// Threads: all functions may be called concurrently; the first reading, and readings after the expiry, block all
//          callers.
// Failure: that of `read`. Failed early renewals are not reported: the next one is attempted a minute later, the last
//          one at the expiry.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>

#include "unstarve/storage/remote/bucket_settings.h"

namespace unstarve::remote {

class SettingsCache {
 public:
  using Time = std::chrono::system_clock::time_point;
  using Settings = std::shared_ptr<const BucketSettings>;

  explicit SettingsCache(std::function<BucketSettings()> read,
                         std::function<Time()> now = std::chrono::system_clock::now);

  [[nodiscard]] Settings get();
  // For a request with `rejected` credentials: reads the settings, unless that happened since. False if the credentials
  // are still the same.
  [[nodiscard]] bool renew(const Settings& rejected);

 private:
  void read_locked();
  void start_early_renewal();

  std::function<BucketSettings()> read_;
  std::function<Time()> now_;
  std::mutex mutex_;
  Settings settings_;
  Time read_at_{};
  std::future<void> renewal_;  // last member: ends before the others
};

}  // namespace unstarve::remote
