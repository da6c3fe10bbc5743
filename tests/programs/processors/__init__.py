"""The numerical tests by each way that a machine can compute in: BLAS kernels, SIMD features, busy processors."""
