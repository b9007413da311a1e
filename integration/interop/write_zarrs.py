"""Stores that zarr-python 3 writes through zarrs' codec pipeline: the chunks are encoded by zarrs."""

import zarr
import zarrs  # registers the pipeline

import write_zarr3


def write_all(out):
    assert zarrs.ZarrsCodecPipeline
    write_zarr3.PREFIX = "zarrs"
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        write_zarr3.types(out, 3)
        write_zarr3.vlen(out, 3)
        write_zarr3.codecs(out)
        write_zarr3.filters(out)
        write_zarr3.shapes(out, 3)
        write_zarr3.shards(out)
