"""Our accept kernels do what SGLang's compiled ones do: the CUDA functions of `sgl_kernel`, and its own Triton kernels.

SGLang 0.5.15 and `sgl_kernel` have to be importable.
"""

import pytest

from tests.accept_cuda import COMPARISONS, REQUESTS

pytestmark = [pytest.mark.gpu, pytest.mark.engine]


@pytest.mark.parametrize("name", COMPARISONS)
def test_no_request_comes_out_different(name: str) -> None:
    assert COMPARISONS[name](range(40)) == 40 * REQUESTS
