// Proof that a frame comes, unchanged, from a process that knows the session key.
//
// The tag is SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012), a keyed function of the header's words and of a
// universal hash of the body: NH of UMAC (Black et al., CRYPTO 1999; RFC 4418) over words of 64 bits, whose key is
// derived from the session key. Two bodies collide with a probability of 2^-64; the hash costs one multiplication
// per 16 bytes. The tag also detects damaged frames, like a 64-bit checksum.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "endpoint.hpp"

namespace scope::active_messages {

using SessionKey = std::array<std::byte, 16>;

// SipHash-2-4 over whole words.
class SipHash {
 public:
  explicit SipHash(const SessionKey& key) {
    std::uint64_t words[2];
    std::memcpy(words, key.data(), sizeof words);
    state_ = {words[0] ^ 0x736f6d6570736575, words[1] ^ 0x646f72616e646f6d, words[0] ^ 0x6c7967656e657261,
              words[1] ^ 0x7465646279746573};
  }
  void absorb(std::uint64_t word) {
    state_[3] ^= word;
    round();
    round();
    state_[0] ^= word;
    ++words_;
  }
  std::uint64_t finish() {
    absorb(words_ << 59);  // last word as defined: length in bytes modulo 256 in the top byte
    state_[2] ^= 0xff;
    for (int count = 0; count < 4; ++count) round();
    return state_[0] ^ state_[1] ^ state_[2] ^ state_[3];
  }

 private:
  void round() {
    auto& [a, b, c, d] = state_;
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  std::array<std::uint64_t, 4> state_;
  std::uint64_t words_ = 0;
};

// The 128 bits of NH.
struct Digest {
  std::uint64_t low, high;
};

// Hashes bodies of up to a maximum size under one session key.
class BodyHash {
 public:
  BodyHash(const SessionKey& key, std::size_t longest_body);
  Digest operator()(Bytes body) const;

 private:
  std::vector<std::uint64_t> key_;
};

}  // namespace scope::active_messages
