#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {
namespace {

namespace asio = boost::asio;

// What app/ makes: the catalog lives inside of what owns it.
struct Owner {
  explicit Owner(bool* gone) : gone(gone) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { *gone = true; }
  bool* gone;
  Catalog catalog;
};

struct Seen {
  bool gone_at_the_end = false;
  bool ended = false;
};

base::Task<void> use_later(Catalog* catalog, const bool* gone, std::shared_ptr<Seen> seen) {
  // Whoever held the catalog when this began lets go of it meanwhile.
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  seen->gone_at_the_end = *gone;
  if (!*gone) catalog->public_url = "used";
  seen->ended = true;
}

class CatalogTasksTest : public ::testing::Test {
 protected:
  asio::io_context loop_;
  base::TaskGroup group_{loop_.get_executor()};
  bool gone_ = false;

  std::shared_ptr<Catalog> make() {
    auto owner = std::make_shared<Owner>(&gone_);
    std::shared_ptr<Catalog> catalog(owner, &owner->catalog);
    catalog->background.bind(group_, catalog);
    return catalog;
  }
};

TEST_F(CatalogTasksTest, work_behind_an_answer_holds_its_catalog_to_the_end) {
  auto seen = std::make_shared<Seen>();
  auto catalog = make();
  catalog->background.spawn(use_later, &gone_, seen);
  catalog.reset();
  EXPECT_FALSE(gone_);
  loop_.run();
  EXPECT_TRUE(seen->ended);
  EXPECT_FALSE(seen->gone_at_the_end);
  EXPECT_TRUE(gone_) << "and no longer";
}

TEST_F(CatalogTasksTest, a_catalog_without_work_goes_with_its_last_holder) {
  make();
  EXPECT_TRUE(gone_);
}

TEST_F(CatalogTasksTest, work_for_a_catalog_that_nobody_holds_is_a_defect) {
  Catalog unowned;
  EXPECT_DEATH(unowned.background.spawn(use_later, &gone_, std::make_shared<Seen>()), "");
}

}  // namespace
}  // namespace lake::operation
