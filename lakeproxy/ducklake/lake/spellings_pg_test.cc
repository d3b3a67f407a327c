#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/storage/location_rules.h"

namespace lake::ducklake {
namespace {

class Spellings : public LakeFixture {};

// Objects are compared in both: where they differed, one would remove what the other needs.
TEST_F(Spellings, sql_and_cpp_agree_on_the_canonical_spelling) {
  open();
  for (const char* scheme :
       {"s3://", "s3a://", "s3n://", "s3b://", "s3an://", "S3A://", "s3a:/", "s3a:", "s3", "", "/",
        " s3a://", "x\ns3n://", "s3a://s3n://", "file://", "https://"}) {
    for (const char* rest : {"", "/", "lake", "lake/a/b", "lake:9000/a", "u:p@lake/a", "lake/./..",
                             "lake/a.", "lake/a%2Fb%", "lake//a//", "/lake", "lake/s3a://a",
                             "lake/a\nb", "lake/\xc3\xa4", "Lake/\\1 \\& $1"}) {
      const std::string location = std::string(scheme) + rest;
      auto rows = run(pool_->query(
          soon(), {{"SELECT lk.lakeproxy_canonical($1)"}, {base::pg::param(location)}}));
      ASSERT_TRUE(rows) << rows.error().detail();
      EXPECT_EQ((*rows)->text(0, 0), storage::canonical(location)) << location;
    }
  }
}

}  // namespace
}  // namespace lake::ducklake
