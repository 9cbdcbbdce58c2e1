"""Caches do not change batches, and the automatic one avoids reads."""

import unstarve as un
from loader_support import copies, equal, photos


def test_caches_change_nothing(tmp_path):
    pipeline = un.open(photos(tmp_path / "photos")).shuffle(4).resize(40).random_resized_crop(32)
    expected = [copies(loader) for loader in [pipeline.batch(7)] for _ in range(2)]
    for cached in (pipeline.cache("encoded"), pipeline.cache("pixels"),
                   pipeline.cache("pixels", folder=tmp_path / "cache"), pipeline.cache("auto")):
        loader = cached.batch(7)
        for epoch in expected:
            assert equal(copies(loader), epoch)
        assert "cache (exact): applied" in loader.explain()
    assert "by cache.what auto: " in loader.explain() and "per sample without a cache" in loader.explain()
    explained = pipeline.cache("pixels", folder=tmp_path / "explained").batch(7)
    assert "cache (exact): applied" in explained.explain()
    assert not (tmp_path / "explained").exists()  # explain() creates no cache


def test_the_automatic_cache_avoids_reads_in_the_second_epoch(photographs):
    files = sorted(photographs.rglob("*.jpg"))[:48]

    class Source:
        def __init__(self):
            self.calls = 0

        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            self.calls += 1
            return files[index].read_bytes(), 0

    def calls(limit_mb):
        source = Source()
        pipeline = un.from_source(source).sequential().random_resized_crop(64).cache("auto", limit_mb=limit_mb)
        with pipeline.options(threads=1, prefetch=0).batch(16) as loader:
            made = [source.calls]
            for _ in range(2):
                for _ in loader:
                    pass
                made.append(source.calls)
            return made[2] - made[1], loader.explain()

    again, report = calls(1024)
    assert again == 0 and "cache (exact): applied" in report
    again, report = calls(1)  # 2 % of the pixels, a third of the records; reading is cheap compared with decoding
    assert again > 24 and "none by cache.what auto: " in report and "per sample without a cache" in report
