#include "base/runtime/gather.h"
#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/registry/catalog_registry.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::RegisteredCatalog;

class Registry : public LakeFixture {
 protected:
  void SetUp() override { open(); }

  std::optional<base::Error> added(RegisteredCatalog catalog) {
    auto result = run(registry_.add(soon(), std::move(catalog)));
    return result ? std::nullopt : std::optional(result.error());
  }

  CatalogRegistry registry_{*pool_, options_, "s3://lake/"};
};

TEST_F(Registry, makes_a_lake_of_its_own_for_each_catalog) {
  RegisteredCatalog catalog{"one", "one_meta", "tenants/one/", "acme"};
  EXPECT_EQ(added(catalog), std::nullopt);
  auto found = run(registry_.find(soon(), "one"));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, catalog);
  EXPECT_EQ(text("SELECT value FROM one_meta.ducklake_metadata WHERE key = 'data_path'"),
            "s3://lake/tenants/one/");
  EXPECT_EQ(registry_.options_of(catalog).metadata_schema, "one_meta");
}

TEST_F(Registry, knows_no_other_catalog) {
  auto found = run(registry_.find(soon(), "nobody"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(found.error().reason(), kNoSuchCatalog);
}

TEST_F(Registry, lists_catalogs_by_pages) {
  auto ids = [&](PageRequest page) {
    auto listed = run(registry_.list(soon(), std::move(page)));
    EXPECT_TRUE(listed);
    std::string text;
    for (const RegisteredCatalog& one : listed->items) text += one.catalog_id + " ";
    return text + "| " + listed->next.value_or("");
  };
  EXPECT_EQ(ids({}), "| ");
  for (const char* id : {"two", "one", "three"}) {
    ASSERT_EQ(added({id, std::string(id) + "_m", std::string(id) + "/", {}}), std::nullopt);
  }
  EXPECT_EQ(ids({.size = 2, .after = ""}), "one three | three");
  EXPECT_EQ(ids({.size = 2, .after = "three"}), "two | ");
  EXPECT_EQ(ids({.size = 3, .after = ""}), "one three two | ");
}

struct Clash {
  RegisteredCatalog catalog;
  const char* member;  ///< Empty: no clash.
};

TEST_F(Registry, names_what_is_taken) {
  ASSERT_EQ(added({"one", "one_meta", "tenants/one/", {}}), std::nullopt);
  const Clash clashes[] = {
      {{"one", "x", "x/", {}}, "catalog_id"},
      {{"lake", "x", "x/", {}}, "catalog_id"},
      {{"x", "one_meta", "x/", {}}, "metadata_schema"},
      {{"x", "lk", "x/", {}}, "metadata_schema"},
      {{"x", "x", "tenants/one/", {}}, "data_prefix"},
      {{"x", "x", "tenants/", {}}, "data_prefix"},
      {{"x", "x", "tenants/one/deep/", {}}, "data_prefix"},
      {{"x", "x", "data/x/", {}}, "data_prefix"},
      {{"two", "two_meta", "tenants/one2/", {}}, ""},
  };
  for (const Clash& clash : clashes) {
    SCOPED_TRACE(clash.catalog.catalog_id + " " + clash.catalog.data_prefix);
    auto error = added(clash.catalog);
    EXPECT_EQ(error.has_value(), *clash.member != '\0');
    if (!error) continue;
    EXPECT_EQ(error->kind(), ErrorKind::kAlreadyExists);
    EXPECT_TRUE(error->message().starts_with(clash.member)) << error->message();
  }
}

TEST_F(Registry, lets_one_of_several_at_once_have_it) {
  std::vector<std::unique_ptr<base::pg::Pool>> pools;
  std::vector<std::unique_ptr<CatalogRegistry>> registries;
  std::vector<base::Task<base::Result<void>>> tasks;
  for (int i = 0; i < 4; ++i) {
    pools.push_back(make_pool());
    registries.push_back(std::make_unique<CatalogRegistry>(*pools.back(), options_, "s3://lake/"));
    std::string name = "c" + std::to_string(i);
    tasks.push_back(registries.back()->add(soon(), {name, name, "same/", {}}));
  }
  int made = 0;
  for (auto& result : run(base::gather(std::move(tasks)))) {
    if (result) {
      ++made;
    } else {
      EXPECT_EQ(result.error().kind(), ErrorKind::kAlreadyExists);
    }
  }
  EXPECT_EQ(made, 1);
}

TEST_F(Registry, registers_nothing_when_the_lake_cannot_be_made) {
  LakeOptions other{.catalog = "x", .metadata_schema = "held", .data_path = "s3://lake/else/"};
  ASSERT_TRUE(run(open_lake(soon(), *pool_, other)));
  auto error = added({"two", "held", "two/", {}});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kConflict);
  EXPECT_FALSE(run(registry_.find(soon(), "two")));
}

}  // namespace
}  // namespace lake::ducklake
