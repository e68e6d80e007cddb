#pragma once
#include <array>

#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {

/// Runs orders of which each unit is there once, as far as they go.
class OrderRun {
 public:
  OrderRun(const std::vector<StageOrder>& orders, const PipelineShape& shape, UnitCosts costs);
  bool finished() const;
  /// The stages that wait for each other in a circle. Only when not finished.
  std::string circle() const;
  OrderTimes times() &&;

 private:
  /// What a unit leaves behind: its output, the gradient of its input, or that of its weights.
  enum class Product : std::uint8_t { output, input_gradient, weight_gradient };
  static constexpr double missing = -1;
  struct Need {
    Product product;
    Unit unit;  ///< its kind is not looked at
    Stage stage;
  };
  struct Needs {
    std::array<Need, 3> list;
    std::size_t count = 0;
    void add(Product product, Unit unit, Seat seat);
  };

  static Product product_of(UnitKind kind);
  double& done(Product product, const Unit& unit, Stage stage);
  double done(Product product, const Unit& unit, Stage stage) const;
  Needs needs_of(const Unit& unit, Stage stage) const;
  /// Units that start together at this stage's place: two for a pair.
  std::size_t together(Stage stage) const;
  std::optional<Need> first_missing(Stage stage) const;
  double arrival(const Need& need, Stage stage) const;
  void advance(Stage stage);
  void run_next(Stage stage);
  void wake_neighbours(const Unit& unit, Stage stage);
  double cost_of(const Unit& unit, Stage stage) const;
  std::string text(const Need& need) const;

  const std::vector<StageOrder>& orders_;
  PipelineShape shape_;
  UnitCosts costs_;
  std::vector<std::vector<double>> done_;  ///< [product][stage, chunk, micro-batch, slice]
  std::vector<std::size_t> place_;         ///< next unit, by stage
  std::vector<double> free_;               ///< end of the last unit, by stage
  std::vector<Stage> awake_;
  OrderTimes times_;
};

}  // namespace stepcast
