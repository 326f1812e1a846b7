// What the files of storage.* contain: every byte says by its value in which case and repetition it was written, by
// which rank, and where in that rank's data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace scope::storage {

// Who wrote, and in which of a case's repetitions.
struct Version {
  std::uint64_t generation;
  int owner;
};

// A rank's data are a stream of pages. The first words of a page are its stamp; the others depend on the version and on
// their position, which repeats after `period` bytes, so that a buffer of that size serves a longer stream when only the
// stamps are renewed.
class Content {
 public:
  static constexpr std::int64_t page_bytes = 4096;

  // `number`: of the case. `period`: a multiple of the page.
  Content(std::uint64_t number, std::int64_t period) : number_(number), period_(period) {}

  std::int64_t period() const { return period_; }

  // Bytes `begin` and following of a version's stream.
  void write(std::span<std::byte> to, const Version& version, std::int64_t begin) const;

  // Renews the stamps of bytes that hold the same version one or more periods earlier; `to` lies in a page-aligned
  // buffer as it does in the stream.
  void stamp(std::span<std::byte> to, const Version& version, std::int64_t begin) const;

  // Where a transfer that begins with a page comes from, as its stamp says; none where it has no stamp of this case.
  struct Origin {
    Version version;
    std::int64_t begin;
  };
  std::optional<Origin> origin(std::span<const std::byte> found) const;

  // Empty where bytes `begin` and following of a stream were found, else what is there instead.
  std::string problem(std::span<const std::byte> found, const Version& expected, std::int64_t begin) const;

 private:
  static constexpr std::size_t words = page_bytes / 8;
  static constexpr std::size_t stamp_words = 4;

  void make_page(std::uint64_t (&page)[words], const Version& version, std::int64_t number) const;
  void make_stamp(std::uint64_t* page, const Version& version, std::int64_t number) const;
  std::string described(const std::uint64_t* page, const Version& expected, std::int64_t number) const;

  std::uint64_t number_;
  std::int64_t period_;
};

}  // namespace scope::storage
