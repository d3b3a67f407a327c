#pragma once

// A set of nonces that strangers choose. Open addressing keeps it small; the
// places are found by a secret hash, so that nobody can choose nonces that all
// want the same place.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "toolserver/model/envelope.h"

namespace tool {

class NonceSet {
 public:
  using Key = std::array<std::uint64_t, 2>;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool contains(const MessageNonce& nonce, const Key& key) const {
    if (nonce == kEmpty) return has_zero_;
    return !places_.empty() && places_[place(nonce, key)] == nonce;
  }
  /// The nonce must be new.
  void add(const MessageNonce& nonce, const Key& key) {
    ++size_;
    if (nonce == kEmpty) {
      has_zero_ = true;
      return;
    }
    if (size_ * 4 > places_.size() * 3) grow(key);
    places_[place(nonce, key)] = nonce;
  }

 private:
  static constexpr MessageNonce kEmpty{};
  static constexpr std::size_t kFirstPlaces = 16;

  // Where the nonce is, or else the free place for it.
  [[nodiscard]] std::size_t place(const MessageNonce& nonce, const Key& key) const {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, nonce.data(), 8);
    std::memcpy(&high, nonce.data() + 8, 8);
    auto product = static_cast<unsigned __int128>(low ^ key[0]) * (high ^ key[1]);
    auto mixed = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    product = static_cast<unsigned __int128>(mixed ^ key[1]) * (key[0] | 1);
    mixed = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    std::size_t mask = places_.size() - 1;
    std::size_t at = mixed & mask;
    while (places_[at] != kEmpty && places_[at] != nonce) at = (at + 1) & mask;
    return at;
  }
  void grow(const Key& key) {
    std::vector<MessageNonce> old(places_.empty() ? kFirstPlaces : places_.size() * 2);
    old.swap(places_);
    for (const MessageNonce& nonce : old) {
      if (nonce != kEmpty) places_[place(nonce, key)] = nonce;
    }
  }

  std::vector<MessageNonce> places_;
  std::size_t size_ = 0;
  bool has_zero_ = false;
};

}  // namespace tool
