import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { routes } from '../../../src/api/routes/index.ts';
import { ConnectionRow } from '../../../src/core/resources/connection.ts';
import { ValidationResult } from '../../../src/core/resources/spec.ts';
import { strictForm } from './strict-form.ts';

const row = {
  id: 'con_1',
  orgId: 'org_1',
  workspaceId: 'ws_1',
  specId: 'spec_1',
  pinnedSpecVersion: '1.0.0',
  displayName: 'n',
  errorAfterMinutes: 0,
  externalCustomerId: null,
  status: 'pending',
  error: null,
  paramsJson: { any: { thing: 1 } },
  specOverridesJson: null,
  accounts: [],
};
const accepts = (schema: v.GenericSchema, value: unknown) => v.is(strictForm(schema), value);

describe('the strict form of a response', () => {
  it('takes exactly the declared fields', () => {
    expect(accepts(ConnectionRow, row)).toBe(true);
    expect(accepts(v.array(ConnectionRow), [row])).toBe(true);
  });

  it('refuses a field too many, at any depth', () => {
    expect(accepts(ConnectionRow, { ...row, secrets: {} })).toBe(false);
    expect(accepts(v.array(ConnectionRow), [{ ...row, secrets: {} }])).toBe(false);
    expect(accepts(ValidationResult, { valid: false, issues: [{ code: 'schema', path: '', message: '', x: 1 }] })).toBe(
      false,
    );
    expect(accepts(ValidationResult, { valid: true, spec: {}, document: {} })).toBe(false);
  });

  it('exists for every endpoint', () => {
    for (const { response } of routes) expect(v.is(strictForm(response), 'not a resource')).toBe(false);
  });
});
