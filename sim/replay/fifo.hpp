#pragma once
#include <boost/container/small_vector.hpp>
#include <cstddef>

namespace stepcast {

/// A queue that costs nothing while it is empty and little while it is short: every rank has many.
/// So many items stand in the queue itself.
template <class T, std::size_t inside = 0>
class Fifo {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  void prefetch() const { __builtin_prefetch(items_.data() + first_); }
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
  boost::container::small_vector<T, inside> items_;
  std::size_t first_ = 0;
};

}  // namespace stepcast
