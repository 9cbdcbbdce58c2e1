#include "unstarve/storage/remote/settings_cache.h"

#include "unstarve/core/error.h"

namespace unstarve::remote {
namespace {

// Instances receive new keys at least 5 minutes before the old ones expire.
constexpr std::chrono::minutes kEarly{10}, kBetween{1};

}  // namespace

SettingsCache::SettingsCache(std::function<BucketSettings()> read, std::function<Time()> now)
    : read_(std::move(read)), now_(std::move(now)) {}

SettingsCache::Settings SettingsCache::get() {
  const std::lock_guard lock(mutex_);
  if (!settings_ || (settings_->expires && now_() >= *settings_->expires)) {
    read_locked();
  } else if (settings_->expires && now_() + kEarly >= *settings_->expires && now_() - read_at_ >= kBetween) {
    start_early_renewal();
  }
  return settings_;
}

bool SettingsCache::renew(const Settings& rejected) {
  const std::lock_guard lock(mutex_);
  if (settings_ == rejected) read_locked();
  return !settings_->same_credentials(*rejected);
}

void SettingsCache::read_locked() {
  settings_ = std::make_shared<const BucketSettings>(read_());
  read_at_ = now_();
}

void SettingsCache::start_early_renewal() {
  // Assigning waits for the previous one, which has normally ended.
  if (renewal_.valid() && renewal_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  read_at_ = now_();
  renewal_ = std::async(std::launch::async, [this] {
    try {
      auto settings = std::make_shared<const BucketSettings>(read_());
      const std::lock_guard lock(mutex_);
      settings_ = std::move(settings);
    } catch (const Error&) {
      // The credentials in use are still valid. At their expiry get() reads again and reports the failure.
    }
  });
}

}  // namespace unstarve::remote
