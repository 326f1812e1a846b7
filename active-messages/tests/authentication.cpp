// SipHash-2-4 against the published vectors; the body hash against its definition and against damage.
#include "authentication.hpp"

#include <random>
#include <vector>

#include "expect.hpp"

using namespace scope::active_messages;

int main() {
  SessionKey key;
  for (unsigned index = 0; index < key.size(); ++index) key[index] = static_cast<std::byte>(index);
  SipHash none(key), eight(key);
  expect(none.finish() == 0x726fdb47dd0e0e31, "SipHash of nothing");
  eight.absorb(0x0706050403020100);
  expect(eight.finish() == 0x93f5f5799a932462, "SipHash of 00 to 07");

  const BodyHash hash(key, 1500);
  std::mt19937 random(1);
  std::vector<std::byte> body(1500);
  for (std::byte& each : body) each = static_cast<std::byte>(random());
  const auto differs = [&](Bytes one, const Digest& other) {
    const Digest mine = hash(one);
    return mine.low != other.low || mine.high != other.high;
  };
  for (const std::size_t bytes : {1, 7, 8, 15, 16, 17, 63, 1499, 1500}) {
    const Bytes part(body.data(), bytes);
    const Digest before = hash(part);
    expect(!differs(part, before), "equal bodies hash alike");
    for (std::size_t bit = 0; bit < 8 * bytes; bit += 1 + bit % 13) {
      body[bit / 8] ^= std::byte{1} << (bit % 8);
      expect(differs(part, before), "bit " + std::to_string(bit) + " of " + std::to_string(bytes) + " bytes");
      body[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
  SessionKey other = key;
  other[3] ^= std::byte{1};
  const Digest mine = hash(body), theirs = BodyHash(other, 1500)(body);
  expect(mine.low != theirs.low && mine.high != theirs.high, "another key hashes otherwise");
  return failures == 0 ? 0 : 1;
}
