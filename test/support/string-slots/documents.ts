import { authDocuments } from './auth-documents.ts';
import type { Addresses, BaseDocument } from './base-document.ts';
import { destinationDocuments } from './destination-documents.ts';
import { engineDocuments } from './engine-documents.ts';

/** The response of the fake API to every request, tokens and logins included. */
export const response = {
  data: [{ id: '1', key: 'k', name: 'One', updated_at: '2026-01-02T03:04:05Z', deleted: false, version: 'v1' }],
  next: null,
  total: 1,
  access_token: 'an-access-token',
  refresh_token: 'a-refresh-token',
  token: 'a-session-token',
  expires_in: 3600,
  expires_at: '2030-01-01T00:00:00Z',
  account: 'a',
};

/** Specs that work, one for each kind of what exists in kinds. */
export function baseDocuments(at: Addresses): readonly BaseDocument[] {
  return [...engineDocuments(at), ...authDocuments(at), ...destinationDocuments(at)];
}
