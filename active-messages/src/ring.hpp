// A bounded queue of records with one writer and one reader, in memory that two processes share. The reader does
// not trust lengths in it: a damaged ring ends its connection without any other harm.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace scope::active_messages {

inline constexpr std::size_t ring_bytes = 128 * 1024;
inline constexpr std::size_t record_alignment = 16;

// Precedes every record; a record is never split at the end of the ring.
struct RecordHead {
  std::uint32_t bytes = 0;  // size of the whole record, including this head and padding
  std::uint32_t payload_bytes = 0;
  std::uint16_t handler = 0;
  std::uint8_t kind = 0;  // 0: padding up to the end of the ring; the user of the ring defines all others
  std::uint8_t header_bytes = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(RecordHead) == record_alignment);

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + record_alignment - 1) / record_alignment * record_alignment;
}

// Maximum size of header plus payload, both rounded up: half a ring always becomes free in one piece.
inline constexpr std::size_t record_limit = 16 * 1024;
static_assert(2 * record_limit <= ring_bytes);

struct Ring {
  alignas(64) std::atomic<std::uint64_t> written;  // total bytes written, set by the writer
  alignas(64) std::atomic<std::uint64_t> read;     // total bytes read, set by the reader
  alignas(64) std::byte data[ring_bytes];
};

class RingWriter {
 public:
  explicit RingWriter(Ring& ring) : ring_(ring) {}

  // Appends a record; false if there is no room now.
  bool write(RecordHead head, std::span<const std::byte> header, std::span<const std::byte> payload) {
    const std::size_t header_space = aligned(header.size());
    head.bytes = static_cast<std::uint32_t>(sizeof head + header_space + aligned(payload.size()));
    head.header_bytes = static_cast<std::uint8_t>(header.size());
    head.payload_bytes = static_cast<std::uint32_t>(payload.size());
    std::byte* place = reserve(head.bytes);
    if (place == nullptr) return false;
    std::memcpy(place, &head, sizeof head);
    if (!header.empty()) std::memcpy(place + sizeof head, header.data(), header.size());
    if (!payload.empty()) std::memcpy(place + sizeof head + header_space, payload.data(), payload.size());
    position_ += head.bytes;
    ring_.written.store(position_, std::memory_order_release);
    return true;
  }

  // Position of the next record: once everything before it has been read, so has every record written so far.
  std::uint64_t position() const { return position_; }
  bool was_read(std::uint64_t position) {
    if (read_ < position) read_ = ring_.read.load(std::memory_order_acquire);
    return read_ >= position;
  }

 private:
  std::byte* reserve(std::size_t bytes) {
    const std::size_t offset = position_ % ring_bytes;
    const std::size_t until_end = ring_bytes - offset;
    const std::size_t needed = bytes <= until_end ? bytes : until_end + bytes;
    if (needed > ring_bytes - (position_ - read_)) {
      read_ = ring_.read.load(std::memory_order_acquire);
      if (needed > ring_bytes - (position_ - read_)) return nullptr;
    }
    if (bytes <= until_end) return ring_.data + offset;
    const RecordHead padding{.bytes = static_cast<std::uint32_t>(until_end)};
    std::memcpy(ring_.data + offset, &padding, sizeof padding);
    position_ += until_end;
    return ring_.data;
  }

  Ring& ring_;
  std::uint64_t position_ = 0;
  std::uint64_t read_ = 0;  // last known value: the reader's cache line is accessed only if the ring seems full
};

class RingReader {
 public:
  struct Record {
    RecordHead head;
    std::span<const std::byte> header;
    std::span<const std::byte> payload;
  };

  explicit RingReader(Ring& ring) : ring_(ring) {}

  // The oldest record, valid until release(); empty if there is none.
  std::optional<Record> front() {
    for (;;) {
      if (written_ == position_) {
        written_ = ring_.written.load(std::memory_order_acquire);
        if (written_ == position_) return std::nullopt;
      }
      const std::size_t offset = position_ % ring_bytes;
      const std::byte* place = ring_.data + offset;
      RecordHead head;
      std::memcpy(&head, place, sizeof head);
      if (!sound(head, offset)) {
        damaged_ = true;
        return std::nullopt;
      }
      if (head.kind == 0) {
        position_ += head.bytes;
        continue;
      }
      front_bytes_ = head.bytes;
      return Record{head,
                    {place + sizeof head, head.header_bytes},
                    {place + sizeof head + aligned(head.header_bytes), head.payload_bytes}};
    }
  }

  void release() {
    position_ += front_bytes_;
    ring_.read.store(position_, std::memory_order_release);
  }

  bool damaged() const { return damaged_; }

 private:
  bool sound(const RecordHead& head, std::size_t offset) const {
    const std::size_t content =
        sizeof head + aligned(head.header_bytes) + aligned(std::size_t{head.payload_bytes});
    return written_ - position_ <= ring_bytes && head.bytes >= sizeof head && head.bytes % record_alignment == 0 &&
           head.bytes <= ring_bytes - offset && head.bytes <= written_ - position_ &&
           (head.kind == 0 || content == head.bytes);
  }

  Ring& ring_;
  std::uint64_t position_ = 0;
  std::uint64_t written_ = 0;  // last known value
  std::uint32_t front_bytes_ = 0;
  bool damaged_ = false;
};

}  // namespace scope::active_messages
