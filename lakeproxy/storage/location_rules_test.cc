#include "lakeproxy/storage/location_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace lake::storage {
namespace {

using base::ErrorKind;

Location at(std::string_view url) {
  auto location = Location::parse(url);
  if (!location) {
    ADD_FAILURE() << url << ": " << location.error().message();
    return *Location::parse("s3://broken");
  }
  return std::move(*location);
}

TEST(ObjectKeyTest, takes_names_that_only_look_odd) {
  for (std::string text : {"a", "a/b.parquet", "k=v/x", "a b", "a+b", "a%20b", "a%2F..%2Fb",
                           "~*(')!", "\xc3\xa4/\xe6\x97\xa5", "...", "..a/b", "a/.b", "a?b#c",
                           "a\\b", "a:b", "\xf0\x9f\x8c\x8a", "<&>\"'"}) {
    auto key = ObjectKey::parse(text);
    ASSERT_TRUE(key) << text;
    EXPECT_EQ(key->text(), text);
  }
  EXPECT_TRUE(ObjectKey::parse(std::string(1024, 'a')));
}

TEST(ObjectKeyTest, refuses_names_that_servers_read_differently) {
  using namespace std::string_literals;
  for (const std::string& text : {""s,
                                  "/"s,
                                  "/a"s,
                                  "a/"s,
                                  "a//b"s,
                                  "."s,
                                  ".."s,
                                  "./a"s,
                                  "../a"s,
                                  "a/."s,
                                  "a/.."s,
                                  "a/./b"s,
                                  "a/../b"s,
                                  "a\0b"s,
                                  "a\nb"s,
                                  "a\rb"s,
                                  "a\tb"s,
                                  "a\x1f"s,
                                  "a\x7f"s,
                                  "\xff"s,
                                  "\xc3"s,
                                  "\xc0\xaf"s,
                                  "\xed\xa0\x80"s,
                                  "a\xef\xbf\xbe"s,
                                  "a\xef\xbf\xbf"s,
                                  std::string(1025, 'a')}) {
    auto key = ObjectKey::parse(text);
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().kind(), ErrorKind::kInvalid) << text;
  }
}

TEST(LocationTest, parses_bucket_and_path) {
  struct Case {
    const char* url;
    const char* bucket;
    const char* path;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{{"s3://lake/a/b", "lake", "a/b", "s3://lake/a/b"},
                                         {"s3a://lake/a", "lake", "a", "s3://lake/a"},
                                         {"s3n://lake/a", "lake", "a", "s3://lake/a"},
                                         {"s3://lake", "lake", "", "s3://lake/"},
                                         {"s3://lake/", "lake", "", "s3://lake/"},
                                         {"s3://lake/a/", "lake", "a/", "s3://lake/a/"},
                                         {"s3://lake/a%2Fb", "lake", "a%2Fb", "s3://lake/a%2Fb"}}) {
    Location location = at(c.url);
    EXPECT_EQ(location.bucket(), c.bucket) << c.url;
    EXPECT_EQ(location.path(), c.path) << c.url;
    EXPECT_EQ(location.text(), c.text) << c.url;
  }
}

TEST(LocationTest, refuses_anything_else) {
  for (std::string url : {"",
                          "lake/a",
                          "/lake/a",
                          "file:///a",
                          "http://lake/a",
                          "S3://lake/a",
                          "s3:/lake/a",
                          "s3:lake",
                          "s3://",
                          "s3:///a",
                          "s3://lake//a",
                          "s3://lake/a//b",
                          "s3://lake/a//",
                          "s3://lake//",
                          "s3://lake/../a",
                          "s3://lake/a/..",
                          "s3://lake/a/../",
                          "s3://lake/.",
                          "s3://lake/a/./b",
                          "s3://lake/a?versionId=1",
                          "s3://lake/a#b",
                          "s3://user@lake/a",
                          "s3://lake:9000/a",
                          "s3://Lake/a",
                          "s3://la/a",
                          "s3://-lake/a",
                          "s3://lake-/a",
                          "s3://la..ke/a",
                          "s3://1.2.3.4/a",
                          "s3://la_ke/a",
                          "s3://lake\\a/b",
                          " s3://lake/a"}) {
    auto location = Location::parse(url);
    ASSERT_FALSE(location) << url;
    EXPECT_EQ(location.error().kind(), ErrorKind::kInvalid) << url;
  }
  EXPECT_TRUE(Location::parse("s3://" + std::string(63, 'a')));
  EXPECT_FALSE(Location::parse("s3://" + std::string(64, 'a')));
}

// Only the scheme has several spellings. All else is part of a name, and two names that a
// reader might take for one are two objects.
TEST(CanonicalTest, changes_the_scheme_and_nothing_else) {
  struct Case {
    const char* location;
    const char* canonical;
  };
  for (const Case& c : std::vector<Case>{
           {"s3://lake/a/b", "s3://lake/a/b"},
           {"s3a://lake/a/b", "s3://lake/a/b"},
           {"s3n://lake/a/b", "s3://lake/a/b"},
           {"s3a://lake", "s3://lake"},
           {"s3a://lake/", "s3://lake/"},
           {"s3n://", "s3://"},
           // A port and a user are none to S3: they would be a part of the bucket's name.
           {"s3a://lake:9000/a", "s3://lake:9000/a"},
           {"s3n://key:secret@lake/a", "s3://key:secret@lake/a"},
           {"s3a://lake/./a/../b", "s3://lake/./a/../b"},
           {"s3a://lake/a.", "s3://lake/a."},
           {"s3a://lake/a%2Fb%20c%", "s3://lake/a%2Fb%20c%"},
           {"s3a://lake/%73", "s3://lake/%73"},
           {"s3a://lake//a///b//", "s3://lake//a///b//"},
           {"s3a:///lake/a", "s3:///lake/a"},
           {"s3a://Lake/A", "s3://Lake/A"},
           {"s3a://lake/a?b#c", "s3://lake/a?b#c"},
           {"s3a://lake/a\nb", "s3://lake/a\nb"},
           {"s3a://lake/\xc3\xa4", "s3://lake/\xc3\xa4"},
           // Once is enough, and it is at the beginning.
           {"s3a://s3a://lake/a", "s3://s3a://lake/a"},
           {"s3://s3n://lake/a", "s3://s3n://lake/a"},
           {"s3://lake/s3a://lake/a", "s3://lake/s3a://lake/a"}}) {
    EXPECT_EQ(canonical(c.location), c.canonical) << c.location;
    EXPECT_EQ(canonical(c.canonical), c.canonical) << "canonical already: " << c.canonical;
  }
}

TEST(CanonicalTest, leaves_what_is_no_location_of_the_store_as_it_is) {
  for (const char* location :
       {"", "a/b", "/s3a://lake/a", " s3a://lake/a", "S3A://lake/a", "S3://lake/a", "s3a:/lake/a",
        "s3a:lake", "s3a", "s3b://lake/a", "s3an://lake/a", "s3aa://lake/a", "xs3a://lake/a",
        "x\ns3a://lake/a", "file:///a", "gs://lake/a", "https://lake.s3.amazonaws.com/a"}) {
    EXPECT_EQ(canonical(location), location);
  }
}

TEST(CanonicalTest, is_how_a_parsed_location_is_written) {
  for (const char* location : {"s3://lake/a/b", "s3a://lake/a%2Fb", "s3n://lake/a/"}) {
    EXPECT_EQ(canonical(location), at(location).text());
  }
}

TEST(LocationTest, only_an_object_has_a_key) {
  EXPECT_EQ(at("s3://lake/a/b").key()->text(), "a/b");
  EXPECT_FALSE(at("s3://lake/a/").key());
  EXPECT_FALSE(at("s3://lake").key());
}

TEST(JoinTest, puts_a_path_below_a_folder) {
  for (const char* folder : {"s3://lake/a", "s3://lake/a/"}) {
    auto joined = join(at(folder), "b/c.parquet");
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->text(), "s3://lake/a/b/c.parquet");
    EXPECT_TRUE(is_under(*joined, at(folder)));
  }
  EXPECT_EQ(join(at("s3://lake"), "b/")->text(), "s3://lake/b/");
}

TEST(JoinTest, refuses_a_path_that_leaves_the_folder_or_grows_too_long) {
  for (std::string relative :
       {"", "/", "/b", "../b", "b/../../c", "b//c", ".", "..", "b\n", "b?c"}) {
    EXPECT_FALSE(join(at("s3://lake/a"), relative)) << relative;
  }
  EXPECT_TRUE(join(at("s3://lake/a"), std::string(1022, 'b')));
  EXPECT_FALSE(join(at("s3://lake/a"), std::string(1023, 'b')));
}

TEST(IsUnderTest, counts_whole_segments) {
  struct Case {
    const char* place;
    const char* folder;
    bool under;
  };
  for (const Case& c : std::vector<Case>{{"s3://lake/a/b", "s3://lake/a", true},
                                         {"s3://lake/a/b", "s3://lake/a/", true},
                                         {"s3a://lake/a/b", "s3n://lake/a", true},
                                         {"s3://lake/a/b/", "s3://lake/a", true},
                                         {"s3://lake/a/b/c", "s3://lake/a", true},
                                         {"s3://lake/a", "s3://lake", true},
                                         {"s3://lake/a", "s3://lake/", true},
                                         {"s3://lake/ab", "s3://lake/a", false},
                                         {"s3://lake/a", "s3://lake/a", false},
                                         {"s3://lake/a/", "s3://lake/a", false},
                                         {"s3://lake/a", "s3://lake/a/", false},
                                         {"s3://lake", "s3://lake", false},
                                         {"s3://lake/a", "s3://lake/a/b", false},
                                         {"s3://lake2/a/b", "s3://lake/a", false},
                                         {"s3://lake/A/b", "s3://lake/a", false},
                                         {"s3://lake/a%2Fb", "s3://lake/a", false},
                                         {"s3://lake/a\\b", "s3://lake/a", false}}) {
    EXPECT_EQ(is_under(at(c.place), at(c.folder)), c.under) << c.place << " in " << c.folder;
  }
}

TEST(KeyInTest, gives_the_object_of_a_place_in_the_bucket) {
  struct {
    const char* location;
    ErrorKind kind;
  } bad[] = {{"s3://other/a/b", ErrorKind::kForbidden},
             {"s3://lake/a/", ErrorKind::kInvalid},
             {"a/b", ErrorKind::kInvalid}};
  auto key = key_in("lake", "s3://lake/a/b");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->text(), "a/b");
  for (const auto& c : bad) {
    auto none = key_in("lake", c.location);
    ASSERT_FALSE(none) << c.location;
    EXPECT_EQ(none.error().kind(), c.kind) << c.location;
  }
}

}  // namespace
}  // namespace lake::storage
