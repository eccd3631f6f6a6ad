import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BatchOwner } from '../../db/queries/runs/batches/batch-owner.ts';
import { controlStores, openCase } from '../support/control-stores/case.ts';
import type { ControlStore } from '../support/control-stores/control-store.ts';

describe.each(controlStores)('the outbox of a lane on $name', ({ open }) => {
  let store: ControlStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store[Symbol.asyncDispose]());

  const part = (path: string) => ({
    path,
    again: false,
    isDoubted: false,
    mayBeTaken: false,
    id: path,
    body: Buffer.from(path),
    indexes: [0],
  });

  const ownerOf = ({ id, attempt: { laneId, fence } }: { readonly id: string; readonly attempt: BatchOwner }) => ({
    laneId,
    fence,
    runId: id,
  });

  async function start() {
    const { org, queries, db, scope, started, end, take } = await openCase(store);
    const { id, attempt } = await started();
    const owner = ownerOf({ id, attempt });
    return {
      ...{ org, queries, db, scope, id, owner, started, end, take },
      openBox: (by = owner, address = 'one', generation = '', same: readonly (string | null)[] = [address]) =>
        queries.openOutbox(db, scope, {
          owner: by,
          target: {
            address,
            standing: (stored) =>
              same.includes(stored.address) ? (stored.address === null ? 'former' : 'same') : 'other',
          },
          generation,
        }),
      put: (batchNo: number, paths: readonly string[], by = owner) => {
        const pending = { runId: by.runId, batchNo, draft: 'd', rejected: '[]', parts: paths.map(part) };
        return queries.putPending(db, scope, { owner: by, pending, sequence: 7 });
      },
      complete: (receipt: string | null, by = owner) => queries.endPending(db, scope, { owner: by, receipt }),
    };
  }

  it('keeps a batch with its parts, in the order of their places, until it has its receipt', async () => {
    const { id, openBox, put, complete } = await start();
    expect(await openBox()).toMatchObject({ checkpoint: null, pending: null, sequence: 0 });
    expect(await put(1, ['10', '2', '1.1', '1.0'])).toBe(true);
    const { pending, sequence } = (await openBox()) ?? {};
    expect(pending?.parts.map(({ path }) => path)).toEqual(['1.0', '1.1', '2', '10']);
    expect(sequence).toBe(7);
    await complete('receipt');
    expect(await openBox()).toMatchObject({ checkpoint: { runId: id, batchNo: 1, receipt: 'receipt' }, pending: null });
    expect(await put(1, ['1'])).toBeNull();
  });

  it('keeps a batch of more parts than one statement has parameters for', async () => {
    const { openBox, put } = await start();
    await openBox();
    expect(
      await put(
        1,
        Array.from({ length: 12_000 }, (_, n) => String(n)),
      ),
    ).toBe(true);
    const { pending } = (await openBox()) ?? {};
    expect(pending?.parts).toHaveLength(12_000);
    expect(pending?.parts.at(-1)?.path).toBe('11999');
  });

  it('puts the parts of a response in the place of its part, and ends the count of failures', async () => {
    const { queries, db, scope, owner, openBox, put } = await start();
    await openBox();
    await put(1, ['1', '2']);
    expect(await queries.countFailure(db, scope, owner)).toMatchObject({ failures: 1 });
    expect(await queries.countFailure(db, scope, owner)).toMatchObject({ failures: 2 });
    const step = { owner, part: part('1'), refused: '[4]', parts: [part('1.0')], bytesMax: 100 };
    expect(await queries.advancePending(db, scope, step)).toBe(true);
    const { pending, bytesMax } = (await openBox()) ?? {};
    expect([pending?.parts.map(({ path }) => path), pending?.rejected, bytesMax]).toEqual([
      ['1.0', '2'],
      '[]\n[4]',
      100,
    ]);
    expect(await queries.countFailure(db, scope, owner)).toMatchObject({ failures: 1 });
  });

  it('shows what another run left, and keeps its receipt for the run that sent it', async () => {
    const { openBox, put, complete, started, end, id } = await start();
    await openBox();
    await put(1, ['1']);
    await end(id);
    const next = await started();
    const owner = ownerOf(next);
    expect(await openBox(owner)).toMatchObject({ pending: { runId: id }, carried: null, sequence: 0 });
    await complete('carried', owner);
    expect(await openBox(owner)).toMatchObject({ checkpoint: { runId: id }, carried: 'carried' });
    await put(1, ['1'], owner);
    await complete('own', owner);
    expect(await openBox(owner)).toMatchObject({ checkpoint: { runId: next.id }, carried: 'carried' });
  });

  it('drops the receipt that a run carried when a later run completes a batch of its own', async () => {
    const { org, openBox, put, complete, started, end, id } = await start();
    await openBox();
    await put(1, ['1']);
    await end(id);
    const next = await started();
    await complete('carried', ownerOf(next));
    await end(next.id);
    const later = ownerOf(await started());
    await put(1, ['1'], later);
    await complete('own', later);
    expect((await org.rows()).outboxes).toMatchObject([{ receipt: 'own', carriedRunId: null, carriedReceipt: null }]);
  });

  it('begins anew at another target, and keeps the numbers of requests', async () => {
    const { openBox, put, complete, owner } = await start();
    await openBox();
    await put(1, ['1']);
    await complete('receipt');
    expect(await openBox(owner, 'two')).toMatchObject({ checkpoint: null, pending: null, sequence: 7 });
  });

  it('goes on where it was when the address is the same in another ciphertext', async () => {
    const { org, openBox, put, complete, owner, id } = await start();
    await openBox(owner, 'sealed before');
    await put(1, ['1']);
    await complete('receipt');
    const checkpoint = { runId: id, batchNo: 1, receipt: 'receipt' };
    expect(await openBox(owner, 'sealed now', '', ['sealed before'])).toMatchObject({ checkpoint });
    expect((await org.rows()).outboxes).toMatchObject([{ address: 'sealed before', target: null }]);
  });

  it('begins anew for another generation, once what is pending was sent', async () => {
    const { openBox, put, complete, owner } = await start();
    await openBox();
    await put(1, ['1']);
    const next = () => openBox(owner, undefined, 'next');
    expect(await next()).toMatchObject({ checkpoint: null, pending: { isOfBefore: true } });
    await complete('receipt');
    expect(await next()).toMatchObject({ checkpoint: null, pending: null, sequence: 7 });
    await put(1, ['1']);
    expect(await next()).toMatchObject({ checkpoint: null, pending: { isOfBefore: false } });
  });

  it('changes nothing for an attempt that does not hold the lane', async () => {
    const { openBox, put, complete, take, id, owner } = await start();
    await openBox();
    const { fence } = await take(id);
    expect([await put(1, ['1']), await complete('receipt'), await openBox()]).toEqual([null, null, null]);
    expect(await openBox({ ...owner, fence })).toMatchObject({ checkpoint: null, pending: null });
  });
});
