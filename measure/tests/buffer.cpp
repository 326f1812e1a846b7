#include "memory/buffer.hpp"

#include <cstdint>
#include <new>
#include <set>

#include "check.hpp"
#include "memory/message_slots.hpp"

using scope::Buffer;
using scope::flush_from_caches;
using scope::MessageSlots;
using scope::pattern_problem;
using scope::rewrite;
using scope::SlotLayout;
using scope::write_pattern;

namespace {

std::uintptr_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

void every_place_begins_where_the_layout_says() {
  for (const std::int64_t bytes : {1, 8, 64, 4096, 5000}) {
    for (const std::int64_t alignment : {64, 4096}) {
      for (const std::int64_t offset : {0, 1, 8, 4095}) {
        MessageSlots places(bytes, SlotLayout{alignment, offset, 3});
        places.use(5);
        std::set<std::byte*> begins;
        for (std::int64_t number = 0; number < 5; ++number) {
          CHECK((address(places[number]) - static_cast<std::uintptr_t>(offset)) % alignment == 0);
          begins.insert(places[number]);
        }
        CHECK(begins.size() == 5);
        places.clear();
        for (std::int64_t number = 0; number < 5; ++number) write_pattern(places.slot(number), 7);
        CHECK(places.pattern_problem(7).empty());
        *(places[4] + bytes - 1) ^= std::byte{1};
        CHECK(!places.pattern_problem(7).empty());
        *(places[4] + bytes - 1) ^= std::byte{1};
        if (places.stride() == bytes) continue;
        *(places[4] + bytes) = std::byte{1};
        CHECK(!places.pattern_problem(7).empty());
      }
    }
  }
}

void repetitions_rotate_through_the_places() {
  MessageSlots places(100, SlotLayout{.rotation = 4});
  std::set<std::byte*> one_each;
  for (int repetition = 0; repetition < 4; ++repetition) {
    places.use(1);
    one_each.insert(places[0]);
    CHECK(places.bytes().data() == places[0]);
  }
  CHECK(one_each.size() == 4);
  for (int repetition = 0; repetition < 3; ++repetition) {
    places.use(3);
    CHECK(places.count() == 3);
    for (std::int64_t number = 0; number < 3; ++number) CHECK(one_each.count(places[number]) == 1);
  }
  places.use_in_turn(10);
  CHECK(places.count() == 4);
  CHECK(places.in_turn(0) == places.in_turn(4));
  CHECK(places.in_turn(0) != places.in_turn(3));

  MessageSlots ring(100, SlotLayout{}.at_least(2));
  std::byte* const here = ring[0];
  std::byte* const there = ring.next();
  CHECK(here != there);
  ring.turn();
  CHECK(ring[0] == there);
  CHECK(ring.next() == here);

  MessageSlots sources(100, SlotLayout{.rotation = 4});
  sources.write_pattern(5);
  for (int repetition = 0; repetition < 5; ++repetition) {
    sources.use_in_turn(1);
    CHECK(pattern_problem(sources.slot(0), 5).empty());
  }

  MessageSlots fixed(100);
  fixed.use(1);
  std::byte* const same = fixed[0];
  fixed.use(1);
  CHECK(fixed[0] == same);
}

void each_line_is_flushed_and_rewritten_once() {
  Buffer buffer(4096);
  write_pattern(buffer.bytes(), 9);
  const auto lines = [&](std::size_t from, std::size_t count) {
    return flush_from_caches(buffer.bytes().subspan(from, count));
  };
  CHECK(lines(0, 0) == 0);
  CHECK(lines(0, 1) == 1);
  CHECK(lines(63, 1) == 1);
  CHECK(lines(63, 2) == 2);
  CHECK(lines(1, 64) == 2);
  CHECK(lines(0, 4096) == 64);
  CHECK(rewrite(buffer.bytes().subspan(1, 4095)) == 64);
  CHECK(pattern_problem(buffer.bytes(), 9).empty());
}

}  // namespace

int main() {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 4096u, 5000u}) {
    Buffer buffer(size);
    CHECK(address(buffer.data()) % 4096 == 0);
    write_pattern(buffer.bytes(), 3);
    CHECK(pattern_problem(buffer.bytes(), 3).empty());
    CHECK(size == 0 || !pattern_problem(buffer.bytes(), 4).empty());
    for (std::size_t at = 0; at < size; at += 997) {
      buffer.data()[at] ^= std::byte{1};
      CHECK(!pattern_problem(buffer.bytes(), 3).empty());
      buffer.data()[at] ^= std::byte{1};
    }
  }

  Buffer first(64);
  first.clear();
  Buffer second(16);
  second = std::move(first);
  CHECK(second.size() == 64);

  bool refused = false;
  try {
    const Buffer impossible(SIZE_MAX - 4096);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused);

  every_place_begins_where_the_layout_says();
  repetitions_rotate_through_the_places();
  each_line_is_flushed_and_rewritten_once();
  return scope::testing::failures;
}
