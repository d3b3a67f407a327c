#include "base/http/accept_encoding.h"

#include <gtest/gtest.h>

namespace base::http {
namespace {

struct Case {
  std::vector<const char*> fields;
  bool gzip;
  bool identity;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    Headers headers;
    std::string shown;
    for (const char* field : c.fields) {
      headers.add("accept-encoding", field);
      shown.append("[").append(field).append("]");
    }
    const AcceptedCodings accepted = accepted_codings(headers);
    EXPECT_EQ(accepted.gzip, c.gzip) << shown;
    EXPECT_EQ(accepted.identity, c.identity) << shown;
  }
}

TEST(AcceptEncoding, names_and_wildcards) {
  check({{{}, false, true},
         {{""}, false, true},
         {{" , ,"}, false, true},
         {{"gzip"}, true, true},
         {{"GZip"}, true, true},
         {{"x-gzip"}, true, true},
         {{"gzip, deflate"}, true, true},
         {{"deflate, gzip, br, zstd"}, true, true},
         {{"deflate,\tgzip"}, true, true},
         {{"deflate", "gzip"}, true, true},
         {{"gzip, x-gzip, deflate"}, true, true},
         {{"br, deflate"}, false, true},
         {{"identity"}, false, true},
         {{"gzipped"}, false, true},
         {{"gzi"}, false, true},
         {{"notgzip"}, false, true},
         {{"*"}, true, true}});
}

TEST(AcceptEncoding, weights_choose_and_refuse) {
  check({{{"gzip;q=0"}, false, true},
         {{"gzip;q=0.000"}, false, true},
         {{"gzip;q=0.001"}, true, true},
         {{"gzip ; Q=1.000"}, true, true},
         {{"gzip;q=0.5, identity"}, false, true},
         {{"gzip;q=0.5, identity;q=0.5"}, true, true},
         {{"gzip;q=0.5, identity;q=0.4"}, true, true},
         {{"gzip, identity;q=0"}, true, false},
         {{"gzip;q=0.1, identity;q=0"}, true, false},
         {{"identity;q=0"}, false, false},
         {{"*;q=0"}, false, false},
         {{"gzip, *;q=0"}, true, false},
         {{"gzip;q=0, *"}, false, true},
         {{"gzip;q=0, *;q=0"}, false, false},
         {{"identity, *;q=0"}, false, true},
         {{"identity;q=0, *"}, true, false},
         {{"*;q=0.5, gzip;q=0.2"}, false, true},
         {{"gzip, gzip;q=0"}, false, true},
         {{"gzip;q=0", "gzip"}, false, true}});
}

TEST(AcceptEncoding, what_breaks_the_grammar_counts_as_absent) {
  for (const char* member :
       {"gzip;", "gzip;q", "gzip;q=", "gzip;q=2", "gzip;q=1.001", "gzip;q=-1", "gzip;q=0.0001",
        "gzip;q=.5", "gzip;q= 1", "gzip;q=1;x=2", "gzip;level=9", "gzip;q=0x1", "gzip;q=1e3",
        "gzip deflate", "\"gzip\"", "gzip=1"}) {
    check({{{member}, false, true}});
    check({{{member, "gzip;q=0.3"}, true, true}});
  }
}

}  // namespace
}  // namespace base::http
