import { describe, expect, test } from 'vitest';
import { type Api, type ApiReply, type ApiRequest, idsOf, rows, startApi } from '../source-fixture.ts';
import { created, createRun, type Json, useReports } from './report-job-fixture.ts';

const sourceAt = useReports();

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

  const noParts = ({ method }: ApiRequest): ApiReply =>
    method === 'POST' ? { body: { job: { id: 1 } } } : { body: { state: 'done' } };

  test('fails the read where its parts are missing, as that is no empty list', async () => {
    await using api = await startApi(noParts);
    const { pages, error } = await createRun().read(inParts(api));
    expect(pages).toEqual([]);
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('job.parts') });
  });

  test('claims nothing where they are missing although the spec allows it', async () => {
    await using api = await startApi(noParts);
    const incremental = {
      ...{ kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'none', initial: '2025-12-01' },
      window: { size: 'P365D' },
    };
    const source = inParts(api, { response: { recordsMissing: 'empty' }, incremental });
    const { pages } = await createRun().read(source);
    expect(pages).toMatchObject([{ gaps: ['report_incomplete'], watermarkAfter: null }]);
  });

  test('goes on with the next part after one that an error rule calls empty', async () => {
    await using api = await startApi(splitReport(() => ['a', 'lost', 'b']));
    const empty = { errors: [{ when: { status: [404] }, action: 'empty' }] };
    const { pages, error } = await createRun().read(inParts(api, empty));
    expect(error).toBeNull();
    expect(idsOf(pages)).toEqual([[1, 2], [3], [], [4, 5], [6]]);
    expect(pages.map(({ gaps }) => gaps)).toEqual([[], [], ['list_missing'], [], []]);
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
