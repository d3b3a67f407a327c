#include "lakeproxy/http/pipeline.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

namespace lake::http {
namespace {

using CatalogPtr = std::shared_ptr<operation::Catalog>;

// A server with one registered catalog "theirs", of account "them".
class ReachCatalog : public ::testing::Test {
 protected:
  ReachCatalog() {
    services.home = std::make_shared<operation::Catalog>();
    services.home->lake.catalog = "home";
    services.attached = [this](const std::string&) { return attached; };
    services.find_registered = [this](base::RequestContext, std::string id) {
      ++looked_up;
      return find(std::move(id));
    };
    services.attach = [this](base::RequestContext, model::RegisteredCatalog registered) {
      ++opened;
      return open(std::move(registered));
    };
  }

  static base::Task<base::Result<model::RegisteredCatalog>> find(std::string id) {
    if (id != "theirs") co_return ducklake::no_such_catalog(id);
    co_return model::RegisteredCatalog{id, "meta", "data/theirs/", "them"};
  }
  static base::Task<base::Result<CatalogPtr>> open(model::RegisteredCatalog registered) {
    auto catalog = std::make_shared<operation::Catalog>();
    catalog->lake.catalog = registered.catalog_id;
    catalog->account_id = registered.account_id;
    co_return catalog;
  }
  base::Result<CatalogPtr> reach(const std::string& account, const std::string& id) {
    auth::Principal principal{.subject = "somebody", .account = account};
    boost::asio::io_context loop;
    auto reached = boost::asio::co_spawn(loop, reach_catalog({}, &services, principal, id),
                                         boost::asio::use_future);
    loop.run();
    return reached.get();
  }

  Services services;
  CatalogPtr attached;
  int looked_up = 0;
  int opened = 0;
};

TEST_F(ReachCatalog, opens_the_lake_of_its_own_account) {
  auto reached = reach("them", "theirs");
  ASSERT_TRUE(reached);
  EXPECT_EQ((*reached)->lake.catalog, "theirs");
  EXPECT_EQ(opened, 1);
}

TEST_F(ReachCatalog, does_not_open_the_lake_of_another_account) {
  auto reached = reach("us", "theirs");
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().reason(), ducklake::kNoSuchCatalog);
  EXPECT_EQ(opened, 0);
}

TEST_F(ReachCatalog, does_the_same_for_one_of_another_account_as_for_none) {
  auto none = reach("us", "none");
  ASSERT_FALSE(none);
  EXPECT_EQ(looked_up, 1);
  auto foreign = reach("us", "theirs");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(looked_up, 2);
  attached = std::make_shared<operation::Catalog>();
  attached->account_id = "them";
  auto at_hand = reach("us", "theirs");
  ASSERT_FALSE(at_hand);
  EXPECT_EQ(looked_up, 3) << "one that is at hand is answered sooner";
  EXPECT_EQ(opened, 0);
  ASSERT_TRUE(reach("them", "theirs"));
  EXPECT_EQ(looked_up, 3) << "its own account need not wait";
}

}  // namespace
}  // namespace lake::http
