#include "core/compile/codegen/cuda_prelude.h"

namespace lathe::codegen {

std::string_view cuda_prelude() {
  return R"(typedef long long i64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
struct f16 { u16 bits; };
static __device__ __forceinline__ float f16_load(f16 v) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits)); return f; }
static __device__ __forceinline__ f16 f16_store(float v) { f16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(v)); return h; }
static __device__ __forceinline__ float f16_round(float v) { return f16_load(f16_store(v)); }
static __device__ __forceinline__ float bf16_load(u16 v) { return __uint_as_float((u32)v << 16); }
static __device__ __forceinline__ u16 bf16_store(float v) {
  u32 b = __float_as_uint(v);
  return v != v ? (u16)0x7fc0 : (u16)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
static __device__ __forceinline__ float bf16_round(float v) { return bf16_load(bf16_store(v)); }
static __device__ __forceinline__ float m_min(float a, float b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }
static __device__ __forceinline__ float m_max(float a, float b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
static __device__ __forceinline__ double m_min(double a, double b) { return a != a ? a : (b != b ? b : (a < b ? a : b)); }
static __device__ __forceinline__ double m_max(double a, double b) { return a != a ? a : (b != b ? b : (a > b ? a : b)); }
static __device__ __forceinline__ i64 m_min(i64 a, i64 b) { return a < b ? a : b; }
static __device__ __forceinline__ i64 m_max(i64 a, i64 b) { return a > b ? a : b; }
static __device__ __forceinline__ int m_min(int a, int b) { return a < b ? a : b; }
static __device__ __forceinline__ int m_max(int a, int b) { return a > b ? a : b; }
static __device__ __forceinline__ float m_exp(float x) { return expf(x); }
static __device__ __forceinline__ float m_expm1(float x) { return expm1f(x); }
static __device__ __forceinline__ float m_tanh(float x) { return tanhf(x); }
static __device__ __forceinline__ float m_erf(float x) { return erff(x); }
static __device__ __forceinline__ float m_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Over all threads of the block, the same result in each; always in the same order. `part`: one place a warp.
template <class T>
static __device__ __forceinline__ T block_sum(T v, T* part) {
  for (int w = 16; w > 0; w >>= 1) v += __shfl_xor_sync(0xffffffffu, v, w);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < (int)((blockDim.x + 31) >> 5); ++i) sum += part[i];
  __syncthreads();
  return sum;
}
template <class T>
static __device__ __forceinline__ T block_max(T v, T* part) {
  for (int w = 16; w > 0; w >>= 1) v = m_max(v, __shfl_xor_sync(0xffffffffu, v, w));
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  T best = part[0];
  for (int i = 1; i < (int)((blockDim.x + 31) >> 5); ++i) best = m_max(best, part[i]);
  __syncthreads();
  return best;
}
)";
}

}  // namespace lathe::codegen
