#include "unstarve/jobs/host/host_settings.h"

#include <array>

namespace unstarve {
namespace {

constexpr std::array<std::string_view, 3> kWaitPolicies{"passive", "brief", "active"};
constexpr std::array<std::string_view, 4> kAllocators{"system", "jemalloc", "tcmalloc", "mimalloc"};
constexpr std::array<std::string_view, 2> kAffinities{"none", "split"};

}  // namespace

template <>
std::span<const std::string_view> words_of<WaitPolicy>() noexcept {
  return kWaitPolicies;
}
template <>
std::span<const std::string_view> words_of<HeapAllocator>() noexcept {
  return kAllocators;
}
template <>
std::span<const std::string_view> words_of<Affinity>() noexcept {
  return kAffinities;
}

}  // namespace unstarve
