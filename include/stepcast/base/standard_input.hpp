#pragma once

namespace stepcast {

/// Standard input and pipes give their text once, which is kept for who asks again. After this they
/// are read anew: file 0 is another one, for another request.
void forget_standard_input();

}  // namespace stepcast
