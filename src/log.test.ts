import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { workOf } from './core/work-ids.ts';
import { createLog } from './log.ts';

function capture() {
  const lines: string[] = [];
  const log = createLog({ level: 'info', name: 'test', destination: { write: (line) => void lines.push(line) } });
  return { log, lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') };
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('createLog', () => {
  it('writes one JSON line with message, level and fields', () => {
    const { log, lines, last } = capture();
    log.info('run finished', { runId: 'run_1', status: 'succeeded' });
    expect(lines).toHaveLength(1);
    expect(last()).toMatchObject({
      level: 'info',
      name: 'test',
      message: 'run finished',
      runId: 'run_1',
      status: 'succeeded',
    });
  });

  it('writes a field once that a line has from its child too', () => {
    const { log, lines, last } = capture();
    log.child({ runId: 'run_1', attempt: 1 }).child({ attempt: 1 }).info('run ended', { runId: 'run_1', steps: 2 });
    expect(last()).toMatchObject({ runId: 'run_1', attempt: 1, steps: 2 });
    expect(lines[0]?.match(/"runId"/g)).toHaveLength(1);
    expect(lines[0]?.match(/"attempt"/g)).toHaveLength(1);
    log.child({ attempt: 1 }).child({ attempt: 2 }).info('run ended', { attempt: 3 });
    expect(last()).toMatchObject({ attempt: 3 });
    expect(lines[1]?.match(/"attempt"/g)).toHaveLength(1);
  });

  it('carries the fields of a child on each of its lines', () => {
    const { log, last } = capture();
    log.child({ orgId: 'org_1' }).child({ runId: 'run_1' }).warn('late');
    expect(last()).toMatchObject({ orgId: 'org_1', runId: 'run_1', level: 'warn' });
  });

  it('carries the ids of the work that it is written in, and no others', async () => {
    const { log, lines } = capture();
    const write = (runId: string) =>
      workOf({ orgId: 'org_1', traceId: runId.slice(4) }, () =>
        workOf({ runId }, async () => {
          await Promise.resolve();
          log.info('page read');
        }),
      );
    await Promise.all([write('run_1'), write('run_2')]);
    log.info('idle');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { orgId: 'org_1', runId: 'run_1', traceId: '1' },
      { orgId: 'org_1', runId: 'run_2', traceId: '2' },
      { message: 'idle' },
    ]);
    expect(lines[2]).not.toContain('Id"');
  });

  it('writes nothing below its level', () => {
    const { log, lines } = capture();
    log.debug('detail');
    expect(lines).toEqual([]);
  });

  it('drops fields named like secrets at any depth, and keeps keys that are none', () => {
    const { log, last } = capture();
    log.info('x', {
      resourceKey: 'contacts',
      deep: { list: [{ accessToken: 't0p', Authorization: 't0p', client_secret: 't0p' }] },
      password: 't0p',
    });
    expect(JSON.stringify(last())).not.toContain('t0p');
    expect(last()['resourceKey']).toBe('contacts');
  });

  it('masks API keys and passwords of URLs in messages, fields, children and errors', () => {
    const { log, lines } = capture();
    const error = new Error('no ck_live_abc', { cause: new Error('postgres://me:hunter2@db/x') });
    log
      .child({ seen: 'ck_live_abc' })
      .error('key ck_live_abc', { url: 'postgres://me:hunter2@db/x', error, list: ['ck_live_abc'] });
    expect(lines.join('')).not.toMatch(/ck_live|hunter2/);
    expect(lines.join('')).toContain('postgres://me:***@db/x');
  });

  it('keeps message, code and cause of an error', () => {
    const { log, last } = capture();
    log.error('failed', { error: Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'E1' }) });
    expect(last()['error']).toMatchObject({ type: 'Error', code: 'E1', message: 'outer', cause: { message: 'inner' } });
  });

  it('leaves out what errors of the engine and of libraries say, which may be a secret, and keeps what and where they are', () => {
    const { log, lines, last } = capture();
    const parse = (text: string) => JSON.parse(text);
    const pattern = (text: string) => new RegExp(text);
    const connecting = () => {
      throw Object.assign(new Error('outer'), { code: 'E1', cause: thrownBy(() => new URL('t0p-secret')) });
    };
    const foreign = [() => parse('t0p-secret'), () => pattern('(t0p-secret'), () => new Intl.Locale('t0p-secret!')];
    for (const fail of foreign) {
      log.error('failed', { error: thrownBy(fail) });
      expect(last()['error']).toMatchObject({ stack: expect.stringContaining('log.test.ts') });
      expect(last()['error']).not.toHaveProperty('message');
    }
    log.error('failed', { error: thrownBy(connecting) });
    expect(last()['error']).toMatchObject({ code: 'E1', message: 'outer', cause: { type: 'TypeError' } });
    expect(lines.join('')).not.toContain('t0p-secret');
  });

  it('takes no line of a message for a frame', () => {
    const { log, last } = capture();
    const root = new URL('..', import.meta.url).href;
    const message = `refused\n    at 4111 1111 (${root}src/x.ts:1:1)`;
    class Refusal extends Error {}
    log.warn('failed', { error: thrownBy(() => JSON.parse('[\n    at PAN 4111]')) });
    expect(JSON.stringify(last())).not.toContain('PAN');
    const foreign = Object.assign(new Refusal(message), { severity: 'ERROR', code: '23505' });
    foreign.stack = `Refusal: ${message}\n    at Parser (/elsewhere/node_modules/pg/lib/parser.js:1:1)`;
    log.warn('failed', { error: foreign });
    expect(JSON.stringify(last())).not.toContain('4111');
  });

  it('keeps what errors of network, Temporal and PostgreSQL say where it repeats no value, and of their stacks our part', async () => {
    const { log, lines, last } = capture();
    const logged = (error: unknown) => {
      log.error('failed', { error });
      return last()['error'];
    };
    const refused = await new Promise((done) => connect(1, '127.0.0.1').once('error', done));
    expect(logged(refused)).toMatchObject({ code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 127.0.0.1:1' });
    const grpc = Object.assign(new Error('14 UNAVAILABLE: No connection'), { code: 14, details: 'No connection' });
    grpc.stack = `Error: 14 UNAVAILABLE\n${'    at call (/somewhere/node_modules/@grpc/grpc-js/build/src/call.js:32:19)\n'.repeat(40)}`;
    expect(logged(new Error('not started', { cause: grpc }))).toMatchObject({
      cause: { code: 14, message: '14 UNAVAILABLE: No connection' },
    });
    const duplicate = Object.assign(new Error('Key (email)=(t0p-secret) exists'), { code: '23505', severity: 'ERROR' });
    duplicate.stack = '';
    expect(logged(duplicate)).toMatchObject({ message: 'PostgreSQL refused a duplicate (SQLSTATE 23505)' });
    const fields: Record<string, string> = JSON.parse('[]')[0];
    expect(logged(thrownBy(() => fields['t0p-secret']))).toMatchObject({
      type: 'TypeError',
      message: 'Cannot read properties of undefined',
    });
    expect(lines.join('')).not.toContain('t0p-secret');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1500);
  });

  it('survives fields that contain themselves', () => {
    const { log, lines } = capture();
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    log.info('loop', { loop });
    expect(lines).toHaveLength(1);
  });
});
