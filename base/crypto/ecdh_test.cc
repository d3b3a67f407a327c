#include "base/crypto/ecdh.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

std::string unhex(std::string_view text) { return from_hex(text, 256).value(); }

EphemeralKey key_of(Group group, std::string_view secret) {
  return std::move(EphemeralKey::from_private_bytes(group, unhex(secret)).value());
}

/// Gives the bytes it was told, then aborts the test.
class ToldRandom final : public Random {
 public:
  explicit ToldRandom(std::string bytes) : bytes_(std::move(bytes)) {}
  void fill(std::span<std::byte> out) override {
    ASSERT_GE(bytes_.size(), out.size());
    std::transform(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(out.size()),
                   out.begin(), [](char c) { return static_cast<std::byte>(c); });
    bytes_.erase(0, out.size());
  }

 private:
  std::string bytes_;
};

struct Agreement {
  std::string name;
  Group group;
  std::string secret_a, share_a, secret_b, share_b, agreed;
};

const std::vector<Agreement>& agreements() {
  static const std::vector<Agreement> all{
      {"RFC 7748, section 6.1", Group::kX25519,
       "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
       "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
       "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
       "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
       "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"},
      {"RFC 5903, section 8.1", Group::kP256,
       "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433",
       "04dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180"
       "5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3",
       "c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53",
       "04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63"
       "56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab",
       "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de"},
  };
  return all;
}

TEST(EcdhTest, gives_the_published_shares_and_secrets_from_both_sides) {
  for (const auto& v : agreements()) {
    auto a = key_of(v.group, v.secret_a);
    auto b = key_of(v.group, v.secret_b);
    EXPECT_EQ(to_hex(a.public_share()), v.share_a) << v.name;
    EXPECT_EQ(to_hex(b.public_share()), v.share_b) << v.name;
    EXPECT_EQ(to_hex(std::move(a).agree(unhex(v.share_b))->reveal()), v.agreed) << v.name;
    EXPECT_EQ(to_hex(std::move(b).agree(unhex(v.share_a))->reveal()), v.agreed) << v.name;
  }
}

TEST(EcdhTest, generated_keys_agree_and_differ) {
  SystemRandom random;
  for (Group group : {Group::kX25519, Group::kP256}) {
    auto a = EphemeralKey::generate(group, random);
    auto b = EphemeralKey::generate(group, random);
    std::string share_a = a.public_share();
    std::string share_b = b.public_share();
    EXPECT_NE(share_a, share_b);
    EXPECT_EQ(share_a.size(), group == Group::kX25519 ? 32U : 65U);
    auto secret_a = std::move(a).agree(share_b);
    auto secret_b = std::move(b).agree(share_a);
    ASSERT_TRUE(secret_a && secret_b);
    EXPECT_EQ(secret_a->reveal(), secret_b->reveal());
    EXPECT_EQ(secret_a->size(), 32U);
  }
}

TEST(EcdhTest, a_private_number_at_the_order_is_drawn_again) {
  std::string order = unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
  std::string good = unhex(agreements()[1].secret_a);
  ToldRandom random(order + std::string(32, '\0') + good);
  auto key = EphemeralKey::generate(Group::kP256, random);
  EXPECT_EQ(to_hex(key.public_share()), agreements()[1].share_a);
}

TEST(EcdhTest, private_bytes_have_a_length_and_a_range) {
  struct Case {
    std::string name;
    Group group;
    std::string bytes;
    bool valid;
  };
  std::string one = unhex(std::string(63, '0') + "1");
  for (const Case& c : {
           Case{"x25519 31 bytes", Group::kX25519, std::string(31, 'a'), false},
           Case{"x25519 33 bytes", Group::kX25519, std::string(33, 'a'), false},
           Case{"x25519 zero is clamped", Group::kX25519, std::string(32, '\0'), true},
           Case{"p256 empty", Group::kP256, "", false},
           Case{"p256 33 bytes", Group::kP256, '\0' + one, false},
           Case{"p256 zero", Group::kP256, std::string(32, '\0'), false},
           Case{"p256 one", Group::kP256, one, true},
           Case{"p256 order - 1", Group::kP256,
                unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"), true},
           Case{"p256 order", Group::kP256,
                unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"), false},
           Case{"p256 all ones", Group::kP256, std::string(32, '\xff'), false},
       }) {
    auto key = EphemeralKey::from_private_bytes(c.group, c.bytes);
    EXPECT_EQ(key.has_value(), c.valid) << c.name;
    if (!key) EXPECT_EQ(key.error().kind(), ErrorKind::kInvalid) << c.name;
  }
}

struct BadShare {
  std::string name;
  Group group;
  std::string share;
};

// Points of small order of Curve25519 and of its twist, in every encoding that
// is below 2^255, and with the high bit that is to be ignored.
std::vector<BadShare> small_order_shares() {
  std::vector<BadShare> out;
  for (const std::string& hex : {
           std::string(64, '0'),
           "01" + std::string(62, '0'),
           std::string("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
           std::string("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
           "ec" + std::string(60, 'f') + "7f",
           "ed" + std::string(60, 'f') + "7f",
           "ee" + std::string(60, 'f') + "7f",
       }) {
    std::string share = unhex(hex);
    out.push_back({"small order " + hex, Group::kX25519, share});
    share.back() = static_cast<char>(share.back() | '\x80');
    out.push_back({"small order, high bit, " + hex, Group::kX25519, share});
  }
  return out;
}

std::vector<BadShare> malformed_shares() {
  std::string x = agreements()[0].share_b;
  std::string p = agreements()[1].share_b;
  std::string field = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
  auto p256 = [](std::string name, std::string_view hex) {
    return BadShare{"p256 " + std::move(name), Group::kP256, unhex(hex)};
  };
  return {
      {"x25519 empty", Group::kX25519, ""},
      {"x25519 31 bytes", Group::kX25519, unhex(x.substr(2))},
      {"x25519 33 bytes", Group::kX25519, unhex(x + "00")},
      {"x25519 given a p256 share", Group::kX25519, unhex(p)},
      {"p256 empty", Group::kP256, ""},
      p256("given an x25519 share", x),
      p256("point at infinity, one byte", "00"),
      p256("point at infinity, padded", std::string(130, '0')),
      p256("compressed", "02" + p.substr(2, 64)),
      p256("compressed, padded", "02" + p.substr(2)),
      p256("hybrid", "06" + p.substr(2)),
      p256("hybrid, other sign", "07" + p.substr(2)),
      p256("64 bytes", p.substr(0, 128)),
      p256("66 bytes", p + "00"),
      p256("off the curve, y + 1", p.substr(0, 128) + "ac"),
      p256("off the curve, x changed", "05" + p.substr(2)),
      p256("origin", "04" + std::string(128, '0')),
      p256("origin off by one", "04" + std::string(127, '0') + "1"),
      p256("x is the field's prime", "04" + field + p.substr(66)),
      p256("all ones", "04" + std::string(128, 'f')),
      // On y^2 = x^3 - 3x + b' for another b': the invalid-curve attack.
      p256("a point of another curve",
           "04" + std::string(63, '0') + "1" + std::string(63, '0') + "1"),
  };
}

TEST(EcdhTest, refuses_every_share_that_is_no_good_point) {
  auto cases = small_order_shares();
  for (auto& c : malformed_shares()) cases.push_back(std::move(c));
  for (const auto& c : cases) {
    auto key = key_of(c.group, agreements()[c.group == Group::kX25519 ? 0 : 1].secret_a);
    auto secret = std::move(key).agree(c.share);
    ASSERT_FALSE(secret) << c.name;
    EXPECT_EQ(secret.error().kind(), ErrorKind::kInvalid) << c.name;
  }
}

TEST(EcdhTest, the_high_bit_of_an_x25519_share_is_ignored) {
  const auto& v = agreements()[0];
  std::string share = unhex(v.share_b);
  share.back() = static_cast<char>(share.back() | '\x80');
  EXPECT_EQ(to_hex(key_of(v.group, v.secret_a).agree(share)->reveal()), v.agreed);
}

}  // namespace
}  // namespace base::crypto
