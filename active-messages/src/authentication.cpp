#include "authentication.hpp"

namespace scope::active_messages {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
__extension__ using Wide = unsigned __int128;

Wide product(std::uint64_t first, std::uint64_t second) { return static_cast<Wide>(first) * second; }

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, word_bytes);
  return word;
}

}  // namespace

BodyHash::BodyHash(const SessionKey& key, std::size_t longest_body)
    : key_(2 * ((longest_body + 2 * word_bytes - 1) / (2 * word_bytes))) {
  for (std::size_t index = 0; index < key_.size(); ++index) {
    SipHash stream(key);
    stream.absorb(0x6e68206b6579);  // differs from every tag, which absorbs more words
    stream.absorb(index);
    key_[index] = stream.finish();
  }
}

Digest BodyHash::operator()(Bytes body) const {
  Wide sum = 0;
  const std::size_t pairs = body.size() / (2 * word_bytes);
  const std::byte* here = body.data();
  for (std::size_t pair = 0; pair < pairs; ++pair, here += 2 * word_bytes)
    sum += product(word_at(here) + key_[2 * pair], word_at(here + word_bytes) + key_[2 * pair + 1]);
  if (const std::size_t rest = body.size() % (2 * word_bytes)) {
    // The last pair is padded with zeros; the tag covers the length.
    std::array<std::byte, 2 * word_bytes> last{};
    std::memcpy(last.data(), here, rest);
    sum +=
        product(word_at(last.data()) + key_[2 * pairs], word_at(last.data() + word_bytes) + key_[2 * pairs + 1]);
  }
  return {static_cast<std::uint64_t>(sum), static_cast<std::uint64_t>(sum >> 64)};
}

}  // namespace scope::active_messages
