#pragma once
// The conformance suite of Device, run for each implementation by device_test.cpp.

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"

namespace unstarve::conformance {

inline std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::uint8_t> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::uint8_t>((i * 131 + seed * 17 + i / 251) & 0xFF);
  return all;
}

// Copies to the device and back through `staging` memory of the host.
inline void check_round_trip(Device& device, Memory& staging, std::size_t bytes, unsigned seed) {
  const auto sent = pattern(bytes, seed);
  const auto stream = device.make_stream();
  const auto memory = device.allocate(bytes);
  std::vector<std::uint8_t> back(bytes, 0xEE);
  std::memcpy(staging.data(), sent.data(), bytes);
  device.copy_to_device(memory->data(), staging.data(), bytes, *stream);
  stream->synchronise();
  std::memset(staging.data(), 0xAA, bytes);
  device.copy_to_host(back.data(), memory->data(), bytes, *stream);
  const auto event = stream->record();
  event->wait();
  CHECK(event->done());
  CHECK(back == sent);
  const auto later = stream->record_timed(), last = stream->record_timed();
  stream->synchronise();
  CHECK(last->seconds_since(*later) >= 0);
  CHECK(later->seconds_since(*later) == 0);
}

inline void check_memory(Device& device) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{4096}, std::size_t{1} << 20}) {
    CAPTURE(bytes);
    const auto pinned = device.allocate_pinned(bytes);
    const auto pageable = allocate_pageable(bytes);
    CHECK(pinned->bytes() == bytes);
    CHECK(pinned->pinned() == !device.is_host());
    CHECK(reinterpret_cast<std::uintptr_t>(pinned->data()) % 64 == 0);
    CHECK_FALSE(pageable->pinned());
    CHECK(reinterpret_cast<std::uintptr_t>(pageable->data()) % 64 == 0);
    CHECK(pageable->data()[bytes - 1] == 0);
    const auto untouched = allocate_untouched(bytes);
    CHECK(untouched->bytes() == bytes);
    CHECK_FALSE(untouched->pinned());
    CHECK(reinterpret_cast<std::uintptr_t>(untouched->data()) % 64 == 0);
    check_round_trip(device, *untouched, bytes, 3);
    check_round_trip(device, *pinned, bytes, 1);
    check_round_trip(device, *pageable, bytes, 2);
  }
}

inline void check_empty(Device& device) {
  const auto memory = device.allocate(0);
  const auto pinned = device.allocate_pinned(0);
  const auto stream = device.make_stream();
  CHECK(memory->bytes() == 0);
  CHECK(pinned->bytes() == 0);
  device.copy_to_device(memory->data(), pinned->data(), 0, *stream);
  device.copy_to_host(pinned->data(), memory->data(), 0, *stream);
  stream->synchronise();
  const auto event = stream->record();  // of a stream without work
  event->wait();
  CHECK(event->done());
}

inline void check_error(Device& device) {
  for (const bool pinned : {false, true}) {
    CAPTURE(pinned);
    try {
      const auto memory = pinned ? device.allocate_pinned(SIZE_MAX / 2) : device.allocate(SIZE_MAX / 2);
      FAIL("half of all addresses were granted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kMemory);
    }
  }
  const auto memory = device.allocate(1024);  // the device stays usable after a failed allocation
  CHECK(memory->bytes() == 1024);
}

// A second stream that waits for an event of the first one sees what the first one has copied.
inline void check_order_between_streams(Device& device) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  const auto first = device.make_stream();
  const auto second = device.make_stream();
  const auto source = device.allocate_pinned(kBytes);
  const auto target = device.allocate_pinned(kBytes);
  const auto memory = device.allocate(kBytes);
  for (unsigned round = 0; round < 4; ++round) {
    const auto sent = pattern(kBytes, round);
    std::memcpy(source->data(), sent.data(), kBytes);
    device.copy_to_device(memory->data(), source->data(), kBytes, *first);
    const auto copied = first->record();
    second->wait_for(*copied);
    device.copy_to_host(target->data(), memory->data(), kBytes, *second);
    second->synchronise();
    CHECK(copied->done());
    CHECK(std::memcmp(target->data(), sent.data(), kBytes) == 0);
  }
}

// New threads may use the device concurrently.
inline void check_threads(Device& device) {
  std::vector<int> equal(4, 0);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < equal.size(); ++t) {
      threads.emplace_back([&device, &equal, t] {
        constexpr std::size_t kBytes = 100'000;
        const auto sent = pattern(kBytes, t);
        std::vector<std::uint8_t> back(kBytes);
        const auto stream = device.make_stream();
        const auto memory = device.allocate(kBytes);
        device.copy_to_device(memory->data(), sent.data(), kBytes, *stream);
        device.copy_to_host(back.data(), memory->data(), kBytes, *stream);
        stream->synchronise();
        equal[t] = back == sent;
      });
    }
  }
  CHECK(equal == std::vector<int>(4, 1));
}

inline void check_device(Device& device) {
  check_memory(device);
  check_empty(device);
  check_error(device);
  check_order_between_streams(device);
  check_threads(device);
}

}  // namespace unstarve::conformance
