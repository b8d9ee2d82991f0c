"""Where each hooked function is in SGLang 0.5.12 to 0.5.23, newest first.

Methods of pools, allocators and trees are not here: they are wrapped on the classes that the scheduler
really built (see `collector.py`).
"""

from __future__ import annotations

from speckv_debug.collectors.hooking import Target

SRT = "sglang.srt"
SCHEDULER = f"{SRT}.managers.scheduler"
SCHEDULE_BATCH = f"{SRT}.managers.schedule_batch"
SCHEDULE_POLICY = f"{SRT}.managers.schedule_policy"
RESULTS = f"{SRT}.managers.scheduler_components.batch_result_processor:SchedulerBatchResultProcessor"
ALLOCATION = f"{SRT}.mem_cache.allocation"
COMMON = f"{SRT}.mem_cache.common"
SPECULATIVE = f"{SRT}.speculative"
EAGLE_WORKER_V2 = f"{SPECULATIVE}.eagle_worker_v2:EAGLEWorkerV2"
VERIFY_INPUT_V2 = f"{SPECULATIVE}.eagle_info_v2:EagleVerifyInputV2Mixin"
KERNELS = "sglang.kernels.ops.speculative"

# the scheduler's loop
SCHEDULER_INIT = f"{SCHEDULER}:Scheduler.__init__"
NEXT_BATCH = Target("next_batch", (f"{SCHEDULER}:Scheduler.get_next_batch_to_run",))
RUN_BATCH = Target("run_batch", (f"{SCHEDULER}:Scheduler.run_batch",), parameters=("batch",))
PROCESS_RESULT = Target("process_result", (f"{SCHEDULER}:Scheduler.process_batch_result",))
ON_IDLE = Target(
    "on_idle",
    (
        f"{SCHEDULER}:Scheduler.on_idle",
        f"{SRT}.managers.scheduler_runtime_checker_mixin:SchedulerRuntimeCheckerMixin.on_idle",
    ),
)
EVENT_LOOP = Target(
    "event_loop",
    (f"{SCHEDULER}:Scheduler.run_event_loop",),
)
ADMIT = Target("admit", (f"{SCHEDULE_POLICY}:PrefillAdder.add_one_req",), parameters=("req",))
ADMIT_CHUNK = Target("admit_chunk", (f"{SCHEDULE_POLICY}:PrefillAdder.add_chunked_req",), parameters=("req",))

# forwards
WORKER_FORWARD = Target(
    "worker_forward", (f"{SRT}.managers.tp_worker:TpModelWorker.forward_batch_generation",)
)
MODEL_FORWARD = Target(
    "model_forward",
    (f"{SRT}.model_executor.model_runner:ModelRunner.forward",),
    parameters=("forward_batch",),
)

# verify and accept
VERIFY = Target(
    "verify",
    (
        f"{SPECULATIVE}.eagle_worker_common:run_eagle_verify",
        f"{EAGLE_WORKER_V2}.verify",
    ),
)
VERIFY_MULTI_LAYER = Target(
    "verify_multi_layer",
    (f"{SPECULATIVE}.multi_layer_eagle_worker_v2:MultiLayerEagleWorkerV2.verify",),
    optional=True,
)
VERIFY_NGRAM = Target("verify_ngram", (f"{SPECULATIVE}.ngram_worker:NGRAMWorker.forward_batch_generation",))
PREPARE_VERIFY = Target(
    "prepare_verify",
    (f"{SPECULATIVE}.eagle_utils:eagle_prepare_for_verify", f"{VERIFY_INPUT_V2}.prepare_for_v2_verify"),
    parameters=("verify_input", "req_to_token_pool", "batch"),
    bound_as="verify_input",
)
PREPARE_VERIFY_NGRAM = Target(
    "prepare_verify_ngram",
    (f"{SPECULATIVE}.ngram_worker:NGRAMWorker._prepare_for_speculative_decoding",),
    parameters=("batch",),
)
SAMPLE = Target(
    "sample",
    (f"{SPECULATIVE}.eagle_utils:eagle_sample", f"{VERIFY_INPUT_V2}.sample"),
    parameters=("verify_input", "batch", "logits_output"),
    bound_as="verify_input",
)
GREEDY = Target(
    "greedy",
    (f"{KERNELS}.spec_tree:verify_tree_greedy_func", f"{SPECULATIVE}.eagle_utils:verify_tree_greedy_func"),
    parameters=(
        "predicts",
        "accept_index",
        "accept_token_num",
        "candidates",
        "retrieve_index",
        "retrieve_next_token",
        "retrieve_next_sibling",
        "target_predict",
    ),
)
REJECTION = Target(
    "rejection",
    (
        f"{KERNELS}.reject_sampling:chain_speculative_sampling_triton",
        f"{SPECULATIVE}.reject_sampling:chain_speculative_sampling_triton",
    ),
    parameters=("predicts", "accept_index", "accept_token_num"),
    optional=True,
)
TARGET_ONLY = Target(
    "target_only",
    (
        f"{KERNELS}.sampling:tree_speculative_sampling_target_only",
        "sgl_kernel.speculative:tree_speculative_sampling_target_only",
    ),
    parameters=("predicts", "accept_index", "accept_token_num"),
    optional=True,
)
SIMULATED = Target("simulated", (f"{SPECULATIVE}.spec_utils:generate_simulated_accept_index",), optional=True)

# move and compaction
MOVE_ACCEPTED = Target(
    "move_accepted",
    (
        f"{SPECULATIVE}.spec_utils:move_accept_tokens_to_target_kvcache",
        f"{EAGLE_WORKER_V2}.move_accept_tokens_to_target_kvcache",
        f"{EAGLE_WORKER_V2}.move_accepted_tokens_to_target_kvcache",
    ),
)
DRAFT_TAIL = Target(
    "draft_tail",
    (
        f"{SPECULATIVE}.eagle_worker_common:duplicate_prefix_tail_to_draft_branches",
        f"{SPECULATIVE}.base_spec_worker:duplicate_prefix_tail_to_draft_branches",
    ),
    optional=True,
)
COMPACT = Target(
    "compact",
    (
        f"{SPECULATIVE}.eagle_worker_common:_compact_accept_to_front",
        f"{EAGLE_WORKER_V2}._compact_accept_to_front",
    ),
    parameters=("x",),
)
WINDOW_TARGETS = "fill_front_out_cache_loc_func"
"""A name that `spec_utils` has where the mover takes its targets from the verify window (0.5.23)."""

# allocation, table, lengths
ALLOC_EXTEND = Target(
    "alloc_extend", (f"{ALLOCATION}:alloc_for_extend", f"{COMMON}:alloc_for_extend"), parameters=("batch",)
)
ALLOC_DECODE = Target(
    "alloc_decode",
    (f"{ALLOCATION}:alloc_for_decode", f"{COMMON}:alloc_for_decode"),
    parameters=("batch", "token_per_req"),
)
ALLOC_SPEC = Target("alloc_spec", (f"{ALLOCATION}:alloc_for_spec_decode",), optional=True)
PREPARE_SPEC = Target(
    "prepare_spec",
    (
        f"{SPECULATIVE}.eagle_utils:eagle_prepare_for_decode",
        f"{SPECULATIVE}.eagle_info_v2:EagleDraftInputV2Mixin.prepare_for_decode",
    ),
    parameters=("batch",),
)
RESERVE = Target(
    "reserve",
    (
        f"{SRT}.mem_cache.allocation_sizing:get_alloc_reserve_per_decode",
        f"{COMMON}:get_alloc_reserve_per_decode",
    ),
)
WRITE_EXTEND = Target(
    "write_extend",
    (f"{ALLOCATION}:write_cache_indices", f"{COMMON}:write_cache_indices"),
    parameters=(
        "out_cache_loc",
        "req_pool_indices_tensor",
        "req_pool_indices_cpu",
        "prefix_lens_tensor",
        "prefix_lens_cpu",
        "seq_lens_tensor",
        "seq_lens_cpu",
    ),
)
WRITE_SPEC = Target(
    "write_spec",
    (
        f"{ALLOCATION}:assign_req_to_token_pool_func",
        f"{SPECULATIVE}.triton_ops.cache_locs:assign_req_to_token_pool_func",
        f"{SPECULATIVE}.spec_utils:assign_req_to_token_pool_func",
    ),
)
PREPARE_EXTEND = Target("prepare_extend", (f"{SCHEDULE_BATCH}:ScheduleBatch.prepare_for_extend",))
PREPARE_DECODE = Target("prepare_decode", (f"{SCHEDULE_BATCH}:ScheduleBatch.prepare_for_decode",))
RESOLVE = Target(
    "resolve",
    (
        f"{RESULTS}._resolve_spec_v2_tokens",
        f"{SRT}.managers.scheduler_output_processor_mixin:SchedulerOutputProcessorMixin._resolve_spec_overlap_tokens",
    ),
    parameters=("result", "batch"),
)

# the end of a request
RELEASE = Target("release", (f"{COMMON}:release_kv_cache",), parameters=("req", "tree_cache"))
RELEASE_TAIL = Target("release_tail", (f"{COMMON}:_release_overallocated_kv_indices",), optional=True)
RETRACT = Target("retract", (f"{SCHEDULE_BATCH}:release_req", f"{SCHEDULE_BATCH}:ScheduleBatch.release_req"))

# methods, wrapped on the classes that the scheduler built
MOVER = ("move_kv_cache",)
MOVER_CORE = ("_move_kv_cache_impl",)
ALLOCATES = ("alloc", "alloc_extend", "alloc_decode", "alloc_extend_swa_tail")
FREES = ("free", "free_segment")
FREES_FULL = ("free_full", "free_full_segment")
FREES_PEERS = ("free_swa", "free_swa_segment")
SETS_PEERS, CLEARS_PEERS = ("set_full_to_swa_mapping",), ("clear_full_to_swa_mapping",)
FREES_PAGES = ("free_page_ids",)
GROUP_BEGINS = ("free_group_begin",)
GROUP_ENDS = ("free_group_end",)
CLEARS = ("clear",)
EVICTS = ("_evict",), ("evict",)

HELPERS = frozenset(
    {
        "alloc_token_slots",
        "alloc_paged_token_slots_extend",
        "alloc_paged_token_slots_decode",
        "free_kv_row",
        "free_kv_row_segments",
        "free_segments",
        "free_full_segments",
        "_apply_cache_actions",
        "_apply_cache_action",
        "apply_component_action",
        "_drain_device_frees",
        "_free_values",
        "_apply_eviction_result",
    }
)
"""Functions between the allocator and the caller that `site` names."""
