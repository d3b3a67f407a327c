#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "base/testing/golden.h"
#include "lakeproxy/derive/exporter_fixture_test.h"
#include "lakeproxy/iceberg/puffin/puffin_writer.h"
#include "lakeproxy/iceberg/puffin/sample_vectors.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::testing::read_golden;
using model::DataFile;
using model::FileContent;
using model::FileFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ClientDeletesMinioTest : public ExporterFixture {
 protected:
  // A position-delete file of the catalog whose prefix is "lake".
  DataFile parquet(const std::string& name, std::string bytes) {
    DataFile file{.content = FileContent::kPositionDeletes, .file_path = at("lake/" + name)};
    file.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    put("lake/" + name, std::move(bytes));
    return file;
  }
  // The vectors of one Puffin file.
  std::vector<DataFile> vectors(const std::string& name,
                                const std::vector<materialize::DeletionVector>& given) {
    auto puffin = materialize::write_puffin(given);
    EXPECT_TRUE(puffin);
    std::vector<DataFile> files;
    for (std::size_t i = 0; i < given.size(); ++i) {
      DataFile file{.content = FileContent::kPositionDeletes, .file_path = at("lake/" + name)};
      file.file_format = FileFormat::kPuffin;
      file.record_count = static_cast<std::int64_t>(given[i].positions.size());
      file.referenced_data_file = given[i].data_file;
      file.content_offset = puffin->blobs[i].offset;
      file.content_size_in_bytes = puffin->blobs[i].length;
      file.file_size_in_bytes = static_cast<std::int64_t>(puffin->bytes.size());
      files.push_back(std::move(file));
    }
    put("lake/" + name, std::move(puffin->bytes));
    return files;
  }
  base::Result<std::vector<PositionsByFile>> read_each(std::vector<DataFile> files) {
    auto result =
        run(exporter->read_positions(context(), *storage::Location::parse(at("lake")), files));
    EXPECT_TRUE(engine.scratch_is_empty());
    return result;
  }
  // What all of them delete.
  base::Result<PositionsByFile> read(std::vector<DataFile> files) {
    auto each = read_each(std::move(files));
    if (!each) return each.error();
    PositionsByFile all;
    for (const auto& found : *each) {
      for (const auto& [file, positions] : found) {
        Positions before = std::move(all[file]);
        all[file].clear();
        std::ranges::set_union(before, positions, std::back_inserter(all[file]));
      }
    }
    return all;
  }
  std::string rows(const std::string& values, const std::string& ids = "2147483546, 2147483545") {
    auto comma = ids.find(',');
    return engine.parquet(
        "SELECT * FROM (VALUES " + values + ") t(f, p)",
        ", FIELD_IDS {f: " + ids.substr(0, comma) + ", p: " + ids.substr(comma + 1) + "}");
  }
};

TEST_F(ClientDeletesMinioTest, each_delete_file_is_split_by_data_file) {
  auto found = read_each({parquet("1", rows("('b', 9::BIGINT), ('a', 2), ('b', 3), ('a', 2)")),
                          parquet("2", rows("('b', 4::BIGINT), ('b', 3), ('c', 0)"))});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(*found,
              ElementsAre(ElementsAre(Pair("a", ElementsAre(2)), Pair("b", ElementsAre(3, 9))),
                          ElementsAre(Pair("b", ElementsAre(3, 4)), Pair("c", ElementsAre(0)))));
  EXPECT_TRUE(read({})->empty());
}

TEST_F(ClientDeletesMinioTest, columns_are_found_by_id_and_else_by_name) {
  std::string with_rows = engine.parquet(
      "SELECT {'id': 1} AS \"row\", 5::BIGINT AS pos, 'a' AS file_path, 6::BIGINT AS more");
  EXPECT_THAT(*read({parquet("names", with_rows)}), ElementsAre(Pair("a", ElementsAre(5))));
  std::string crossed =
      engine.parquet("SELECT 'wrong' AS file_path, 'right' AS x, 1::BIGINT AS pos, 2::BIGINT AS y",
                     ", FIELD_IDS {x: 2147483546, y: 2147483545}");
  EXPECT_THAT(*read({parquet("ids", crossed)}), ElementsAre(Pair("right", ElementsAre(2))));
}

TEST_F(ClientDeletesMinioTest, files_of_other_writers_are_read) {
  auto found = read({parquet("java", read_golden("deletes/java_positions.parquet")),
                     parquet("pyarrow", read_golden("deletes/pyarrow_positions.parquet"))});
  ASSERT_TRUE(found) << found.error().message() << found.error().detail();
  EXPECT_THAT(*found, ElementsAre(Pair("s3://lake/t/a.parquet", ElementsAre(0, 2, 7)),
                                  Pair("s3://lake/t/b.parquet", ElementsAre(3, 9))));
}

TEST_F(ClientDeletesMinioTest, deletion_vectors_are_read_at_their_places) {
  auto files = vectors("dv.puffin", materialize::sample_vectors());
  put("lake/dv.puffin", read_golden("iceberg/java_vectors.puffin"));  // The same blobs.
  auto found = read(files);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 3);
  for (const auto& vector : materialize::sample_vectors()) {
    EXPECT_EQ(found->at(vector.data_file), vector.positions);
  }
}

TEST_F(ClientDeletesMinioTest, deletion_vectors_that_differ_from_their_entry_are_refused) {
  struct Case {
    const char* name;
    void (*change)(DataFile&);
  };
  for (const Case& c : {
           Case{"no data file", [](DataFile& f) { f.referenced_data_file.reset(); }},
           Case{"no offset", [](DataFile& f) { f.content_offset.reset(); }},
           Case{"no size", [](DataFile& f) { f.content_size_in_bytes.reset(); }},
           Case{"negative offset", [](DataFile& f) { f.content_offset = -1; }},
           Case{"offset beside", [](DataFile& f) { f.content_offset = *f.content_offset + 1; }},
           Case{"offset past the end", [](DataFile& f) { f.content_offset = 1 << 30; }},
           Case{"size of none", [](DataFile& f) { f.content_size_in_bytes = 0; }},
           Case{"size of less", [](DataFile& f) { *f.content_size_in_bytes -= 1; }},
           Case{"size of more", [](DataFile& f) { *f.content_size_in_bytes += 1; }},
           Case{"size past the end", [](DataFile& f) { *f.content_size_in_bytes += 10'000; }},
           Case{"fewer rows", [](DataFile& f) { f.record_count -= 1; }},
           Case{"more rows", [](DataFile& f) { f.record_count += 1; }},
       }) {
    auto files = vectors("dv.puffin", {{"s3://b/a", {1, 5}}});
    EXPECT_TRUE(read(files)) << c.name;
    c.change(files[0]);
    auto found = read(files);
    ASSERT_EQ(kind_of(found), ErrorKind::kInvalid) << c.name;
    EXPECT_THAT(found.error().message(), HasSubstr("lake/dv.puffin")) << c.name;
  }
  auto large = vectors("dv.puffin", {{"s3://b/a", {1}}});
  large[0].content_size_in_bytes = 1LL << 40;
  EXPECT_EQ(kind_of(read(large)), ErrorKind::kTooLarge);
}

TEST_F(ClientDeletesMinioTest, a_data_file_has_one_deletion_vector) {
  auto first = vectors("1.puffin", {{"a", {1}}, {"b", {1}}});
  EXPECT_EQ(read(first)->size(), 2);
  auto second = vectors("2.puffin", {{"b", {2}}});
  EXPECT_EQ(kind_of(read({first[1], second[0]})), ErrorKind::kInvalid);
  EXPECT_TRUE(read({first[0], second[0]}));
}

TEST_F(ClientDeletesMinioTest, hostile_delete_files_are_refused_by_name) {
  struct Case {
    const char* name;
    std::string bytes;
  };
  for (const Case& c : {
           Case{"empty", ""},
           Case{"not Parquet", "PAR1PAR1"},
           Case{"no file_path", engine.parquet("SELECT 1::BIGINT AS pos")},
           Case{"no pos", engine.parquet("SELECT 'a' AS file_path")},
           Case{"pos of text", engine.parquet("SELECT 'a' AS file_path, '1' AS pos")},
           Case{"pos of int", engine.parquet("SELECT 'a' AS file_path, 1::INT AS pos")},
           Case{"list of pos", engine.parquet("SELECT 'a' AS file_path, [1::BIGINT] AS pos")},
           Case{"path of bytes", engine.parquet("SELECT 'a'::BLOB AS file_path, 1::BIGINT AS pos")},
           Case{"null path", rows("(NULL::VARCHAR, 1::BIGINT)")},
           Case{"null pos", rows("('a', NULL::BIGINT)")},
           Case{"negative", rows("('a', -1::BIGINT)")},
       }) {
    auto found = read({parquet("x", c.bytes)});
    ASSERT_EQ(kind_of(found), ErrorKind::kInvalid) << c.name;
    EXPECT_THAT(found.error().message(), HasSubstr(at("lake/x"))) << c.name;
  }
}

TEST_F(ClientDeletesMinioTest, entries_that_do_not_fit_are_refused) {
  DataFile good = parquet("x", rows("('a', 1::BIGINT)"));
  EXPECT_TRUE(read({good}));
  struct Case {
    const char* name;
    ErrorKind kind;
    void (*change)(DataFile&);
  };
  for (const Case& c : {
           Case{"missing", ErrorKind::kInvalid, [](DataFile& f) { f.file_path += "y"; }},
           Case{"shorter", ErrorKind::kInvalid, [](DataFile& f) { f.file_size_in_bytes += 1; }},
           Case{"longer", ErrorKind::kInvalid, [](DataFile& f) { f.file_size_in_bytes -= 1; }},
           Case{"negative", ErrorKind::kInvalid, [](DataFile& f) { f.file_size_in_bytes = -1; }},
           Case{"too large", ErrorKind::kTooLarge,
                [](DataFile& f) { f.file_size_in_bytes = 1LL << 40; }},
           Case{"another data file", ErrorKind::kInvalid,
                [](DataFile& f) { f.referenced_data_file = "b"; }},
           Case{"data", ErrorKind::kInvalid, [](DataFile& f) { f.content = FileContent::kData; }},
           Case{"equality", ErrorKind::kInvalid,
                [](DataFile& f) { f.content = FileContent::kEqualityDeletes; }},
           Case{"Avro", ErrorKind::kUnsupported,
                [](DataFile& f) { f.file_format = FileFormat::kAvro; }},
           Case{"ORC", ErrorKind::kUnsupported,
                [](DataFile& f) { f.file_format = FileFormat::kOrc; }},
           Case{"encrypted", ErrorKind::kUnsupported, [](DataFile& f) { f.key_metadata = "k"; }},
       }) {
    DataFile file = good;
    c.change(file);
    EXPECT_EQ(kind_of(read({file})), c.kind) << c.name;
  }
  good.referenced_data_file = "a";
  EXPECT_TRUE(read({good}));
}

TEST_F(ClientDeletesMinioTest, only_the_prefix_is_read) {
  std::string bytes = rows("('a', 1::BIGINT)");
  DataFile file = parquet("x", bytes);
  put("lake-2/x", bytes);
  put("x", bytes);
  for (const std::string& place :
       {at("lake-2/x"), at("x"), at("lake/../x"), at("lake"), std::string("s3://other/lake/x"),
        std::string("file:///etc/passwd"), std::string("/etc/passwd"), std::string()}) {
    file.file_path = place;
    EXPECT_EQ(kind_of(read({file})), ErrorKind::kInvalid) << place;
  }
}

TEST_F(ClientDeletesMinioTest, a_delete_file_is_put_once_and_read_again) {
  Positions positions{0, 5, 1LL << 40};
  auto made = run(exporter->put_delete_file(context(), at("t/d"), at("t/a.parquet"), positions));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->delete_count, 3);
  EXPECT_EQ(made->file_size_bytes, static_cast<std::int64_t>(get("t/d").size()));
  auto lake = [&] {
    return run(exporter->lake_positions(context(), {.path = at("t/d")}, model::SnapshotId(1)));
  };
  EXPECT_EQ(*lake(), positions);
  // What is there stays.
  EXPECT_TRUE(run(exporter->put_delete_file(context(), at("t/d"), at("t/a.parquet"), {9})));
  EXPECT_EQ(*lake(), positions);
  // To Iceberg's readers it is a position-delete file.
  DataFile file = parquet("d", get("t/d"));
  EXPECT_THAT(*read({file}), ElementsAre(Pair(at("t/a.parquet"), positions)));
  EXPECT_EQ(
      kind_of(run(exporter->lake_positions(context(), {.path = at("none")}, model::SnapshotId(1)))),
      ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace lake::exporter
