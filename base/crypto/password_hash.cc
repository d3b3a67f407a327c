#include "base/crypto/password_hash.h"

#include <argon2.h>
#include <crypt.h>

#include <array>
#include <charconv>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "base/crypto/digest.h"

namespace base::crypto {
namespace {

constexpr std::size_t kBcryptLength = 60;
constexpr std::size_t kBcryptMostBytes = 72;
constexpr unsigned kMaxBcryptCost = 15;
constexpr unsigned kMaxMemoryKiB = 256 * 1024;
constexpr unsigned kMaxPasses = 16;
constexpr std::string_view kArgon = "$argon2id$v=19$m=";

bool is_bcrypt_form(std::string_view text) {
  return text.starts_with("$2a$") || text.starts_with("$2b$") || text.starts_with("$2y$");
}

// Takes "65536,t=" off the front, with what follows the number.
std::optional<unsigned> take_number(std::string_view& text, std::string_view after) {
  unsigned number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(after)) return std::nullopt;
  text.remove_prefix(after.size());
  return number;
}

bool is_bcrypt(std::string_view hash) {
  if (hash.size() != kBcryptLength) return false;
  hash.remove_prefix(4);
  auto cost = take_number(hash, "$");
  return cost && *cost >= 4 && *cost <= kMaxBcryptCost;
}

bool is_argon2(std::string_view hash) {
  if (!hash.starts_with(kArgon) || hash.size() > 512) return false;
  hash.remove_prefix(kArgon.size());
  auto memory = take_number(hash, ",t=");
  auto passes = take_number(hash, ",p=");
  auto lanes = take_number(hash, "$");
  if (!memory || *memory > kMaxMemoryKiB || !passes || *passes > kMaxPasses) return false;
  const std::size_t salt = hash.find('$');
  return lanes && *lanes >= 1 && *lanes <= 64 && salt != std::string_view::npos && salt > 0 &&
         salt + 1 < hash.size();
}

bool matches_bcrypt(const std::string& hash, const std::string& password) {
  if (password.size() > kBcryptMostBytes) return false;
  auto work = std::make_unique<crypt_data>();
  const char* made = crypt_r(password.c_str(), hash.c_str(), work.get());
  return made != nullptr && equal(made, hash);
}

}  // namespace

PasswordForm password_form(std::string_view stored) {
  if (!stored.starts_with('$')) return PasswordForm::kPlain;
  const bool known = is_bcrypt_form(stored) ? is_bcrypt(stored) : is_argon2(stored);
  return known ? PasswordForm::kHash : PasswordForm::kUnknown;
}

std::string hash_password(std::string_view password, Random& random) {
  constexpr std::uint32_t kMemoryKiB = 19'456;
  constexpr std::uint32_t kPasses = 2;
  constexpr std::size_t kHashBytes = 32;
  std::array<std::byte, 16> salt{};
  random.fill(salt);
  std::array<char, 256> text{};
  const int made =
      argon2id_hash_encoded(kPasses, kMemoryKiB, 1, password.data(), password.size(), salt.data(),
                            salt.size(), kHashBytes, text.data(), text.size());
  if (made != ARGON2_OK) throw std::bad_alloc();  // It fails for want of memory alone.
  return text.data();
}

bool matches_hash(std::string_view hash, std::string_view password) {
  if (password.contains('\0')) return false;
  const std::string stored(hash);
  if (is_bcrypt_form(hash)) return matches_bcrypt(stored, std::string(password));
  return argon2id_verify(stored.c_str(), password.data(), password.size()) == ARGON2_OK;
}

}  // namespace base::crypto
