"""Pack the built pages into one file: unzip it, open index.html, no network needed.

The same pages give the same bytes: entries are sorted and carry a fixed date.
"""

import argparse
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "_build" / "html"
ARCHIVE = ROOT / "dist" / "llmserve_lab.zip"

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can hold
BUILD_NOTES = {".buildinfo", ".stamp", "objects.inv"}  # for Sphinx, not for a reader


def pack(pages: Path, archive: Path) -> int:
    """Write every file under `pages` to `archive`; return how many there are.

    Raises:
        FileNotFoundError: `pages` holds no index.html.
    """
    if not (pages / "index.html").is_file():
        raise FileNotFoundError(f"pages must hold index.html, got {pages}")
    files = sorted(p for p in pages.rglob("*") if p.is_file())
    files = [p for p in files if p.name not in BUILD_NOTES]
    archive.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(archive, "w") as bundle:
        for file in files:
            name = Path(archive.stem) / file.relative_to(pages)
            entry = ZipInfo(name.as_posix(), date_time=EPOCH)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            bundle.writestr(entry, file.read_bytes())
    return len(files)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        count = pack(PAGES, ARCHIVE)
    except FileNotFoundError as error:
        sys.exit(f"{error}; run `make book` first")
    size = ARCHIVE.stat().st_size / 1e6
    print(f"{ARCHIVE.relative_to(ROOT)}: {count} files, {size:.1f} MB")
