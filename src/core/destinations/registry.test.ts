import { expect, it } from 'vitest';
import { openDestination } from './registry.ts';

const guard = { vetHost: () => Promise.reject(new Error('nothing may connect yet')) };

it('refuses a kind that is not there', () => {
  expect(() => openDestination({ kind: 'ftp' }, { guard })).toThrow(/No destination of kind "ftp"/);
});

it('refuses options that cannot work before anything connects', () => {
  expect(() => openDestination({ kind: 'postgres', host: 'h' }, { guard })).toThrow(/database is missing/);
});
