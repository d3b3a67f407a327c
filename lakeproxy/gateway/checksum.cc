#include "lakeproxy/gateway/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/crypto/encoding.h"

namespace lake::gateway {
namespace {

template <class Word>
std::string base64_of(Word value) {
  std::string bytes;
  for (int shift = 8 * sizeof(Word) - 8; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return base::crypto::to_base64(bytes);
}

// Tables for eight bytes at a time: the k-th tells what a byte does that k more follow.
template <class Word>
using Tables = std::array<std::array<Word, 256>, 8>;

template <class Word>
consteval Tables<Word> make_tables(Word polynomial) {
  Tables<Word> tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    Word value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? polynomial : Word{0});
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Word before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

/// A reflected CRC that begins with all bits set and is inverted at the end.
template <class Word, Word polynomial>
class Crc final : public Checksum {
 public:
  void update(std::string_view part) override {
    while (part.size() >= 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, part.data(), 8);  // Little endian, as this server's machines are.
      eight ^= value_;
      Word next = 0;
      for (std::size_t k = 0; k < 8; ++k) next ^= kTables[7 - k][eight >> (8 * k) & 0xff];
      value_ = next;
      part.remove_prefix(8);
    }
    for (char c : part) {
      value_ = value_ >> 8 ^ kTables[0][(value_ ^ static_cast<unsigned char>(c)) & 0xff];
    }
  }
  std::string finish() override { return base64_of(static_cast<Word>(~value_)); }

 private:
  static constexpr Tables<Word> kTables = make_tables(polynomial);
  Word value_ = static_cast<Word>(~Word{0});
};

using Crc32 = Crc<std::uint32_t, 0xEDB88320U>;
using Crc32c = Crc<std::uint32_t, 0x82F63B78U>;
using Crc64Nvme = Crc<std::uint64_t, 0x9A6C9329AC4BC9B5U>;

class Digest final : public Checksum {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new()) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), kind, nullptr) != 1) std::abort();
  }
  void update(std::string_view part) override {
    if (EVP_DigestUpdate(context_.get(), part.data(), part.size()) != 1) std::abort();
  }
  std::string finish() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) != 1) std::abort();
    return base::crypto::to_base64({reinterpret_cast<const char*>(bytes.data()), size});
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace

std::unique_ptr<Checksum> Checksum::of_field(std::string_view name) {
  const std::string lower = boost::algorithm::to_lower_copy(std::string(name));
  if (lower == "x-amz-checksum-crc32") return std::make_unique<Crc32>();
  if (lower == "x-amz-checksum-crc32c") return std::make_unique<Crc32c>();
  if (lower == "x-amz-checksum-crc64nvme") return std::make_unique<Crc64Nvme>();
  if (lower == "x-amz-checksum-sha1") return std::make_unique<Digest>(EVP_sha1());
  if (lower == "x-amz-checksum-sha256") return std::make_unique<Digest>(EVP_sha256());
  return nullptr;
}

}  // namespace lake::gateway
