// The checksum at the end of each line of samples.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scope {

// CRC-32 of IEEE 802.3 (ISO 3309, as zlib's).
std::uint32_t crc32(std::string_view bytes);

// A line, a JSON object, with the checksum of everything before it as its last key.
std::string with_checksum(std::string line);

}  // namespace scope
