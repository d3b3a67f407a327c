#include "base/crypto/digest.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

TEST(Sha256Test, gives_the_digests_of_FIPS_180_4) {
  struct Case {
    std::string data, digest;
  };
  for (const Case& c : {
           Case{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
           Case{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
           Case{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
           Case{std::string(1'000'000, 'a'),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
       }) {
    EXPECT_EQ(to_hex(view(sha256(c.data))), c.digest) << c.data.size();
  }
}

TEST(Sha256Test, parts_are_hashed_as_one_and_finish_starts_anew) {
  Sha256 hash;
  for (int round = 0; round < 3; ++round) {
    hash.update("a").update("").update("bc");
    EXPECT_EQ(hash.finish(), sha256("abc"));
  }
  EXPECT_EQ(hash.finish(), sha256(""));
  Sha256 moved = std::move(hash.update("ab"));
  EXPECT_EQ(moved.update("c").finish(), sha256("abc"));
}

struct MacCase {
  std::string name, key, data, mac;
};

std::string counting(int from, int to) {
  std::string out;
  for (int i = from; i <= to; ++i) out += static_cast<char>(i);
  return out;
}

const std::vector<MacCase>& mac_cases() {
  static const std::vector<MacCase> cases{
      {"4.2", std::string(20, '\x0b'), "Hi There",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"4.3", "Jefe", "what do ya want for nothing?",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {"4.4", std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {"4.5", counting(1, 25), std::string(50, '\xcd'),
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {"4.7", std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {"4.8", std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. "
       "The key needs to be hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  return cases;
}

TEST(HmacTest, gives_the_macs_of_RFC_4231) {
  for (const auto& c : mac_cases()) {
    EXPECT_EQ(to_hex(view(hmac_sha256(c.key, c.data))), c.mac) << c.name;
    HmacKey key(c.key);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(to_hex(view(key.mac(c.data))), c.mac) << c.name;
  }
}

TEST(HmacTest, a_key_of_64_bytes_is_used_and_one_of_65_is_hashed_first) {
  std::string long_key(65, 'k');
  EXPECT_EQ(hmac_sha256(long_key, "x"), hmac_sha256(view(sha256(long_key)), "x"));
  std::string block(64, 'k');
  EXPECT_NE(hmac_sha256(block, "x"), hmac_sha256(view(sha256(block)), "x"));
  EXPECT_EQ(hmac_sha256("", "x"), hmac_sha256(std::string(64, '\0'), "x"));
}

TEST(HmacTest, parts_are_taken_as_one) {
  HmacKey key("a key");
  EXPECT_EQ(key.mac({"ab", "", "c"}), key.mac("abc"));
  EXPECT_NE(key.mac({"ab", "c"}), key.mac("abd"));
}

TEST(HmacTest, verify_takes_the_whole_tag_of_this_data_and_key_only) {
  HmacKey key("a key");
  Digest digest = key.mac("data");
  std::string tag(view(digest));
  EXPECT_TRUE(key.verify("data", tag));
  EXPECT_FALSE(key.verify("datb", tag));
  EXPECT_FALSE(HmacKey("another key").verify("data", tag));
  EXPECT_FALSE(key.verify("data", tag.substr(0, 31)));
  EXPECT_FALSE(key.verify("data", tag + 'x'));
  EXPECT_FALSE(key.verify("data", ""));
  for (std::size_t i = 0; i < tag.size(); ++i) {
    std::string wrong = tag;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(key.verify("data", wrong)) << i;
  }
}

TEST(HmacTest, one_key_serves_many_threads) {
  HmacKey key("shared");
  Digest expected = key.mac("message");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) wrong += key.mac("message") != expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(EqualTest, compares_lengths_and_every_byte) {
  EXPECT_TRUE(equal("", ""));
  EXPECT_TRUE(equal("abc", "abc"));
  EXPECT_FALSE(equal("abc", "abd"));
  EXPECT_FALSE(equal("abc", "bbc"));
  EXPECT_FALSE(equal("abc", "ab"));
  EXPECT_FALSE(equal("", "a"));
}

}  // namespace
}  // namespace base::crypto
