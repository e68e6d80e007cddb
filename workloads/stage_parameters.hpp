#pragma once
#include <vector>

#include "parameter_groups.hpp"
#include "stepcast/workloads/program.hpp"

/// The parameters that memory counts on one rank of a stage.
namespace stepcast {

struct StageParameters {
  RankParameters all;
  RankParameters trained;    ///< of these
  RankParameters products;   ///< of these, frozen weights of the layers' products
  RankParameters one_byte;   ///< of these, what is gathered in FP8
  double largest_layer = 0;  ///< bytes that one rank gathers
};

/// Of the layers, MTP modules, embedding and head that the stage has.
StageParameters stage_parameters(const WorkloadSpec& spec,
                                 const std::vector<LayerTable::Slice>& slices);

}  // namespace stepcast
