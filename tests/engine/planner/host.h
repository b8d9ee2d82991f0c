// Just enough of CUDA and TVM FFI for SGLang's own planner (c_plan.cuh) to be compiled for the host: launches are loops,
// tensors are views. What the planner works out is not touched. `plan_compress_prefill_kernel0`, whose threads work together,
// is compiled and never launched: lengths that lie on the host take the loop beside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

#define __global__
#define __host__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define SGL_DEVICE
#define SGL_DEVICE_HOST inline
using std::max;
using std::min;

struct Index {
  unsigned x = 0;
};
struct uint2 {
  unsigned x, y;
};
inline thread_local Index threadIdx, blockIdx, blockDim;
inline void __syncthreads() { std::abort(); }
inline uint32_t atomicAdd(uint32_t*, uint32_t) { std::abort(); }

enum { kDLCPU = 1, kDLGPU = 2, kDLUInt = 1 };
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
enum { cudaMemcpyHostToDevice };
inline int cudaMemcpyAsync(void* to, const void* from, size_t size, int, int) { return std::memcpy(to, from, size), 0; }

namespace tvm::ffi {
struct TensorView {
  void* data = nullptr;
  std::vector<int64_t> shape;
  void* data_ptr() const { return data; }
  int64_t size(int at) const { return shape[at]; }
  int64_t stride(int) const { return shape[1]; }
  int64_t numel() const {
    int64_t count = 1;
    for (auto each : shape) count *= each;
    return count;
  }
};
struct Tensor : TensorView {
  std::shared_ptr<std::vector<uint8_t>> owned;
};
template <typename A, typename B>
using Tuple = std::pair<A, B>;
}  // namespace tvm::ffi

namespace sglang {
namespace device {
inline constexpr uint32_t kWarpThreads = 32;
namespace warp {
inline uint32_t reduce_max(uint32_t) { std::abort(); }
inline uint32_t reduce_min(uint32_t) { std::abort(); }
}  // namespace warp
}  // namespace device

namespace host {
struct DeviceOf {
  int device_type = kDLCPU;
};
struct SymbolicSize {
  SymbolicSize(const char*) {}
  SymbolicSize(int64_t value) : value(std::make_shared<int64_t>(value)) {}
  std::shared_ptr<int64_t> value = std::make_shared<int64_t>(-1);
  int64_t unwrap() const { return *value; }
};
struct SymbolicDevice {
  template <auto...>
  void set_options() {}
  DeviceOf unwrap() const { return {}; }
};
template <typename... Parts>
inline void RuntimeCheck(bool holds, Parts&&... parts) {
  if (holds) return;
  (std::cerr << ... << parts) << "the planner refused its arguments" << std::endl;
  std::exit(3);
}
inline void RuntimeDeviceCheck(int) {}

struct TensorMatcher {
  std::vector<SymbolicSize> sizes;
  TensorMatcher(std::initializer_list<SymbolicSize> sizes) : sizes(sizes) {}
  template <typename>
  TensorMatcher& with_dtype() { return *this; }
  template <int>
  TensorMatcher& with_device() { return *this; }
  TensorMatcher& with_device(const SymbolicDevice&) { return *this; }
  TensorMatcher& verify(const tvm::ffi::TensorView& view) {
    RuntimeCheck(view.shape.size() == sizes.size());
    for (size_t at = 0; at < sizes.size(); ++at) {
      if (*sizes[at].value < 0) *sizes[at].value = view.shape[at];
    }
    return *this;
  }
};

namespace ffi {
inline tvm::ffi::Tensor empty(std::vector<int64_t> shape, DLDataType, DeviceOf) {
  tvm::ffi::Tensor made;
  made.shape = std::move(shape);
  made.owned = std::make_shared<std::vector<uint8_t>>(made.numel());
  made.data = made.owned->data();
  return made;
}
}  // namespace ffi

struct LaunchKernel {
  uint32_t blocks, threads;
  LaunchKernel(uint32_t blocks, uint32_t threads, DeviceOf) : blocks(blocks), threads(threads) {}
  static int resolve_device(DeviceOf) { return 0; }
  template <typename Kernel, typename Params>
  void operator()(Kernel kernel, const Params& params) const {
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(params);
  }
};
template <typename A, typename B>
constexpr auto div_ceil(A a, B b) { return (a + b - 1) / b; }
template <typename T>
auto irange(T stop) { return std::views::iota(T{0}, stop); }
}  // namespace host
}  // namespace sglang
