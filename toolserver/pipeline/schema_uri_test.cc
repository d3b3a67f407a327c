#include "toolserver/pipeline/schema_uri.h"

#include <gtest/gtest.h>

#include <utility>

namespace tool::pipeline {
namespace {

// The examples of RFC 3986, sections 5.4.1 and 5.4.2; a fragment is left out.
TEST(SchemaUriTest, resolves_the_examples_of_the_rfc) {
  for (const auto& [reference, uri] : std::initializer_list<std::pair<const char*, const char*>>{
           {"g:h", "g:h"},
           {"g", "http://a/b/c/g"},
           {"./g", "http://a/b/c/g"},
           {"g/", "http://a/b/c/g/"},
           {"/g", "http://a/g"},
           {"//g", "http://g"},
           {"?y", "http://a/b/c/d;p?y"},
           {"g?y", "http://a/b/c/g?y"},
           {"#s", "http://a/b/c/d;p?q"},
           {"g#s", "http://a/b/c/g"},
           {"g?y#s", "http://a/b/c/g?y"},
           {";x", "http://a/b/c/;x"},
           {"g;x", "http://a/b/c/g;x"},
           {"g;x?y#s", "http://a/b/c/g;x?y"},
           {"", "http://a/b/c/d;p?q"},
           {".", "http://a/b/c/"},
           {"./", "http://a/b/c/"},
           {"..", "http://a/b/"},
           {"../", "http://a/b/"},
           {"../g", "http://a/b/g"},
           {"../..", "http://a/"},
           {"../../", "http://a/"},
           {"../../g", "http://a/g"},
           {"../../../g", "http://a/g"},
           {"../../../../g", "http://a/g"},
           {"/./g", "http://a/g"},
           {"/../g", "http://a/g"},
           {"g.", "http://a/b/c/g."},
           {".g", "http://a/b/c/.g"},
           {"g..", "http://a/b/c/g.."},
           {"..g", "http://a/b/c/..g"},
           {"./../g", "http://a/b/g"},
           {"./g/.", "http://a/b/c/g/"},
           {"g/./h", "http://a/b/c/g/h"},
           {"g/../h", "http://a/b/c/h"},
           {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
           {"g;x=1/../y", "http://a/b/c/y"},
           {"g?y/./x", "http://a/b/c/g?y/./x"},
           {"g?y/../x", "http://a/b/c/g?y/../x"},
           {"g#s/../x", "http://a/b/c/g"},
           {"http:g", "http:g"},
       }) {
    EXPECT_EQ(resolve_uri("http://a/b/c/d;p?q", reference), uri) << reference;
  }
}

TEST(SchemaUriTest, resolves_against_bases_of_every_shape) {
  struct Case {
    const char* base;
    const char* reference;
    const char* uri;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"https://a.example", "g", "https://a.example/g"},
           {"https://a.example?q", "", "https://a.example?q"},
           {"urn:example:a", "", "urn:example:a"},
           {"urn:example:a", "urn:example:b#c", "urn:example:b"},
           {"urn:example:a", "g", "urn:g"},
           {"schema:/", "g/h", "schema:/g/h"},
           {"schema:/", "/g", "schema:/g"},
           {"schema:/a/b", "../../c", "schema:/c"},
           {"https://a.example/b", "1:2", "https://a.example/1:2"},
           {"https://a.example/b", "x y", "https://a.example/x y"},
           {"https://a.example/b", ":", "https://a.example/:"},
       }) {
    EXPECT_EQ(resolve_uri(c.base, c.reference), c.uri) << c.base << " " << c.reference;
  }
}

}  // namespace
}  // namespace tool::pipeline
