import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import {
  type Api,
  type ApiReply,
  type ApiRequest,
  idsOf,
  inQuery,
  rows,
  sourceOf,
  startApi,
} from '../source-fixture.ts';
import { type PageRead, readPages } from './read-pages.ts';
import type { JobPort } from './report-job.ts';

let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const { signal } = new AbortController();
type Json = Readonly<Record<string, unknown>>;

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

const job = {
  create: { method: 'POST', path: '/jobs', headers: { 'Idempotency-Key': '{{ job.key }}' } },
  id: 'body.job.id',
  poll: { path: '/jobs/{{ job.id }}' },
  status: 'body.state',
  completed: ['done'],
  failed: ['broken'],
  values: { file: 'body.file' },
  intervalSeconds: 7,
};

const sourceAt = (api: Pick<Api, 'origin'>, changes: Json = {}, parts: Json = {}, overrides: Partial<Source> = {}) =>
  sourceOf(
    {
      api,
      evaluator,
      auth: { kind: 'bearer', token: 'a-token' },
      resource: {
        request: { path: '/files/{{ job.id }}/{{ job.file }}' },
        pagination: { kind: 'offset', size: 2, inject: inQuery('offset') },
        job: { ...job, ...changes },
        ...parts,
      },
    },
    overrides,
  );

/** What a run keeps; it ends at each wait, unless `patient`, and once when it saves, if `dies`. */
function createRun({ patient = true, dies = false } = {}) {
  const saved: ReadPosition[] = [];
  const waits: number[] = [];
  const port: JobPort = {
    async save(position) {
      if (dies) {
        dies = false;
        throw new Error('died');
      }
      // As a database holds it.
      saved.push(JSON.parse(JSON.stringify(position)));
    },
    async wait(ms) {
      waits.push(ms);
      if (!patient) throw new Error('later');
    },
  };
  const read = async (source: Source, position: ReadPosition | null = saved.at(-1) ?? null) => {
    const pages: PageRead[] = [];
    let error: unknown = null;
    try {
      for await (const page of readPages(source, { position, signal, lookAhead: 0, jobs: port })) pages.push(page);
    } catch (failure) {
      error = failure;
    }
    return { pages, error };
  };
  return { saved, waits, read };
}

const asked = (api: Api) => api.requests.map(({ method, url }) => `${method} ${url.pathname}${url.search}`);
const created = (api: Api) => api.requests.filter(({ method }) => method === 'POST');

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
    expect(saved).toMatchObject([{ job: { id: '1' } }]);
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
    expect(saved.map((position) => position.job?.id)).toEqual(['1', '2']);
  });

  test('without records is not read', async () => {
    await using api = await startApi(reporting({ polls: 1, count: 0 }));
    const { pages } = await createRun().read(sourceAt(api, { emptyWhen: 'body.count = 0' }));
    expect(idsOf(pages)).toEqual([[]]);
    expect(pages[0]?.recordsMissing).toBe(false);
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

describe('a report in parts', () => {
  const byPart = { request: { path: '/files', query: { address: '{{ job.part }}' } } };
  const inParts = (api: Pick<Api, 'origin'>, parts: Json = {}) =>
    sourceAt(api, { parts: 'body.files', values: {} }, { ...byPart, ...parts });

  /** Files of rows; their addresses have another signature at each poll. */
  function splitReport(filesAt: (poll: number) => readonly string[]) {
    const rowsOf: Readonly<Record<string, typeof rows>> = {
      a: rows.slice(0, 3),
      b: rows.slice(3, 6),
      c: rows.slice(6, 7),
    };
    let polled = 0;
    return ({ method, url }: ApiRequest): ApiReply => {
      if (method === 'POST') return { body: { job: { id: 1 } } };
      if (url.pathname.startsWith('/jobs')) {
        polled += 1;
        return { body: { state: 'done', files: filesAt(polled).map((name) => `${name}?signature=${polled}`) } };
      }
      const [name = ''] = (url.searchParams.get('address') ?? '').split('?');
      if (name === 'lost') return { status: 404, body: {} };
      const offset = Number(url.searchParams.get('offset') ?? 0);
      return { body: (rowsOf[name] ?? []).slice(offset, offset + 2) };
    };
  }
  const addresses = (api: Api) =>
    api.requests.flatMap(({ url: { searchParams } }) =>
      searchParams.has('address') ? [`${searchParams.get('address')} ${searchParams.get('offset')}`] : [],
    );

  test('is read part by part, each with all of its pages', async () => {
    await using api = await startApi(splitReport(() => ['a', 'b']));
    const { pages, error } = await createRun().read(inParts(api));
    expect(error).toBeNull();
    expect(idsOf(pages)).toEqual([[1, 2], [3], [4, 5], [6]]);
    expect(pages.map(({ pageNo }) => pageNo)).toEqual([1, 2, 3, 4]);
    expect(addresses(api)).toEqual(['a?signature=1 0', 'a?signature=1 2', 'b?signature=1 0', 'b?signature=1 2']);
  });

  test('goes on after a crash at the page that follows, with the address of the next poll', async () => {
    await using api = await startApi(splitReport(() => ['a', 'b']));
    const source = inParts(api);
    const { pages } = await createRun().read(source);
    for (const [index, page] of pages.slice(0, -1).entries()) {
      // As a database holds it.
      const position = JSON.parse(JSON.stringify(page.positionAfter));
      const rest = await createRun().read(source, position);
      expect(idsOf(rest.pages)).toEqual(idsOf(pages).slice(index + 1));
      expect(created(api)).toHaveLength(1);
    }
  });

  test('whose parts are others after a crash is read from its beginning', async () => {
    await using api = await startApi(splitReport((poll) => (poll === 1 ? ['a', 'b'] : ['b', 'a', 'c'])));
    const source = inParts(api);
    const [, , third] = (await createRun().read(source)).pages;
    const rest = await createRun().read(source, third?.positionAfter ?? null);
    expect(idsOf(rest.pages)).toEqual([[4, 5], [6], [1, 2], [3], [7]]);
    expect(rest.pages[0]?.notes).toEqual(['window_restarted']);
  });

  test('whose parts are others at each poll fails in the end', async () => {
    await using api = await startApi(splitReport((poll) => ['a', 'b', `c${poll}`]));
    const source = inParts(api);
    let { pages, error } = await createRun().read(source);
    for (let crash = 0; crash < 4 && error === null; crash += 1)
      ({ pages, error } = await createRun().read(source, pages[0]?.positionAfter ?? null));
    expect(error).toMatchObject({
      code: 'source_rejected',
      message: expect.stringContaining('begun again four times'),
    });
  });

  test('of which there are none has no records, and nothing is requested', async () => {
    await using api = await startApi(splitReport(() => []));
    const { pages } = await createRun().read(inParts(api));
    expect(idsOf(pages)).toEqual([[]]);
    expect(addresses(api)).toEqual([]);
  });

  test('goes on with the next part after one that an error rule calls empty', async () => {
    await using api = await startApi(splitReport(() => ['a', 'lost', 'b']));
    const empty = { errors: [{ when: { status: [404] }, action: 'empty' }] };
    const { pages, error } = await createRun().read(inParts(api, empty));
    expect(error).toBeNull();
    expect(idsOf(pages)).toEqual([[1, 2], [3], [], [4, 5], [6]]);
    expect(pages.map(({ recordsMissing }) => recordsMissing)).toEqual([false, false, true, false, false]);
  });

  test('claims a watermark once all of its parts are read', async () => {
    await using api = await startApi(splitReport(() => ['b', 'a']));
    const cursor = { field: 'updated_at', type: 'datetime' };
    const { pages } = await createRun().read(inParts(api, { incremental: { kind: 'cursor', cursor, order: 'none' } }));
    expect(pages.map(({ watermarkAfter }) => watermarkAfter)).toEqual([null, null, null, rows[5]?.updated_at]);
  });

  test('that is something else than texts or numbers fails the read', async () => {
    await using api = await startApi(splitReport(() => ['a']));
    const source = sourceAt(api, { parts: '{ "files": body.files }', values: {} }, byPart);
    const { error } = await createRun().read(source);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('job.parts') });
  });
});
