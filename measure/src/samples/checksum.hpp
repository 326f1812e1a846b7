// The checksum at the end of each line of samples.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace scope {

constexpr std::uint32_t reversed_polynomial = 0xEDB88320;
constexpr std::array<std::uint32_t, 256> remainders() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? reversed_polynomial : 0);
    table[byte] = remainder;
  }
  return table;
}

// CRC-32 of IEEE 802.3 (ISO 3309, the same as zlib's).
inline std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto table = remainders();
  std::uint32_t sum = ~std::uint32_t{0};
  for (const char byte : bytes) sum = (sum >> 8) ^ table[(sum ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~sum;
}

// Appends a last key to a line, which is a JSON object, with the checksum of everything before it.
inline std::string with_checksum(std::string line) {
  line.pop_back();
  const std::uint32_t sum = crc32(line);
  return line + ",\"crc32\":" + std::to_string(sum) + "}";
}

}  // namespace scope
