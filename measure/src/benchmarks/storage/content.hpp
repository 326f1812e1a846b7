// The contents of the files of storage.*: the value of every byte depends on the case and repetition that wrote
// it, on the rank, and on the position in that rank's data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "memory/buffer.hpp"
#include "text/words.hpp"

namespace scope::storage {

// The rank that wrote data, and the repetition of the case in which it did.
struct Version {
  std::uint64_t generation;
  int owner;
};

// A rank's data are a stream of pages. The first words of a page are its stamp; the others depend on the version
// and on their position modulo `period` bytes, so that a buffer of that size suffices for a longer stream if only
// the stamps are renewed.
class Content {
 public:
  static constexpr std::int64_t page_bytes = 4096;

  // `number`: identifies the case. `period`: a multiple of the page size.
  Content(std::uint64_t number, std::int64_t period) : number_(number), period_(period) {}

  std::int64_t period() const { return period_; }

  // Writes part of a version's stream, starting at byte `begin`.
  void write(std::span<std::byte> to, const Version& version, std::int64_t begin) const {
    std::uint64_t page[words];
    by_pages(begin, static_cast<std::int64_t>(to.size()),
             [&](std::int64_t number, std::int64_t from, std::int64_t count, std::int64_t at) {
               make_page(page, version, number);
               std::memcpy(to.data() + at, reinterpret_cast<const std::byte*>(page) + from, count);
               return true;
             });
  }

  // Renews the stamps of bytes that contain the same version one or more periods earlier; `to` has the same
  // position relative to pages in its buffer as in the stream.
  void stamp(std::span<std::byte> to, const Version& version, std::int64_t begin) const {
    std::uint64_t stamp[stamp_words];
    by_pages(begin, static_cast<std::int64_t>(to.size()),
             [&](std::int64_t number, std::int64_t from, std::int64_t count, std::int64_t at) {
               const auto bytes = static_cast<std::int64_t>(sizeof(stamp));
               if (from < bytes) {
                 make_stamp(stamp, version, number);
                 std::memcpy(to.data() + at, reinterpret_cast<const std::byte*>(stamp) + from,
                             std::min(bytes - from, count));
               }
               return true;
             });
  }

  // The origin of a transfer that begins with a page, from its stamp; none if it has no stamp of this case.
  struct Origin {
    Version version;
    std::int64_t begin;
  };
  std::optional<Origin> origin(std::span<const std::byte> found) const {
    std::uint64_t stamp[stamp_words];
    if (found.size() < sizeof(stamp)) return std::nullopt;
    std::memcpy(stamp, found.data(), sizeof(stamp));
    if (stamp[0] != number_) return std::nullopt;
    return Origin{{stamp[1], static_cast<int>(stamp[2])}, static_cast<std::int64_t>(stamp[3]) * page_bytes};
  }

  // Empty if `found` is the expected stream, starting at byte `begin`; otherwise describes what was found instead.
  std::string problem(std::span<const std::byte> found, const Version& expected, std::int64_t begin) const {
    std::uint64_t page[words];
    std::string problem;
    by_pages(begin, static_cast<std::int64_t>(found.size()),
             [&](std::int64_t number, std::int64_t from, std::int64_t count, std::int64_t at) {
               make_page(page, expected, number);
               const auto* wanted = reinterpret_cast<const std::byte*>(page) + from;
               if (std::memcmp(wanted, found.data() + at, count) == 0) return true;
               const auto first = std::mismatch(wanted, wanted + count, found.data() + at).first - wanted;
               problem = sentence({"byte ", begin + at + first, " of the data of rank ", expected.owner});
               // Other possible contents are recognized by whole words.
               const std::int64_t word = (from + first) / 8;
               if (word * 8 >= from && (word + 1) * 8 <= from + count) {
                 std::uint64_t value = 0;
                 std::memcpy(&value, found.data() + at + word * 8 - from, 8);
                 page[word] = value;
               }
               problem += described(page, expected, number * static_cast<std::int64_t>(words) + word);
               return false;
             });
    return problem;
  }

 private:
  static constexpr std::size_t words = page_bytes / 8;
  static constexpr std::size_t stamp_words = 4;

  // Calls `part(page, from, bytes, at)` for each page: its part that starts at `from` is at `at` in the range.
  template <class Part>
  static void by_pages(std::int64_t begin, std::int64_t bytes, Part&& part) {
    for (std::int64_t at = 0; at < bytes;) {
      const std::int64_t from = (begin + at) % page_bytes;
      const std::int64_t count = std::min(page_bytes - from, bytes - at);
      if (!part((begin + at) / page_bytes, from, count, at)) return;
      at += count;
    }
  }

  void make_page(std::uint64_t (&page)[words], const Version& version, std::int64_t number) const {
    const std::uint64_t key =
        pattern_word(number_ + version.generation, static_cast<std::uint64_t>(version.owner));
    const auto first = static_cast<std::uint64_t>(number % (period_ / page_bytes)) * words;
    for (std::size_t i = 0; i < words; ++i) page[i] = ((first + i) * 0x9e3779b97f4a7c15u) ^ key;
    make_stamp(page, version, number);
  }
  void make_stamp(std::uint64_t* page, const Version& version, std::int64_t number) const {
    page[0] = number_;
    page[1] = version.generation;
    page[2] = static_cast<std::uint64_t>(version.owner);
    page[3] = static_cast<std::uint64_t>(number);
  }
  // Describes a page in which the word at `place` of the stream is as it was found.
  std::string described(const std::uint64_t* page, const Version& expected, std::int64_t place) const {
    const auto word = static_cast<std::size_t>(place) % words;
    const std::uint64_t value = page[word];
    if (value == 0) return " was never written: it is zero";
    constexpr std::uint64_t generations_back = 64;
    std::uint64_t earlier[words];
    for (std::uint64_t back = 1; back <= std::min(generations_back, expected.generation); ++back) {
      make_page(earlier, {expected.generation - back, expected.owner}, place / static_cast<std::int64_t>(words));
      if (earlier[word] == value) {
        return sentence(
            {" is stale: it was written ", back, back == 1 ? " repetition" : " repetitions", " earlier"});
      }
    }
    if (word == 2) return sentence({" was written by rank ", static_cast<std::int64_t>(value)});
    if (word == 3) return sentence({" comes from page ", static_cast<std::int64_t>(value), " of these data"});
    return " differs from what was written";
  }

  std::uint64_t number_;
  std::int64_t period_;
};

}  // namespace scope::storage
