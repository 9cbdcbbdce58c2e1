#pragma once
// How a training process uses the CPU and the memory of its machine: plain data, part of the settings file.
//
//   host:
//     allocator: jemalloc     # see start_environment.h for how each is applied
//
// Failure: none; start_environment.h reports settings that this machine cannot apply.

#include "unstarve/core/enum_words.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {

// What the threads of OpenMP do between two operators: sleep; wait in a loop for a short time, then sleep; wait in a
// loop for as long as OpenMP chooses, then sleep. See docs/decisions/0044-host-settings.md.
enum class WaitPolicy { kPassive, kBrief, kActive };
template <>
inline constexpr std::array<std::string_view, 3> kWords<WaitPolicy>{"passive", "brief", "active"};
// Of heap memory: the C library's, or a library that is loaded before it.
enum class HeapAllocator { kSystem, kJemalloc, kTcmalloc, kMimalloc };
template <>
inline constexpr std::array<std::string_view, 4> kWords<HeapAllocator>{"system", "jemalloc", "tcmalloc", "mimalloc"};
// Which CPUs threads run on: those that the system chooses, or the first operator_threads CPUs for operators and the
// others for the loader (core/machine/cpu_split.h).
enum class Affinity { kNone, kSplit };
template <>
inline constexpr std::array<std::string_view, 2> kWords<Affinity>{"none", "split"};

struct HostSettings {
  WaitPolicy wait_policy = WaitPolicy::kActive;
  Affinity affinity = Affinity::kNone;
  bool huge_pages = false;  // requested for the heap and for tensors
  HeapAllocator allocator = HeapAllocator::kSystem;
  friend bool operator==(const HostSettings&, const HostSettings&) = default;
};

// Every host setting once; as visit_train_fields().
template <class Settings, class Visit>
void visit_host_fields(Settings& s, Visit&& visit) {
  visit(FieldInfo{"wait_policy", "--wait-policy", {}, "what operator threads do between two operators"}, s.wait_policy);
  visit(FieldInfo{"affinity", "--affinity", {}, "split: operators and loader run on different CPUs"}, s.affinity);
  visit(FieldInfo{"huge_pages", "--huge-pages", {}, "request transparent huge pages for heap and tensors"},
        s.huge_pages);
  visit(FieldInfo{"allocator", "--allocator", {}, "library that allocates heap memory"}, s.allocator);
}

}  // namespace unstarve
