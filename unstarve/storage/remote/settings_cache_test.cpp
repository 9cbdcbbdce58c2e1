#include "unstarve/storage/remote/settings_cache.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"

namespace unstarve::remote {
namespace {

using namespace std::chrono_literals;

// Credentials that are numbered by reading and valid for `lifetime`; the clock is set by the test.
struct Source {
  std::atomic<int> readings{0};
  std::atomic<bool> broken{false};
  std::atomic<std::int64_t> now_s{1'000'000};
  std::chrono::seconds lifetime{0};  // 0: they do not expire
  std::string fixed;                 // the same credentials each time

  SettingsCache::Time now() const { return SettingsCache::Time(std::chrono::seconds(now_s)); }

  SettingsCache cache() {
    return SettingsCache(
        [this] {
          const int number = ++readings;
          if (broken) throw Error(ErrorKind::kArgument, "signed out");
          BucketSettings settings;
          settings.bearer = fixed.empty() ? "token " + std::to_string(number) : fixed;
          if (lifetime.count() != 0) settings.expires = now() + lifetime;
          return settings;
        },
        [this] { return now(); });
  }

  // Uses the cache until another thread has made `count` readings.
  void await(SettingsCache& cache, int count) const {
    for (int i = 0; i < 5000 && readings < count; ++i) {
      CHECK(cache.get()->bearer == "token 1");
      std::this_thread::sleep_for(1ms);
    }
    REQUIRE(readings == count);
  }
};

}  // namespace

TEST_CASE("credentials without expiry are read once") {
  Source source;
  SettingsCache cache = source.cache();
  CHECK(cache.get()->bearer == "token 1");
  source.now_s += 1'000'000;
  CHECK(cache.get()->bearer == "token 1");
}

TEST_CASE("credentials are renewed before they expire, while the old ones are in use") {
  Source source;
  source.lifetime = 1h;
  SettingsCache cache = source.cache();
  CHECK(cache.get()->bearer == "token 1");
  source.now_s += 49 * 60;
  CHECK(cache.get()->bearer == "token 1");
  CHECK(source.readings == 1);
  source.now_s += 2 * 60;
  source.await(cache, 2);
  for (int i = 0; i < 5000 && cache.get()->bearer == "token 1"; ++i) std::this_thread::sleep_for(1ms);
  CHECK(cache.get()->bearer == "token 2");
}

TEST_CASE("a failed early renewal is attempted once a minute, and reported at the expiry") {
  Source source;
  source.lifetime = 1h;
  SettingsCache cache = source.cache();
  (void)cache.get();
  source.broken = true;
  source.now_s += 55 * 60;
  source.await(cache, 2);
  source.now_s += 30;
  (void)cache.get();
  std::this_thread::sleep_for(20ms);
  CHECK(source.readings == 2);
  source.now_s += 31;
  source.await(cache, 3);
  source.now_s += 4 * 60;
  CHECK_THROWS_WITH(cache.get(), "signed out");
  source.broken = false;
  CHECK(cache.get()->bearer == "token 5");
}

TEST_CASE("expired credentials are renewed before they are used") {
  Source source;
  source.lifetime = 1h;
  SettingsCache cache = source.cache();
  (void)cache.get();
  source.now_s += 3600;
  CHECK(cache.get()->bearer == "token 2");
}

TEST_CASE("rejected credentials are renewed once for all requests that used them") {
  Source source;
  SettingsCache cache = source.cache();
  const auto first = cache.get();
  CHECK(cache.renew(first));
  CHECK(cache.renew(first));
  CHECK(source.readings == 2);
  source.fixed = "token 2";
  CHECK_FALSE(cache.renew(cache.get()));
  CHECK(source.readings == 3);
}

}  // namespace unstarve::remote
