#pragma once
#include <cstddef>
#include <vector>

namespace stepcast {

/// A queue that costs nothing while it is empty and little while it is short: every rank has many.
template <class T>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  T& front() { return items_[first_]; }
  void push_back(const T& item) { items_.push_back(item); }
  T& emplace_back() { return items_.emplace_back(); }
  void pop_front() {
    if (++first_ < items_.size()) return;
    items_.clear();
    first_ = 0;
  }
  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace stepcast
