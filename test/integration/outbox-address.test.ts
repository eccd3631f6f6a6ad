/** Where the batches of a lane go, as the control database keeps it: the address of a receiver may hold a secret. */
import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutbox } from '../../activities/outbox.ts';
import type { OrgScope } from '../../db/scope.ts';
import { createSealedEchoes } from '../../src/connect/sealed-echoes.ts';
import { createSecretBox, type RingKey } from '../../src/core/crypto/secret-box.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const { twoRuns, attempt } = laneRuns(() => database.db);
const [k1, k2] = [ringKey('k1'), ringKey('k2')];
const address = {
  target: 'https://hooks.example/in/s3cret-path',
  formerTarget: 'https://hooks.example/in/s3cret-path',
  targetBefore: 'https://hooks.example/in/s3cret-path?k=1',
};
const place = { ...address, generation: '' };

function ringKey(id: string): RingKey {
  return { id, key: new Uint8Array(randomBytes(32)) };
}

/** A lane whose receiver has got one batch. */
async function delivered() {
  const { scope, first, begin } = await twoRuns();
  await begin(first);
  const { laneId, fence } = await attempt(scope, first);
  const outbox = (ring: readonly RingKey[]) => createOutbox(database, scope, optionsOf(scope, ring));
  const optionsOf = ({ orgId }: OrgScope, ring: readonly RingKey[]) => ({
    owner: { laneId, fence, runId: first },
    redact: (text: string) => text,
    echoes: createSealedEchoes(
      createSecretBox(ring),
      { ...scope, orgId },
      { connectionId: 'con_a', hasSecret: () => false },
    ),
  });
  const stored = async () => {
    const { rows } = await sql<{ row: string }>`
      select to_jsonb(o)::text as row from outboxes o where lane_id = ${laneId}`.execute(database.db);
    return rows[0]?.row ?? '';
  };
  await outbox([k1]).open(place);
  await sql`update outboxes set run_id = ${first}, batch_no = 1, receipt = 'r' where lane_id = ${laneId}`.execute(
    database.db,
  );
  const isKnown = async (ring: readonly RingKey[], at = place) => (await outbox(ring).open(at)).checkpoint !== null;
  return { laneId, stored, isKnown };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest();

describe('the address of a receiver', () => {
  it('stands in the database neither in the clear nor as a hash that others can compute', async () => {
    const { stored } = await delivered();
    const row = await stored();
    expect(row).toContain('sealed:k1.');
    for (const text of [...Object.values(address), 's3cret-path']) {
      expect(row).not.toContain(text);
      expect(row).not.toContain(hashOf(text).toString('hex'));
    }
  });

  it('is known again, also under a new key, and another one is not', async () => {
    const { isKnown } = await delivered();
    const other = 'https://hooks.example/in/other';
    expect(await isKnown([k1])).toBe(true);
    expect(await isKnown([k2, k1])).toBe(true);
    expect(await isKnown([k1], { ...place, target: other, formerTarget: other })).toBe(false);
  });

  it('is known as a version before stored it, without what tells receivers there apart, which counts from then on', async () => {
    const { isKnown } = await delivered();
    const of = (account: string) => ({ ...place, target: `${place.formerTarget}\n${account}` });
    expect(await isKnown([k1], of('a'))).toBe(true);
    expect(await isKnown([k1], of('a'))).toBe(true);
    expect(await isKnown([k1], of('b'))).toBe(false);
  });

  it.each(['target', 'targetBefore'] as const)(
    'is known from the hash that a version before stored of its %s, and sealed from then on',
    async (text) => {
      const { laneId, stored, isKnown } = await delivered();
      await sql`update outboxes set address = null, target = ${hashOf(address[text])} where lane_id = ${laneId}`.execute(
        database.db,
      );
      expect(await isKnown([k1])).toBe(true);
      expect(await stored()).toContain('sealed:k1.');
      expect(await stored()).not.toContain(hashOf(address[text]).toString('hex'));
    },
  );
});
