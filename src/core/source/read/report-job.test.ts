import { describe, expect, test } from 'vitest';
import { type Api, type ApiReply, type ApiRequest, idsOf, rows, startApi } from '../source-fixture.ts';
import { readPages } from './read-pages.ts';
import { created, createRun, type Json, job, useReports } from './report-job-fixture.ts';

const sourceAt = useReports();
const { signal } = new AbortController();

/** An API whose jobs are ready at the `polls`-th poll, with a new address of their file at each. */
function reporting({ polls = 2, status = 'done', count = 5 } = {}) {
  let jobs = 0;
  let polled = 0;
  return (request: ApiRequest): ApiReply => {
    const [, place] = request.url.pathname.split('/');
    if (request.method === 'POST') {
      jobs += 1;
      polled = 0;
      return { body: { job: { id: jobs } } };
    }
    if (place === 'jobs') {
      polled += 1;
      return { body: { state: polled < polls ? 'running' : status, file: `${polled}`, count } };
    }
    const offset = Number(request.url.searchParams.get('offset') ?? 0);
    return { body: rows.slice(0, count).slice(offset, offset + 2) };
  };
}

const asked = (api: Api) => api.requests.map(({ method, url }) => `${method} ${url.pathname}${url.search}`);

describe('a report job', () => {
  test('is created once, polled until it is ready, and read page by page', async () => {
    await using api = await startApi(reporting());
    const { read, waits, saved } = createRun();
    const { pages, error } = await read(sourceAt(api));
    expect(error).toBeNull();
    expect(idsOf(pages)).toEqual([[1, 2], [3, 4], [5]]);
    expect(asked(api)).toEqual([
      'POST /jobs',
      'GET /jobs/1',
      'GET /jobs/1',
      'GET /files/1/2?offset=0',
      'GET /files/1/2?offset=2',
      'GET /files/1/2?offset=4',
    ]);
    expect(waits).toEqual([7000, 7000]);
    expect(saved.map((position) => position.job?.id)).toEqual([undefined, '1']);
  });

  test('is continued where a wait ends the read, and never created a second time', async () => {
    await using api = await startApi(reporting({ polls: 3 }));
    const { read } = createRun({ patient: false });
    const source = sourceAt(api);
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect((await read(source)).error).toMatchObject({ message: 'later' });
    expect(idsOf((await read(source)).pages).flat()).toEqual([1, 2, 3, 4, 5]);
    expect(created(api)).toHaveLength(1);
  });

  test('is polled again before a read continues in its middle, so that its address is a new one', async () => {
    await using api = await startApi(reporting());
    const { read } = createRun();
    const source = sourceAt(api);
    const [first] = (await read(source)).pages;
    const before = asked(api).length;
    const rest = await read(source, first?.positionAfter ?? null);
    expect(idsOf(rest.pages)).toEqual([[3, 4], [5]]);
    expect(asked(api).slice(before)).toEqual(['GET /jobs/1', 'GET /files/1/3?offset=2', 'GET /files/1/3?offset=4']);
  });

  test('has the same key when the process ends before its id is saved', async () => {
    await using api = await startApi(reporting());
    const { read } = createRun({ dies: true });
    const source = sourceAt(api);
    expect((await read(source)).error).toMatchObject({ message: 'died' });
    expect((await read(source)).error).toBeNull();
    const keys = created(api).map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
    const other = createRun();
    await other.read(sourceAt(api, {}, {}, { run: { id: 'run_2', startedAt: '2026-01-01T00:00:00.000Z', mode: '' } }));
    expect(created(api)[2]?.headers['idempotency-key']).not.toBe(keys[0]);
  });

  test('is of the same window when the process ends before its id is saved', async () => {
    await using api = await startApi(reporting({ polls: 1 }));
    const cursor = { field: 'updated_at', type: 'datetime' };
    const incremental = { kind: 'cursor', cursor, order: 'none', initial: '2025-12-01T00:00:00Z' };
    const create = { ...job.create, body: { json: { to: '{{ window.to }}' } } };
    let day = 0;
    const now = () => new Date(Date.UTC(2026, 0, (day += 1)));
    const { read } = createRun({ dies: true });
    const source = sourceAt(api, { create }, { incremental }, { now });
    expect((await read(source)).error).toMatchObject({ message: 'died' });
    expect((await read(source)).error).toBeNull();
    const [first, second] = created(api);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    // A destination that is new to the lane begins the read again.
    await read(source, null);
    expect(created(api)[2]?.headers['idempotency-key']).not.toBe(first?.headers['idempotency-key']);
  });

  test('of each window is another one', async () => {
    await using api = await startApi(reporting({ polls: 1 }));
    const incremental = {
      kind: 'cursor',
      cursor: { field: 'updated_at', type: 'datetime' },
      order: 'none',
      initial: '2025-12-30T00:00:00Z',
      window: { size: 'P1D' },
    };
    const create = { ...job.create, body: { json: { from: '{{ window.from }}' } } };
    const { read, saved } = createRun();
    const { error } = await read(sourceAt(api, { create }, { incremental }));
    expect(error).toBeNull();
    const starts = created(api).map(({ body }) => JSON.parse(body).from);
    expect(starts).toEqual(['2025-12-30T00:00:00.000Z', '2025-12-31T00:00:00.000Z']);
    expect(saved.map((position) => position.job?.id)).toEqual([undefined, '1', '2']);
  });

  test('without records is not read', async () => {
    await using api = await startApi(reporting({ polls: 1, count: 0 }));
    const { pages } = await createRun().read(sourceAt(api, { emptyWhen: 'body.count = 0' }));
    expect(idsOf(pages)).toEqual([[]]);
    expect(pages[0]?.gaps).toEqual([]);
    expect(asked(api)).toEqual(['POST /jobs', 'GET /jobs/1']);
  });

  test('may be read without credentials, which no other system than the API gets then', async () => {
    await using api = await startApi(reporting({ polls: 1 }));
    await createRun().read(sourceAt(api, { signRequest: false }));
    const signed = api.requests.map(({ url, headers }) => [
      url.pathname.split('/')[1],
      headers.authorization !== undefined,
    ]);
    expect(new Map(signed as [string, boolean][])).toEqual(
      new Map([
        ['jobs', true],
        ['files', false],
      ]),
    );
  });

  test.each<[string, Json, Parameters<typeof reporting>[0], string]>([
    ['fails', {}, { status: 'broken' }, 'ended with the status "broken"'],
    ['takes too long', { timeoutSeconds: 3600 }, { polls: 99 }, 'not ready within job.timeoutSeconds'],
    ['has no id', { id: 'body.nothing' }, {}, 'no id at job.id'],
  ])('that %s fails the read', async (_what, changes, api, message) => {
    await using server = await startApi(reporting(api));
    let hours = 0;
    const now = () => new Date(Date.UTC(2026, 0, 1, (hours += 1) / 10));
    const { error } = await createRun().read(sourceAt(server, changes, {}, { now }));
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining(message) });
  });

  describe('has error rules', () => {
    const refused = (status: number, body: object) => (request: ApiRequest) => {
      const [, place] = request.url.pathname.split('/');
      return { place: request.method === 'POST' ? 'create' : (place ?? ''), reply: { status, body } };
    };
    /** An API that refuses the first request of one kind. */
    const failing = (kind: string, status: number, body: object) => {
      const report = reporting({ polls: 1 });
      let left = 1;
      return (request: ApiRequest): ApiReply => {
        const { place, reply } = refused(status, body)(request);
        if (place !== kind || left === 0) return report(request);
        left -= 1;
        return reply;
      };
    };
    const fails = (message: string, when: object) => [{ when, action: 'fail', message }];

    test.each<[name: string, kind: string, status: number, body: object, parts: Json, message: string]>([
      ['its creation', 'create', 200, { details: 'too old' }, {}, 'of the creation'],
      ['its creation, and none of the resource', 'create', 409, {}, {}, 'responded with 409'],
      ['its state', 'jobs', 409, {}, {}, 'of the state'],
      ['its state, which may ask for a repetition', 'jobs', 404, {}, {}, 'The client would retry'],
      ['its file, which are those of the resource', 'files', 409, {}, {}, 'of the resource'],
      ['a report that is no JSON', 'create', 200, { details: 'too old' }, { decoder: 'csv' }, 'of the creation'],
    ])('of %s', async (_name, kind, status, body, response, message) => {
      await using api = await startApi(failing(kind, status, body));
      const createErrors = fails('of the creation', { expr: "$contains(body.details, 'old')" });
      const pollErrors = [{ when: { status: [404] }, action: 'retry' }, ...fails('of the state', { status: [409] })];
      const errors = fails('of the resource', { status: [409] });
      const { error } = await createRun().read(sourceAt(api, { createErrors, pollErrors }, { errors, response }));
      expect(error).toMatchObject({ message: expect.stringContaining(message) });
    });

    test('of the resource, unless it has its own', async () => {
      await using api = await startApi(failing('create', 409, {}));
      const { error } = await createRun().read(
        sourceAt(api, {}, { errors: fails('of the resource', { status: [409] }) }),
      );
      expect(error).toMatchObject({ message: 'of the resource' });
    });
  });

  test('is created by nobody but a run', async () => {
    await using api = await startApi(reporting());
    const reading = Array.fromAsync(readPages(sourceAt(api), { position: null, signal }));
    await expect(reading).rejects.toThrow('position of a run');
    expect(api.requests).toEqual([]);
  });
});
