"""What process.json says: release, ranks, settings."""

import sys
import types

import pytest

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.engine import Engine


def test_the_release_is_that_of_the_package_that_runs(tmp_path, monkeypatch):
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    metadata = tmp_path / "sglang-0.5.99.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.99\n")
    module = types.ModuleType("sglang")
    module.__file__ = str(package / "__init__.py")
    monkeypatch.setitem(sys.modules, "sglang", module)
    assert describe.release() == "0.5.99"
    module.__version__ = "0.6.0"
    assert describe.release() == "0.6.0"
    module.__version__ = "0.0.0.dev0"
    assert describe.release() == "0.5.99"


def test_ranks_come_from_the_constructor_in_older_releases():
    assert describe.ranks({"tp_rank": 2, "pp_rank": 1, "dp_rank": None}) == {"tp": 2, "pp": 1, "dp": 0}


def test_ranks_come_from_the_process_in_newer_ones(monkeypatch):
    context = types.ModuleType("sglang.srt.runtime_context")
    context.get_parallel = lambda: types.SimpleNamespace(tp_rank=3, pp_rank=0, dp_rank=None)
    monkeypatch.setitem(sys.modules, context.__name__, context)
    monkeypatch.setenv("SGLANG_DP_RANK", "5")
    assert describe.ranks({}) == {"tp": 3, "pp": 0, "dp": 5}


def test_ranks_that_nobody_tells_are_unknown(monkeypatch):
    monkeypatch.delenv("SGLANG_DP_RANK", raising=False)
    assert describe.ranks({}) == {"tp": None, "pp": None, "dp": 0}


@pytest.mark.parametrize(
    ("algorithm", "offset"), [("EAGLE", 1), ("STANDALONE", 1), ("NGRAM", None), ("FROZEN_KV_MTP", None)]
)
def test_settings_of_an_algorithm(toy, algorithm, offset):
    toy.scheduler.server_args.speculative_algorithm = algorithm
    toy.scheduler.tp_worker.model_runner.model_config = types.SimpleNamespace(context_len=64)
    settings = describe.settings(Engine(toy.scheduler))
    assert settings["algorithm"] == algorithm
    assert settings.get("draft_token_offset") == offset
    assert settings["topk"] == 2
    assert "num_steps" not in settings, "what is not known is left out"


def test_without_speculation_there_is_no_algorithm(toy):
    toy.scheduler.server_args.speculative_algorithm = None
    toy.scheduler.tp_worker.model_runner.model_config = types.SimpleNamespace(context_len=64)
    settings = describe.settings(Engine(toy.scheduler))
    assert settings == {"overlap": False, "row_width": 64, "context_len": 64}


def test_a_window_that_keeps_the_prompt_is_told(toy):
    toy.scheduler.tp_worker.model_runner.model_config = types.SimpleNamespace(context_len=64)
    engine = Engine(toy.scheduler)
    assert "prefill_aware_swa" not in describe.settings(engine)
    engine.target_runner.prefill_aware_swa = True
    assert describe.settings(engine)["prefill_aware_swa"] is True


def test_a_draft_pool_shares_the_ids_of_the_target(toy):
    pool = types.SimpleNamespace(layer_num=2, kv_buffer=[])
    runner = types.SimpleNamespace(token_to_kv_pool=pool)
    toy.scheduler.draft_worker = types.SimpleNamespace(
        draft_worker=types.SimpleNamespace(draft_runner=runner)
    )
    full, draft = describe.pools(Engine(toy.scheduler))
    assert (draft["kind"], draft["allocated_by"], draft["slots"]) == ("draft", "full", full["slots"])
    assert draft["components"] == ["kv"]
    assert draft["namespace"] != full["namespace"]


def test_a_draft_model_that_writes_no_kv_has_no_pool(toy):
    pool = types.SimpleNamespace(layer_num=2, kv_buffer=[])
    runner = types.SimpleNamespace(token_to_kv_pool=pool)
    toy.scheduler.draft_worker = types.SimpleNamespace(
        draft_worker=types.SimpleNamespace(draft_runner=runner)
    )
    toy.scheduler.spec_algorithm = types.SimpleNamespace(is_frozen_kv_mtp=lambda: True)
    engine = Engine(toy.scheduler)
    (full,) = describe.pools(engine)
    assert full["name"] == "full"
    assert engine.pool_name(pool) is None


@pytest.mark.parametrize(("layers", "hidden"), [(1, False), (3, True)])
def test_drafts_of_layers_behind_the_first_go_unseen(toy, layers, hidden):
    runners = [
        types.SimpleNamespace(token_to_kv_pool=types.SimpleNamespace(layer_num=1)) for _ in range(layers)
    ]
    inner = types.SimpleNamespace(draft_runner=runners[0], draft_runner_list=runners)
    toy.scheduler.draft_worker = types.SimpleNamespace(draft_worker=inner)
    engine = Engine(toy.scheduler)
    assert engine.hides_drafts is hidden
    assert [entry["name"] for entry in describe.pools(engine)] == ["full", "draft"]


@pytest.mark.parametrize("name", ["k_scale_buffer", "native_k_scale_buffer", "kv_scale_buffer"])
def test_a_pool_that_moves_scales_inside_declares_no_components(name):
    pool = types.SimpleNamespace(k_buffer=[], v_buffer=[], layer_num=1, **{name: None})
    assert describe._content(pool)["components"] == ["k", "v"]
    setattr(pool, name, [])
    assert describe._content(pool)["components"] is None


def test_a_pool_with_a_windows_beside_it_has_what_its_full_side_has():
    keys = types.SimpleNamespace(move=lambda tgt, src: None)
    full = types.SimpleNamespace(kv_buffer=[], layer_num=3, index_key_cache=keys)
    pool = types.SimpleNamespace(full_kv_pool=full, swa_kv_pool=None, layer_num=5)
    assert describe._content(pool) == {"layers": 5, "components": ["kv", "index_k"]}
    assert describe.index_keys(pool) is keys
    full.kv_scale_buffer = []
    assert describe._content(pool)["components"] is None
