"""Time copies, products, attention and whole passes of Llama-3.1-8B on one NVIDIA GPU.

    python tools/gpu OUT.json [--only copies products attention passes]

Needs PyTorch with CUDA and Triton, and nothing of the book; weights are random numbers
in the model's shapes, as the time of a pass does not depend on their values. What is
timed is replayed from a CUDA graph and timed by CUDA events, so that launches from the
host are not in it; each number is a median. Inputs take turns, so that none is found
again in the L2 cache. Nothing of the card is changed: clocks are as they are found.
"""

import argparse
import json
import subprocess
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import torch
import triton
from attention import attention
from copies import copies
from products import products
from runs import passes
from timing import CUDA

PARTS = {
    "copies": copies,
    "products": products,
    "attention": attention,
    "passes": passes,
}


def provenance() -> dict:
    if not CUDA:
        return {}
    properties = torch.cuda.get_device_properties(0)
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return {
        "card": properties.name,
        "driver": driver,
        "cuda": torch.version.cuda,
        "pytorch": torch.__version__,
        "triton": triton.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
    }


COLUMNS = {
    "copy": ("bytes", "seconds"),
    "read": ("blocks", "at_a_time", "bytes", "seconds"),
    "product": ("precision", "matrix", "n_in", "n_out", "rows", "seconds"),
    "decode attention": ("heads", "kv_heads", "batch", "context", "splits", "seconds"),
    "prefill attention": ("code", "tokens", "heads", "kv_heads", "seconds"),
    "pass": (
        *("precision", "decodes", "context", "chunk", "prefix"),
        *("seconds", "launched_seconds"),
    ),
}


def tables(where: dict, rows: list[dict]) -> str:
    """The file that the book reads: a table for each kind of run, a line for each run.

    Seconds have five digits, far more than two runs agree in.
    """

    def cell(row: dict, column: str) -> object:
        found = row.get(column)
        timed = column.endswith("seconds") and found is not None
        return float(f"{found:.5g}") if timed else found

    kinds = []
    for kind, columns in COLUMNS.items():
        lines = [
            json.dumps([cell(row, column) for column in columns])
            for row in rows
            if row["what"] == kind
        ]
        head = f'"{kind}": {{"columns": {json.dumps(columns)}, "rows": [\n'
        kinds.append(head + ",\n".join(lines) + "]}")
    return f'{{\n"provenance": {json.dumps(where)},\n' + ",\n".join(kinds) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--small", action="store_true", help="try each kernel once")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after these")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    rows: list[dict] = []
    began = time.perf_counter()
    for name in chosen.only:
        start = time.perf_counter()
        try:
            with torch.inference_mode():
                for row in PARTS[name](chosen.small):
                    rows.append(row)
                    if time.perf_counter() - began > chosen.seconds:
                        print("out of time in", name)
                        break
        except Exception:
            traceback.print_exc()
        print(
            f"{name}: {time.perf_counter() - start:.1f} s, {len(rows)} rows so far",
            flush=True,
        )
        chosen.out.write_text(tables(provenance(), rows))
        if CUDA:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
