import { describe, expect, it } from 'vitest';
import type { HealthFacts } from '../../../db/queries/connections/health.ts';
import { attention, shownMax, troubledIn } from './attention.ts';

const healthy: HealthFacts = {
  inProgress: false,
  attemptsFail: false,
  hasQuarantined: false,
  lastOutcome: 'succeeded',
  overdue: false,
};
const failed: HealthFacts = { ...healthy, lastOutcome: 'failed' };

type Groups = Parameters<typeof troubledIn>[0];

/** What the list says of these connections, without its markup. */
async function words(
  byHealth: Groups,
  failures: Parameters<typeof attention>[0]['failures'] = [],
  quarantine: Parameters<typeof attention>[0]['quarantine'] = [],
): Promise<string> {
  const troubled = troubledIn(byHealth);
  const ids = [...troubled.map(({ id }) => id), ...quarantine.map(({ connectionId }) => connectionId)];
  const names = new Map(ids.map((id) => [id, `Customer ${id}`]));
  const list = await attention({ byHealth, troubled, failures, endpoints: [], quarantine, names });
  return String(list)
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

describe('what needs attention', () => {
  it('names the resource and the error of a failed run', async () => {
    const groups: Groups = new Map([['failing', [{ facts: [failed], connections: 1, sample: ['con_1'] }]]]);
    const failure = {
      ...{ connectionId: 'con_1', resourceKey: 'tickets', runId: 'run_1' },
      ...{ errorCode: 'auth_failed', goesOn: false },
    };
    expect(await words(groups, [failure])).toContain('Customer con_1 The last run of tickets failed: auth_failed');
    expect(await words(groups, [{ ...failure, errorCode: null }])).toMatch(/The last run of tickets failed $/);
    expect(await words(groups, [{ ...failure, goesOn: true }])).toContain(
      'The current run of tickets fails and is tried again: auth_failed',
    );
    expect(await words(groups)).toContain('The last run failed.');
  });

  it('says whether a degraded connection is overdue, or its run was partial', async () => {
    const of = async (facts: readonly HealthFacts[]) =>
      await words(new Map([['degraded', [{ facts, connections: 1, sample: ['con_1'] }]]]));
    const overdue = { ...healthy, overdue: true };
    const partial: HealthFacts = { ...healthy, lastOutcome: 'partial' };
    expect(await of([healthy, overdue])).toContain('It is overdue: its schedules');
    expect(await of([healthy, partial])).toContain('Its last run was partial.');
    expect(await of([partial, overdue])).toContain(
      'It is overdue: its schedules expect a success by now. Its last run was partial.',
    );
    expect(await of([{ ...healthy, hasQuarantined: true }])).toContain('Records are in quarantine.');
  });

  it('names the quarantine of a degraded connection once, and that of others', async () => {
    const quarantined = { ...healthy, hasQuarantined: true };
    const groups: Groups = new Map([['degraded', [{ facts: [quarantined], connections: 1, sample: ['con_1'] }]]]);
    const counts = ['con_1', 'con_2'].map((connectionId) => ({ connectionId, resourceKey: 'contacts', records: 13 }));
    const text = await words(groups, [], counts);
    expect(text).toContain('Degraded Customer con_1 13 records of contacts are in quarantine.');
    expect(text).toContain('Quarantine Customer con_2 · contacts 13 records were not delivered.');
    expect(text.match(/13 records/g)).toHaveLength(2);
  });

  it('counts the connections that it does not show', async () => {
    const sample = Array.from({ length: shownMax }, (_, index) => `con_${index}`);
    const group = { facts: [failed], connections: shownMax, sample };
    expect(await words(new Map([['failing', [group]]]))).not.toContain('more');
    const more = await words(new Map([['failing', [{ ...group, connections: 40 }, group]]]));
    expect(more).toContain('All of them 40 more connections are failing.');
    expect(more.match(/Customer/g)).toHaveLength(shownMax);
  });

  it('says that nothing does', async () => {
    const groups: Groups = new Map([['healthy', [{ facts: [healthy], connections: 9, sample: ['con_1'] }]]]);
    expect(await words(groups)).toContain('Nothing needs attention.');
  });
});
