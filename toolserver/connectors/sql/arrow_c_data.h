#pragma once

// Arrow's C data interface: how the engine hands out columns. The layout is
// fixed by its specification; the engine's header only names the structs.
// Source: Arrow Columnar Format 1.5, "The Arrow C data interface".

#include <cstdint>

// The names are the specification's, outside any namespace.
// NOLINTBEGIN
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif
// NOLINTEND

namespace tool::connectors {

/// One that releases what it holds.
template <class T>
class ArrowOwner {
 public:
  ArrowOwner() = default;
  ~ArrowOwner() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  ArrowOwner(const ArrowOwner&) = delete;
  ArrowOwner& operator=(const ArrowOwner&) = delete;
  [[nodiscard]] T& operator*() { return value_; }
  [[nodiscard]] T* operator->() { return &value_; }

 private:
  T value_{};
};

}  // namespace tool::connectors
