import { describe, expect, it } from 'vitest';
import { UnknownMigrationError } from '../../db/migrate.ts';
import { ConfigError } from '../config/config.ts';
import { AppError } from '../core/errors.ts';
import { explainError } from './explain-error.ts';

const refused = (address: string) =>
  Object.assign(new Error(`connect ECONNREFUSED ${address}:5432`), { code: 'ECONNREFUSED', address, port: 5432 });

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('what a command prints of an error', () => {
  it('is the message of one that explains itself, with its issues and without a stack', () => {
    const issues = [{ code: 'schema', path: 'name', message: 'is missing' }] as const;
    expect(explainError(new AppError('validation', 'Not valid', { issues }))).toBe('Not valid\n  name: is missing');
    expect(explainError(new ConfigError(['PORT must be an integer']))).toBe(
      'These environment variables must be corrected:\n  PORT must be an integer',
    );
    expect(explainError(new UnknownMigrationError('0004_runs'))).toMatch(
      /^Another version .*migration 0004_runs\..*0\.1\.0\.$/,
    );
  });

  it('is who refuses and why, behind what was tried', () => {
    expect(explainError(new Error('No migration was applied', { cause: refused('10.0.0.7') }))).toBe(
      'No migration was applied: 10.0.0.7:5432: the connection was refused (ECONNREFUSED)',
    );
  });

  it('is the last address of a host that has several', () => {
    expect(explainError(new AggregateError([refused('::1'), refused('127.0.0.1')]))).toBe(
      '127.0.0.1:5432: the connection was refused (ECONNREFUSED)',
    );
  });

  it('is, of an error of the engine, what and where it is, and nothing of what it says', () => {
    const printed = explainError(thrownBy(() => new URL('postgres://me:hunter2@host:port/x')));
    expect(printed).toMatch(/^TypeError code=ERR_INVALID_URL\n {4}at .*explain-error\.test\.ts/s);
    expect(printed).not.toContain('hunter2');
    expect(explainError(thrownBy(() => JSON.parse('hunter2')))).not.toContain('hunter2');
  });

  it('masks the password of a URL and an API key, whoever made the message', () => {
    const errors = [new Error('at postgres://me:hunter2@db/x'), new AppError('conflict', 'ck_live_hunter2 is known')];
    for (const error of errors) expect(explainError(error)).not.toContain('hunter2');
  });
});
