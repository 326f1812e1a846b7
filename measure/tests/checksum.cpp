// The checksum is that of everybody else, and notices every changed bit.
#include "samples/checksum.hpp"

#include "check.hpp"

using namespace scope;

int main() {
  // The check value of the catalog of CRC algorithms.
  CHECK(crc32("123456789") == 0xCBF43926);
  CHECK(crc32("") == 0);
  CHECK(with_checksum("{\"a\":1}") == "{\"a\":1,\"crc32\":" + std::to_string(crc32("{\"a\":1")) + "}");
  const std::string line = "{\"elapsed_s\":[[1.25e-06]]";
  for (std::size_t bit = 0; bit < 8 * line.size(); ++bit) {
    std::string damaged = line;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    CHECK(crc32(damaged) != crc32(line));
  }
  return 0;
}
