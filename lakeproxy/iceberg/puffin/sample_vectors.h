#pragma once

// The deletion vectors of tests/golden/iceberg: an array, runs, a bit set,
// listed places and a second 32-bit bitmap. MakeVectors.java has the same.

#include <string>
#include <vector>

#include "lakeproxy/iceberg/puffin/puffin_writer.h"

namespace lake::materialize {

inline std::vector<DeletionVector> sample_vectors() {
  DeletionVector many{.data_file = "s3://lake/data/1.parquet", .positions = {}};
  for (std::int64_t i = 0; i < 70'000; ++i) many.positions.push_back(i);
  for (std::int64_t i = 131'072; i < 151'072; i += 2) many.positions.push_back(i);
  for (std::int64_t i = 200'000; i < 203'000; i += 3) many.positions.push_back(i);
  many.positions.insert(many.positions.end(), {300'000, 400'000});
  return {{.data_file = "s3://lake/data/0.parquet", .positions = {1, 7}},
          std::move(many),
          {.data_file = "s3://lake/data/2.parquet", .positions = {5, (1LL << 32) + 3}}};
}

}  // namespace lake::materialize
