"""Reads streams of a manifest with Airbyte's own engine: `read-by-cdk.py <job.json> <result.json>`.

Every request goes to the mock API, which learns the address by headers. The result has for each stream its requests,
its records, and the error that ended it.
"""

import copy
import json
import logging
import sys
import time
import traceback

import freezegun
import requests
import requests.adapters

job = json.load(open(sys.argv[1]))
logging.disable(logging.CRITICAL)
sent = []
plain_send = requests.adapters.HTTPAdapter.send
real_sleep = time.sleep


def send(self, request, **kwargs):
    body = request.body.decode() if isinstance(request.body, bytes) else request.body
    sent.append({"method": request.method, "url": request.url, "body": body})
    if len(sent) > job["requestsMax"]:
        raise RuntimeError("more requests than the comparison allows")
    copied = copy.copy(request)
    copied.headers = dict(request.headers) | {"x-mock-url": request.url, "x-mock-stream": job["current"]}
    copied.url = job["mock"]
    kwargs.update(proxies={}, verify=False)
    response = plain_send(self, copied, **kwargs)
    response.url = request.url
    return response


requests.adapters.HTTPAdapter.send = send
time.sleep = lambda seconds: real_sleep(min(seconds, 0.01))

from airbyte_cdk.models import (  # noqa: E402
    AirbyteStream,
    ConfiguredAirbyteCatalog,
    ConfiguredAirbyteStream,
    DestinationSyncMode,
    SyncMode,
    Type,
)
from airbyte_cdk.sources.declarative.concurrent_declarative_source import (  # noqa: E402
    ConcurrentDeclarativeSource,
)


def with_moment(value, moment):
    """The config with another form of its start times."""
    if isinstance(value, dict):
        return {key: with_moment(item, moment) for key, item in value.items()}
    return moment if value in job["moments"] else value


def without_files(value):
    """The manifest without schemas in files, which are not part of it."""
    if isinstance(value, list):
        return [without_files(item) for item in value]
    if not isinstance(value, dict):
        return value
    if str(value.get("file_path", "")).endswith(".json") or str(value.get("file_path", "")).startswith(".") or "SchemaLoader" in str(value.get("type")) and "Inline" not in str(value.get("type")):
        return {"type": "InlineSchemaLoader", "schema": {}}
    return {key: without_files(item) for key, item in value.items()}


def read(name, index, config):
    manifest = without_files(job["manifest"])
    # The engine makes all streams of a manifest before it reads one.
    manifest["streams"] = [manifest["streams"][index]]
    manifest["check"] = {"type": "CheckStream", "stream_names": [name]}
    manifest.pop("dynamic_streams", None)
    stream = AirbyteStream(
        name=name,
        json_schema={"type": "object", "properties": {}},
        supported_sync_modes=[SyncMode.full_refresh, SyncMode.incremental],
    )
    catalog = ConfiguredAirbyteCatalog(
        streams=[
            ConfiguredAirbyteStream(
                stream=stream,
                sync_mode=SyncMode.incremental,
                destination_sync_mode=DestinationSyncMode.append,
            )
        ]
    )
    source = ConcurrentDeclarativeSource(
        catalog=catalog, config=config, state=[], source_config=manifest
    )
    records, errors = [], []
    for message in source.read(logging.getLogger("differential"), config, catalog, []):
        if message.type == Type.RECORD:
            records.append(message.record.data)
        elif message.type == Type.TRACE and message.trace.error:
            errors.append(message.trace.error.internal_message or message.trace.error.message)
    return records, errors


results = {}
with freezegun.freeze_time(job["now"], tick=False, ignore=["threading", "queue", "concurrent", "asyncio"]):
    for stream in job["streams"]:
        name = job["current"] = stream["name"]
        for moment in [None, *job["moments"]]:
            sent = []
            config = job["config"] if moment is None else with_moment(job["config"], moment)
            try:
                records, errors = read(name, stream["index"], config)
                error = errors[0] if errors else None
            except Exception as failure:  # the stream is reported, the next one is read
                records, error = [], f"{type(failure).__name__}: {failure}"
                if job.get("trace"):
                    traceback.print_exc()
            if error is None or "does not match format" not in error and "unconverted data" not in error:
                break
        results[name] = {"requests": sent, "records": records, "error": error, "moment": moment}
json.dump(results, open(sys.argv[2], "w"), default=str)
