"""Attention of a prompt or of its chunk, by the libraries that PyTorch brings."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from timing import BF16, DEVICE, GROUP, HEADS, KV_HEADS, WIDTH, noise


@triton.jit
def join_kernel(
    one, one_lse, two, two_lse, out, chunk, H: tl.constexpr, D: tl.constexpr
):
    """A row's attention to a prefix and to its own chunk, [H, chunk, D], as one."""
    row, head = tl.program_id(0), tl.program_id(1)
    cols = tl.arange(0, D)
    at = head * chunk + row
    a, b = tl.load(one_lse + at), tl.load(two_lse + at)
    share = tl.sigmoid(a - b)
    x = tl.load(one + at * D + cols).to(tl.float32)
    y = tl.load(two + at * D + cols).to(tl.float32)
    tl.store(
        out + (row * H + head) * D + cols,
        (x * share + y * (1 - share)).to(out.dtype.element_ty),
    )


def causal(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, code: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal attention [1, heads, rows, D] and its log-sum-exp, by one library."""
    if code == "FlashAttention-2":
        got = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)
    else:
        if code == COPIED:
            group = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        got = torch.ops.aten._scaled_dot_product_cudnn_attention(
            q, k, v, None, True, 0.0, True
        )
    return got[0], got[1]


def after_prefix(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    prefix: int,
    out: torch.Tensor,
    code: str,
) -> None:
    """Attention of a chunk to its prefix and to itself; ``out`` is [chunk, heads · D].

    All of a prefix is visible, so that the heads of a group are rows of one product.
    """
    chunk, heads = q.shape[2], q.shape[1]
    group = heads // k.shape[1]
    packed = q.reshape(1, k.shape[1], group * chunk, WIDTH)
    seen = k[:, :, :prefix], v[:, :, :prefix]
    if code == "FlashAttention-2":
        got = torch.ops.aten._scaled_dot_product_flash_attention(packed, *seen)
    else:
        got = torch.ops.aten._scaled_dot_product_cudnn_attention(
            packed, *seen, None, True
        )
    own = causal(q, k[:, :, prefix:], v[:, :, prefix:], "FlashAttention-2")
    join_kernel[(chunk, heads)](
        got[0].contiguous(),
        got[1].contiguous(),
        own[0].contiguous(),
        own[1].contiguous(),
        out,
        chunk,
        H=heads,
        D=WIDTH,
        num_warps=1,
    )


COPIED = "cuDNN, each key copied for its group of heads"


def fastest() -> str:
    """cuDNN, with groups of heads if it takes them, and else FlashAttention-2."""
    q, k = noise(1, HEADS, 128, WIDTH), noise(1, KV_HEADS, 128, WIDTH)
    for code in ("cuDNN", COPIED):
        try:
            causal(q, k, k, code)
            torch.cuda.synchronize()
        except RuntimeError as refused:
            print(code, "refused:", str(refused)[:300])
        else:
            return code
    return "FlashAttention-2"


def prefix_error(code: str) -> float:
    """The chunk's attention against PyTorch's, in 64 bits."""
    prefix, chunk = 192, 64
    q = noise(1, HEADS, chunk, WIDTH)
    k, v = (noise(1, KV_HEADS, prefix + chunk, WIDTH) for _ in "kv")
    out = torch.empty(chunk, HEADS * WIDTH, device=DEVICE, dtype=BF16)
    after_prefix(q, k, v, prefix, out, code)
    mask = torch.ones(chunk, prefix + chunk, device=DEVICE, dtype=torch.bool).tril(
        prefix
    )
    wide = [x.repeat_interleave(GROUP, 1).double() for x in (k, v)]
    exact = F.scaled_dot_product_attention(q.double(), *wide, attn_mask=mask)
    exact = exact[0].transpose(0, 1).reshape(chunk, -1)
    return float((out.double() - exact).norm() / exact.norm())
