// What is counted of levels: eight words each. First the objects, then the bounds as distances (2^31 - lower, 2^31 +
// upper, one axis each) so that all start from zero and only grow. The last words of the first two levels are of the
// whole grid.

const BIAS: u32 = 0x80000000u;
// The inverse of the finest cell's side.
const BASE_INVERSE: u32 = 7u;
// The levels whose cells hold many boxes, a bit each.
const CROWDED_LEVELS: u32 = 15u;
