#include "base/crypto/hkdf.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace base::crypto {
namespace {

std::string counting(int from, int to) {
  std::string out;
  for (int i = from; i <= to; ++i) out += static_cast<char>(i);
  return out;
}

TEST(HkdfTest, gives_the_keys_of_RFC_5869_appendix_A) {
  struct Case {
    std::string name, material, salt, info, prk, okm;
  };
  for (const Case& c : {
           Case{"A.1", std::string(22, '\x0b'), counting(0, 12), counting(0xf0, 0xf9),
                "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
                "34007208d5b887185865"},
           Case{"A.2", counting(0, 0x4f), counting(0x60, 0xaf), counting(0xb0, 0xff),
                "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
                "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
                "cc30c58179ec3e87c14c01d5c1f3434f1d87"},
           Case{"A.3", std::string(22, '\x0b'), "", "",
                "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
                "9d201395faa4b61a96c8"},
       }) {
    SecretBytes prk = hkdf_extract(c.salt, c.material);
    EXPECT_EQ(to_hex(prk.reveal()), c.prk) << c.name;
    EXPECT_EQ(to_hex(hkdf_expand(prk.reveal(), c.info, c.okm.size() / 2).reveal()), c.okm)
        << c.name;
  }
}

TEST(HkdfTest, a_longer_output_begins_with_the_shorter_and_labels_differ) {
  std::string whole(hkdf_expand("key", "label", 8160).reveal());
  ASSERT_EQ(whole.size(), 8160U);
  for (std::size_t length : {1U, 31U, 32U, 33U, 64U, 65U}) {
    EXPECT_EQ(hkdf_expand("key", "label", length).reveal(), whole.substr(0, length));
  }
  EXPECT_NE(hkdf_expand("key", "label 2", 32).reveal(), whole.substr(0, 32));
  EXPECT_NE(hkdf_expand("key 2", "label", 32).reveal(), whole.substr(0, 32));
}

TEST(HkdfDeathTest, lengths_that_cannot_be_abort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)hkdf_expand("key", "label", 0), "");
  EXPECT_DEATH((void)hkdf_expand("key", "label", 8161), "");
}

}  // namespace
}  // namespace base::crypto
