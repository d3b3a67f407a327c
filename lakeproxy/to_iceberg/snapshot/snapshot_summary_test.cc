#include "lakeproxy/to_iceberg/snapshot/snapshot_summary.h"

#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using model::Operation;
using Summary = std::map<std::string, std::string>;

TEST(SnapshotSummary, names_the_operation) {
  const FileView data = plain_view("f");
  const FileView deletes = delete_view("d", "f");
  struct Case {
    const char* name;
    bool adds, deletes, removes, rewrites;
    Operation operation;
  } cases[] = {
      {"append", true, false, false, false, Operation::kAppend},
      {"nothing", false, false, false, false, Operation::kAppend},
      {"delete_rows", false, true, false, false, Operation::kDelete},
      {"delete_files", false, false, true, false, Operation::kDelete},
      {"update", true, true, false, false, Operation::kOverwrite},
      {"overwrite", true, false, true, false, Operation::kOverwrite},
      {"merge", true, false, true, true, Operation::kReplace},
      {"empty_flush", false, false, false, true, Operation::kReplace},
  };
  for (const Case& c : cases) {
    SnapshotChange change;
    RemovedFiles removed;
    if (c.adds) change.added_data = {data};
    if (c.deletes) change.added_deletes = {deletes};
    if (c.removes) removed.data = {data.file};
    change.rewrites_only = c.rewrites;
    EXPECT_EQ(operation_of(change, removed), c.operation) << c.name;
  }
}

TEST(SnapshotSummary, the_clients_word_counts_unless_it_misleads) {
  const FileView data = plain_view("f");
  struct Case {
    Operation client_operation;
    bool adds, removes;
    Operation shown;
  } cases[] = {
      {Operation::kReplace, true, true, Operation::kReplace},
      {Operation::kOverwrite, true, false, Operation::kOverwrite},
      {Operation::kOverwrite, false, true, Operation::kOverwrite},
      {Operation::kAppend, true, false, Operation::kAppend},
      {Operation::kAppend, true, true, Operation::kOverwrite},
      {Operation::kDelete, false, true, Operation::kDelete},
      {Operation::kDelete, true, true, Operation::kOverwrite},
  };
  for (const Case& c : cases) {
    SnapshotChange change;
    RemovedFiles removed;
    change.client_operation = c.client_operation;
    if (c.adds) change.added_data = {data};
    if (c.removes) removed.data = {data.file};
    EXPECT_EQ(operation_of(change, removed), c.shown) << to_string(c.client_operation);
  }
}

TEST(SnapshotSummary, carries_the_totals_forward) {
  model::Snapshot parent;
  parent.summary = {{"total-data-files", "5"},       {"total-records", "50"},
                    {"total-files-size", "5000"},    {"total-delete-files", "2"},
                    {"total-position-deletes", "2"}, {"added-records", "9"},
                    {"spark.app.id", "old"}};
  SnapshotChange change;
  change.extra_summary = {{"engine", "x"}};
  change.added_data = {plain_view("a"), plain_view("b")};
  change.added_deletes = {delete_view("d", "f")};
  RemovedFiles removed{{plain_view("c").file}, {delete_view("e", "f").file}};
  EXPECT_EQ(summarize(change, removed, &parent), (Summary{{"engine", "x"},
                                                          {"added-data-files", "2"},
                                                          {"added-records", "20"},
                                                          {"added-files-size", "3000"},
                                                          {"deleted-data-files", "1"},
                                                          {"deleted-records", "10"},
                                                          {"removed-files-size", "2000"},
                                                          {"added-delete-files", "1"},
                                                          {"added-position-delete-files", "1"},
                                                          {"added-position-deletes", "1"},
                                                          {"removed-delete-files", "1"},
                                                          {"removed-position-delete-files", "1"},
                                                          {"removed-position-deletes", "1"},
                                                          {"total-data-files", "6"},
                                                          {"total-records", "60"},
                                                          {"total-files-size", "6000"},
                                                          {"total-delete-files", "2"},
                                                          {"total-position-deletes", "2"},
                                                          {"total-equality-deletes", "0"}}));
}

TEST(SnapshotSummary, starts_from_nothing) {
  EXPECT_EQ(summarize({}, {}, nullptr), (Summary{{"total-data-files", "0"},
                                                 {"total-records", "0"},
                                                 {"total-files-size", "0"},
                                                 {"total-delete-files", "0"},
                                                 {"total-position-deletes", "0"},
                                                 {"total-equality-deletes", "0"}}));
}

}  // namespace
}  // namespace lake::materialize
