import { describe, expect, it } from 'vitest';
import { specDocument } from '../../../test/support/upstream/api-fixtures.ts';
import { checkSpec } from '../spec/check/check.ts';
import { planUpgrade } from '../spec/connection/upgrade-plan.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { withRetypedColumns } from './retyped-columns.ts';

const specOf = (columns: object, changes: object = {}, table = 'contacts'): ConnectorSpec => {
  const [item] = specDocument().resources;
  const checked = checkSpec({ ...specDocument(), ...changes, resources: [{ ...item, target: { table, columns } }] });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return checked.spec;
};

const planOf = (before: ConnectorSpec, after: ConnectorSpec) =>
  withRetypedColumns(
    planUpgrade({ before: { spec: before, params: {} }, after: { spec: after, params: {} }, issues: [] }),
    { before, after },
  );

describe('the plan of an upgrade that changes the type of a column', () => {
  it.each([
    ['text', 'integer'],
    ['integer', 'text'],
    ['numeric(10,2)', 'float'],
    ['numeric(10,2)', 'numeric(10,4)'],
    ['date', 'timestamptz'],
  ])('says that runs fail until the column is altered: %s to %s', (from, to) => {
    const plan = planOf(specOf({ email: { type: from } }), specOf({ email: { type: to } }));
    expect(plan).toMatchObject({ class: 'breaking', issues: [], resources: [{ class: 'breaking' }] });
    expect(plan.resources[0]?.effect).toContain(`"email" of contacts from ${from} to ${to}`);
  });

  it.each([
    ['text', 'text'],
    ['text', 'timestamptz'],
    ['integer', 'bigint'],
    ['bigint', 'integer'],
    ['numeric(10,2)', 'numeric(12,2)'],
    ['json', 'text'],
  ])('says nothing of a column that keeps every value: %s to %s', (from, to) => {
    expect(planOf(specOf({ email: { type: from } }), specOf({ email: { type: to } })).class).toBe('compatible');
  });

  it('says nothing where the rows go to another table, or to a receiver', () => {
    const text = { email: { type: 'text' } };
    const integer = { email: { type: 'integer' } };
    expect(planOf(specOf(text), specOf(integer, {}, 'people')).class).toBe('compatible');
    const destination = { kind: 'webhook', url: 'https://hooks.acme.example/in', signingSecret: 's'.repeat(32) };
    expect(planOf(specOf(text, { destination }), specOf(integer, { destination })).class).toBe('compatible');
  });
});
