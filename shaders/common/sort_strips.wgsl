// Strips that a workgroup works on: one an invocation, as few as fill the lanes of most processors.

const STRIPS: u32 = 8u;
